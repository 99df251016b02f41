"""Claims of papers, and their verdicts: rules that are written down before the runs are made. No torch, no pydantic.

>>> from dissensus.experiment.papers import Evidence, read_paper
>>> ledger = judge_claims(Evidence({}), read_paper("basins"))
>>> {row.verdict for row in ledger if row.claim != "B13"}
{'undecided'}
"""

from __future__ import annotations

from dissensus.experiment.claims.answers import Answer, answers, enough_by_set, votes_needed
from dissensus.experiment.claims.claim import Claim, Claims, Part, View, parse_claims, read_claims
from dissensus.experiment.claims.enough import Enough, votes_enough
from dissensus.experiment.claims.judge import judge_claims
from dissensus.experiment.claims.ledger import Judged, Ledger, Measured, Row, Verdict
from dissensus.experiment.claims.words import rules

__all__ = [
    "Answer",
    "Claim",
    "Claims",
    "Enough",
    "Judged",
    "Ledger",
    "Measured",
    "Part",
    "Row",
    "Verdict",
    "View",
    "answers",
    "enough_by_set",
    "judge_claims",
    "parse_claims",
    "read_claims",
    "rules",
    "votes_enough",
    "votes_needed",
]
