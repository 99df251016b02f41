"""Paired tests, corrections, intervals, equivalence, and how many seeds they need."""

from dissensus.stats.bootstrap import Interval, bootstrap, paired_bootstrap
from dissensus.stats.correction import holm
from dissensus.stats.equivalence import Equivalence, equivalence
from dissensus.stats.paired import Test, wilcoxon
from dissensus.stats.pairs import Alternative
from dissensus.stats.seeds import fewest_seeds, plan_seeds, smallest_pvalue, warning_for
from dissensus.stats.verdict import Verdict, judge

__all__ = [
    "Alternative",
    "Equivalence",
    "Interval",
    "Test",
    "Verdict",
    "bootstrap",
    "equivalence",
    "fewest_seeds",
    "holm",
    "judge",
    "paired_bootstrap",
    "plan_seeds",
    "smallest_pvalue",
    "warning_for",
    "wilcoxon",
]
