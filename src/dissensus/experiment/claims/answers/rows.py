"""What is spoken of in answers on soft labels: rows of the ledger, and what they are called."""

from __future__ import annotations

from dissensus.experiment.claims.decide import combined
from dissensus.experiment.claims.ledger import Ledger, Row, Standing
from dissensus.experiment.papers import read_paper

EARLY: Standing = "too few runs"
ADDED = "added when results had been seen"
TEMPERED = "with a temperature"
MEANS = {  # at the best epoch, for S1 to S5; over what
    "mean-frozen": "six text sets with a frozen encoder",
    "mean-fine-tuned": "six text sets with a fine-tuned encoder",
    "mean-paper": "the paper's own sets",
    "mean-all": "all that learned enough",
}


def rows_of(ledger: Ledger, claim: str, checkpoint: str = "best") -> list[Row]:
    """What was run of a claim, data set by data set and model by model."""
    protocols = read_paper("soft-labels").protocols
    rows = [row for row in ledger if row.claim == claim and row.protocol in protocols and row.seeds]
    return [row for row in rows if row.checkpoint == checkpoint]


def judged_rows(ledger: Ledger, claim: str) -> list[Row]:
    """Those of data sets and models, and then of their means, that have learned enough for a verdict."""
    rows = [*rows_of(ledger, claim), *(ledger.row(claim, view) for view in MEANS)]
    return [row for row in rows if row.seeds and not row.barred]


def on_text(row: Row) -> bool:
    """Whether it is of a data set of texts."""
    return read_paper("soft-labels").protocols[row.protocol].model in ("frozen", "fine-tuned")


def by_numbers(row: Row) -> str:
    """What the numbers alone say, also where a model has learned too little for them to count."""
    return combined(row.parts)[0]


def where(row: Row) -> str:
    """As it is spoken of: on a data set and model, or on average over some."""
    return f"on average over {MEANS[row.view]}{' †' * bool(row.added)}" if row.view in MEANS else f"on {row.view}"
