"""Training, for those who have no loop of their own: a recipe, the loop, many runs.

``Recipe`` and ``Seeds`` are plain values and need no torch; the rest is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dissensus.base.errors import require
from dissensus.training.recipe import Recipe, Seeds

if TYPE_CHECKING:
    from dissensus.training.loop import Diverged, Fitted, fit
    from dissensus.training.many import Job, fit_many

__all__ = ["Diverged", "Fitted", "Job", "Recipe", "Seeds", "fit", "fit_many"]

_HOME_OF = {"Diverged": "loop", "Fitted": "loop", "fit": "loop", "Job": "many", "fit_many": "many"}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dissensus.training' has no attribute {name!r}")
    require("torch", extra="train")
    return getattr(importlib.import_module(f"dissensus.training.{_HOME_OF[name]}"), name)
