"""Plans, comparisons, and carrying them out. Torch is imported when something is trained, not before."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dissensus.base.errors import require

if TYPE_CHECKING:
    from dissensus.experiment.comparison import Comparison
    from dissensus.experiment.demo import DEMO
    from dissensus.experiment.diagnose import diagnose_runs
    from dissensus.experiment.events import Event
    from dissensus.experiment.plan import Plan
    from dissensus.experiment.run import carry_out
    from dissensus.experiment.source import Source
    from dissensus.experiment.subject import Subject, look_inside
    from dissensus.experiment.sweep import Outcome, compare
    from dissensus.experiment.trained import predict_with

__all__ = [
    "DEMO",
    "Comparison",
    "Event",
    "Outcome",
    "Plan",
    "Source",
    "Subject",
    "carry_out",
    "compare",
    "diagnose_runs",
    "look_inside",
    "predict_with",
]

_HOME_OF = {
    "Plan": "plan",
    "Source": "source",
    "Comparison": "comparison",
    "carry_out": "run",
    "Event": "events",
    "Outcome": "sweep",
    "compare": "sweep",
    "DEMO": "demo",
    "diagnose_runs": "diagnose",
    "Subject": "subject",
    "look_inside": "subject",
    "predict_with": "trained",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'dissensus.experiment' has no attribute {name!r}")
    require("pydantic", extra="train")
    return getattr(importlib.import_module(f"dissensus.experiment.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
