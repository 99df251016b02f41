"""The page on a reproduced paper: published beside measured. No torch, no pydantic, no store: evidence is enough."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from dissensus.report.paper.differences import Note, read_notes
from dissensus.report.paper.page import write_paper_page
from dissensus.report.paper.soft_labels import write_soft_labels_page

if TYPE_CHECKING:
    from dissensus.experiment.papers import Paper

__all__ = ["Note", "page_of", "read_notes", "write_paper_page", "write_soft_labels_page"]


def page_of(paper: Paper) -> Callable[..., Path]:
    """What writes the page on a paper."""
    return write_soft_labels_page if paper.name == "soft-labels" else write_paper_page
