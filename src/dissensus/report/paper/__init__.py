"""The page on a reproduced paper: published beside measured. No torch, no pydantic, no store: evidence is enough."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dissensus.base.words import listed
from dissensus.report.paper.differences import Note, read_notes
from dissensus.report.paper.page import write_paper_page
from dissensus.report.paper.soft_labels import write_soft_labels_page

if TYPE_CHECKING:
    from dissensus.experiment.judgement import PaperJudgement

__all__ = ["Note", "banner", "read_notes", "write_page", "write_paper_page", "write_soft_labels_page"]

SMOKE = (
    "This is a smoke test: a small model, a few epochs, embedded data. Its numbers show that everything works, and say "
    "nothing about the paper."
)


def banner(judged: PaperJudgement) -> str:
    """What a reader has to know before anything else, if there is such a thing."""
    if judged.smoke:
        return SMOKE
    models = (str(about.get("model", "")) for about in judged.evidence.about.values())
    encoders = sorted({model.partition(", ")[2] for model in models} - {""})
    return f"Texts are read by another encoder than in the results that come along: {listed(encoders)}." * bool(
        encoders
    )


def write_page(judged: PaperJudgement, folder: str | os.PathLike[str], notes: Sequence[Note] = ()) -> Path:
    """The page on a paper, whichever it is; ``notes`` are what explains differences from the published numbers."""
    told: dict[str, Any] = {"answers": judged.answers, "rules": judged.rules, "banner": banner(judged)}
    found = judged.evidence, judged.ledger, judged.tried
    if judged.paper.name == "soft-labels":
        told |= {"enough": judged.enough, "votes_needed": judged.votes_needed, "studies": judged.studies}
        return write_soft_labels_page(*found, folder, **told)
    return write_paper_page(*found, folder, **told, notes=notes)
