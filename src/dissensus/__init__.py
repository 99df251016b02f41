"""Train on what annotators actually said.

The two dozen names that most people need; each is imported when it is first used, so ``import dissensus`` is quick
and needs no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from dissensus._version import __version__

if TYPE_CHECKING:
    from dissensus import metrics, stats, targets
    from dissensus.base.errors import DissensusError, InputError, MissingExtra, PlanError, StoreError
    from dissensus.datasets import load
    from dissensus.delivery import (
        DELIVERIES,
        METHODS,
        DeterministicControl,
        LabelSmoothing,
        MajorityVote,
        Multipass,
        ShuffledSLS,
        Soft,
        StochasticLabelSampling,
    )
    from dissensus.experiment import Plan
    from dissensus.metrics import METRICS
    from dissensus.training import Recipe, fit, fit_many
    from dissensus.votes import Votes, read_votes

_HOMES = {
    "dissensus": ("metrics", "stats", "targets"),
    "dissensus.base.errors": ("DissensusError", "InputError", "MissingExtra", "PlanError", "StoreError"),
    "dissensus.votes": ("Votes", "read_votes"),
    "dissensus.datasets": ("load",),
    "dissensus.delivery": (
        "DELIVERIES",
        "METHODS",
        "DeterministicControl",
        "LabelSmoothing",
        "MajorityVote",
        "Multipass",
        "ShuffledSLS",
        "Soft",
        "StochasticLabelSampling",
    ),
    "dissensus.metrics": ("METRICS",),
    "dissensus.training": ("Recipe", "fit", "fit_many"),
    "dissensus.experiment": ("Plan",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "DELIVERIES",
    "METHODS",
    "METRICS",
    "DeterministicControl",
    "DissensusError",
    "InputError",
    "LabelSmoothing",
    "MajorityVote",
    "MissingExtra",
    "Multipass",
    "Plan",
    "PlanError",
    "Recipe",
    "ShuffledSLS",
    "Soft",
    "StochasticLabelSampling",
    "StoreError",
    "Votes",
    "__version__",
    "fit",
    "fit_many",
    "load",
    "metrics",
    "read_votes",
    "stats",
    "targets",
]


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module 'dissensus' has no attribute {name!r}")
    if home == "dissensus":
        value: Any = importlib.import_module(f"dissensus.{name}")
    else:
        value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
