"""Stored runs to a judged comparison, its tables and figures, and a page that opens offline.

Computing needs NumPy and SciPy alone; drawing and the page need ``dissensus[report]``.
"""

from dissensus.report.comparison import Comparison, Judgement, Measure, Panel, collect
from dissensus.report.in_short import best_of, in_short
from dissensus.report.output import check_folder
from dissensus.report.page import write_page
from dissensus.report.place import own_place, page_at, page_file
from dissensus.report.rules import ALPHA, RULES, Rule
from dissensus.report.tables import Table, summary, to_json
from dissensus.report.votes_needed import votes_needed

__all__ = [
    "ALPHA",
    "RULES",
    "Comparison",
    "Judgement",
    "Measure",
    "Panel",
    "Rule",
    "Table",
    "best_of",
    "check_folder",
    "collect",
    "in_short",
    "own_place",
    "page_at",
    "page_file",
    "summary",
    "to_json",
    "votes_needed",
    "write_page",
]
