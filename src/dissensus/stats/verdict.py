"""From paired scores to a verdict, by a rule that is fixed before anyone looks.

Every method is scored once a seed, and the methods of a seed share split, initial weights and batch order, so scores
are compared seed by seed. For one metric, all pairs of methods are one family of tests.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

from numpy.typing import ArrayLike

from dissensus.base.arrays import same_length
from dissensus.stats.bootstrap import Interval, paired_bootstrap
from dissensus.stats.correction import holm
from dissensus.stats.equivalence import equivalence
from dissensus.stats.paired import wilcoxon
from dissensus.stats.pairs import as_scores


@dataclass(frozen=True)
class Verdict:
    """What the seeds say of two methods on one metric."""

    first: str
    second: str
    difference: Interval  # first minus second, mean over seeds
    p_differ: float  # two-sided exact Wilcoxon, Holm over all pairs
    p_same: float  # equivalence within the margin, Holm over all pairs
    winner: str | None  # the better one, where the difference is significant, by ranks and mean alike
    same: bool  # shown to lie within the margin
    margin: float

    @property
    def word(self) -> str:
        """One of four outcomes: "better", "better within the margin", "same", "undecided"."""
        if self.winner:
            return "better within the margin" if self.same else "better"
        return "same" if self.same else "undecided"

    def __str__(self) -> str:
        other = self.second if self.winner == self.first else self.first
        return {
            "better": f"{self.winner} is better than {other}",
            "better within the margin": (
                f"{self.winner} is better than {other}, by less than the margin of {self.margin:g}"
            ),
            "same": f"{self.first} and {self.second} are the same within {self.margin:g}",
            "undecided": f"{self.first} against {self.second} is undecided",
        }[self.word]


def judge(
    scores: Mapping[str, ArrayLike], *, margin: float, higher_is_better: bool = False, alpha: float = 0.05
) -> list[Verdict]:
    """A verdict for every pair of methods, from one score a seed and method.

    A method *wins* where the two-sided exact Wilcoxon test, corrected by Holm over all pairs, gives p < ``alpha``, and
    the mean difference is on the side of the ranks: where one seed that is far off turns the mean, neither wins. Two
    methods are the *same* where the equivalence test for ``margin``, corrected in
    the same way, gives p < ``alpha``. Both can be true: a difference that is real and does not matter. If neither is,
    the pair is *undecided*; a large p-value never shows a match.

    >>> import numpy as np
    >>> lower = np.linspace(0.30, 0.31, 8)
    >>> higher = lower + np.linspace(0.10, 0.11, 8)
    >>> [str(v) for v in judge({"soft": lower, "majority": higher}, margin=0.025)]
    ['soft is better than majority']
    """
    arrays = {name: as_scores(name, values) for name, values in scores.items()}
    if arrays:
        same_length(**arrays)
    pairs = list(combinations(arrays, 2))
    if not pairs:
        return []
    tests = [wilcoxon(arrays[a], arrays[b]) for a, b in pairs]
    differ = holm([test.pvalue for test in tests])
    alike = holm([equivalence(arrays[a], arrays[b], margin=margin).pvalue for a, b in pairs])
    verdicts = []
    for (a, b), test, p_differ, p_same in zip(pairs, tests, differ, alike, strict=True):
        difference = paired_bootstrap(arrays[a], arrays[b])
        first_wins = (difference.mean > 0) == higher_is_better
        differs = p_differ < alpha and test.side * difference.mean > 0
        verdicts.append(
            Verdict(
                first=a,
                second=b,
                difference=difference,
                p_differ=float(p_differ),
                p_same=float(p_same),
                winner=(a if first_wins else b) if differs else None,
                same=bool(p_same < alpha),
                margin=margin,
            )
        )
    return verdicts
