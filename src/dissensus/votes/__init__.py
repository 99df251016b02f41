"""Votes in: the table, the readers, agreement between annotators, and synthetic annotators."""

from __future__ import annotations

from dissensus.votes.agreement import entropy, krippendorff_alpha, observed_agreement
from dissensus.votes.read import READERS, read_votes
from dissensus.votes.table import Votes

__all__ = ["READERS", "Votes", "entropy", "krippendorff_alpha", "observed_agreement", "read_votes"]
