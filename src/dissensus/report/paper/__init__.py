"""The page on a reproduced paper: published beside measured. No torch, no pydantic, no store: evidence is enough."""

from dissensus.report.paper.differences import Note, read_notes
from dissensus.report.paper.page import write_paper_page

__all__ = ["Note", "read_notes", "write_paper_page"]
