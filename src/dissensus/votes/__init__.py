"""Votes in: the table, the readers, agreement between annotators, and synthetic annotators.

The readers come when they are first asked for: the table itself needs NumPy only, the readers Polars.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dissensus.votes.agreement import entropy, krippendorff_alpha, observed_agreement
from dissensus.votes.annotators import by_annotator
from dissensus.votes.table import Votes

if TYPE_CHECKING:
    from dissensus.votes.read import READERS, read_votes

__all__ = ["READERS", "Votes", "by_annotator", "entropy", "krippendorff_alpha", "observed_agreement", "read_votes"]


def __getattr__(name: str) -> Any:
    if name not in ("READERS", "read_votes"):
        raise AttributeError(f"module 'dissensus.votes' has no attribute {name!r}")
    from dissensus.votes import read

    return getattr(read, name)
