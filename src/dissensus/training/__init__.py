"""Training, for those who have no loop of their own: a recipe, the loop, many runs.

``Recipe``, ``Seeds`` and ``Engine`` are plain values and need no torch; the rest is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dissensus.base.errors import require
from dissensus.training.engine import Engine
from dissensus.training.recipe import Recipe, Seeds

if TYPE_CHECKING:
    from dissensus.training.checkpoint import Checkpoint
    from dissensus.training.checks import Diverged
    from dissensus.training.job import Job
    from dissensus.training.loop import Fitted, Stopped, fit
    from dissensus.training.many import Ended, fit_many, side_by_side

__all__ = [
    "Checkpoint",
    "Diverged",
    "Ended",
    "Engine",
    "Fitted",
    "Job",
    "Recipe",
    "Seeds",
    "Stopped",
    "fit",
    "fit_many",
    "side_by_side",
]

_HOME_OF = {
    "Checkpoint": "checkpoint",
    "Diverged": "checks",
    "Job": "job",
    "Fitted": "loop",
    "Stopped": "loop",
    "fit": "loop",
    "Ended": "many",
    "fit_many": "many",
    "side_by_side": "many",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dissensus.training' has no attribute {name!r}")
    require("torch", extra="train")
    return getattr(importlib.import_module(f"dissensus.training.{_HOME_OF[name]}"), name)
