"""What a reader of a paper wants to know, from ledger and evidence alone: which sentence is said follows from verdicts,
nothing is chosen by hand.
"""

from __future__ import annotations

from dissensus.experiment.claims.answers.answer import Answer
from dissensus.experiment.claims.answers.basins import basins_answers
from dissensus.experiment.claims.answers.soft_labels import soft_labels_answers
from dissensus.experiment.claims.answers.votes_needed import enough_by_set, votes_needed
from dissensus.experiment.claims.ledger import Ledger
from dissensus.experiment.papers import Evidence

__all__ = ["Answer", "answers", "enough_by_set", "votes_needed"]

OF = {"basins": basins_answers, "soft-labels": soft_labels_answers}


def answers(ledger: Ledger, evidence: Evidence) -> list[Answer]:
    """The questions of the ledger's paper, answered.

    >>> from dissensus.experiment.claims.judge import judge_claims
    >>> from dissensus.experiment.papers import read_paper
    >>> nothing = Evidence({})
    >>> for name in OF:
    ...     first = answers(judge_claims(nothing, read_paper(name)), nothing)[0]
    ...     print(first.question, first.short)
    With few votes an item? Whether hard labels beat soft ones is not known yet: nothing was run (B4).
    Do soft labels bring models nearer to people, in KL? Not known yet: nothing was run (S1).
    """
    return OF[ledger.paper](ledger, evidence)
