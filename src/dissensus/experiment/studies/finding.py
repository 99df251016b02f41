"""From scores, seed by seed, to findings, by one rule for all studies.

The rule. Two arms are compared on the same seeds: same items, same initial weights, same batches. The difference is a
mean over seeds with its 95 % interval. They *differ* ("higher", "lower": the first arm's) where Wilcoxon's two-sided
test gives p < .05, and are the *same* where the test of equivalence within the metric's margin does, each after Holm
over all comparisons of a data set on that metric; "within the margin" is added where both hold, and where neither does
it is *undecided*. It is undecided too, with the reason, where a model has learnt nothing and so can lose nothing by its
labels: majority labels, where they are compared, do not beat the most frequent class by five points of accuracy; where
they are not, soft labels do not beat the shares of the classes, said of every item, by .025 of KL. Margins and guards
are those of the claims on the paper.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from dissensus.base.files import written_whole
from dissensus.base.words import listed
from dissensus.experiment.studies.score import Scores
from dissensus.metrics import METRICS
from dissensus.stats import equivalence, holm, paired_bootstrap, wilcoxon

MARGINS = {
    "kl": 0.025,
    "entropy_correlation": 0.05,
    "accuracy": 0.02,
    "aurc": 0.01,
    "soft_aurc": 0.01,
    "excess_aurc": 0.01,
}
ALPHA = 0.05
ROUNDING = 1e-12  # of gains, which are differences themselves
# What is judged: a metric, and whether after a temperature, which is for KL to show that it is not enough.
VIEWS = (("kl", False), ("kl", True), ("entropy_correlation", False), ("accuracy", False))
# What a model has learnt, as metrics: accuracy beyond the most frequent class, KL below that of the classes' shares.
BEYOND_CLASS, BEYOND_SHARES = "beyond_class", "beyond_shares"
LEAST = {BEYOND_CLASS: 0.05, BEYOND_SHARES: 0.025}


@dataclass(frozen=True)
class Contrast:
    """What is compared with what: a score a seed of each side, paired."""

    data: str
    question: str
    first: str
    second: str
    a: NDArray[np.float64]
    b: NDArray[np.float64]
    doubt: str = ""  # why nothing can follow from it, if so


@dataclass(frozen=True)
class Finding:
    """What the seeds say of a contrast: the first arm less the second."""

    data: str
    question: str
    metric: str
    tempered: bool
    first: str
    second: str
    seeds: int
    first_mean: float
    second_mean: float
    difference: float
    low: float
    high: float
    p_differ: float
    p_same: float
    margin: float
    word: str  # higher, lower, same, undecided; or higher, lower within the margin
    doubt: str

    @property
    def side(self) -> int:
        """1 or -1 where the arms differ, else 0."""
        return {"higher": 1, "lower": -1}.get(self.word.split()[0], 0)

    @property
    def beyond(self) -> int:
        """The same, where the difference is not shown to lie within the margin."""
        return 0 if self.same else self.side

    @property
    def same(self) -> bool:
        return self.word == "same" or self.word.endswith("within the margin")

    @property
    def by_numbers(self) -> Finding:
        """What the numbers alone say, also where there is doubt whether anything can follow from them."""
        return replace(self, doubt="", word=_word(self.difference, self.p_differ < ALPHA, self.p_same < ALPHA))

    def said(self, lower: str, higher: str, same: str, unsure: str) -> str:
        """Of these words those that fit the first arm: it is lower, higher, the same, or nothing of that was shown."""
        return {-1: lower, 1: higher}.get(self.side, same if self.same else unsure)

    def __str__(self) -> str:
        """
        >>> told = decide([Contrast("mine", "votes", "five", "all", np.arange(8.0) + 1.1, np.arange(8.0))], "kl")
        >>> print(told[0])
        mine, votes: KL of five less that of all +1.1 [+1.1, +1.1]: higher
        """
        title = METRICS[self.metric].title if self.metric in METRICS else self.metric
        told = f"{title}{' (tempered)' if self.tempered else ''} of {self.first} less that of {self.second}"
        numbers = f"{self.difference:+.3g} [{self.low:+.3g}, {self.high:+.3g}]"
        return f"{self.data}, {self.question}: {told} {numbers}: {self.word}{f' ({self.doubt})' if self.doubt else ''}"


Place = tuple[str, str, str, str, bool]  # question, first, second, metric, tempered


def by_place(findings: Sequence[Finding], data: str) -> dict[Place, Finding]:
    """The findings on a data set, to be asked for by what was compared."""
    return {
        (one.question, one.first, one.second, one.metric, one.tempered): one for one in findings if one.data == data
    }


TOO_LITTLE = "models learn too little to tell"


def in_words(
    findings: Iterable[Finding], words: Callable[[Finding], str], numbers: Callable[[Finding], str] | None = None
) -> str:
    """Findings on several data sets in one sentence: what is said of them, and of which, with the numbers.

    What is in doubt comes last, with what would show a difference by its numbers; not all of these, if they are many.

    >>> found = decide([Contrast(name, "q", "a", "b", np.arange(8.0) + 1.1, np.arange(8.0)) for name in "xy"], "kl")
    >>> in_words(found, lambda one: f"a is {one.word}")
    'a is higher on x (+1.100 [+1.100, +1.100]) and y (+1.100 [+1.100, +1.100])'
    """
    every, numbers = list(findings), numbers or spread
    said = _by_words((one for one in every if not one.doubt), words, numbers)
    lines = [f"{what} on {listed(places)}" for what, places in said.items()]
    if doubted := [one for one in every if one.doubt]:
        places = list(dict.fromkeys(map(_place, doubted)))
        many = f"the other {len(places)}" if said else f"any of {len(places)}"
        lines.append(f"{TOO_LITTLE} on {listed(places) if len(places) < 3 else many}")
        differ = [found for one in doubted if (found := one.by_numbers).side]
        alone = _by_words(differ, words, numbers if len(differ) < 3 else lambda one: "")
        told = [f"{'it is so' if [*said] == [what] else what} on {listed(places)}" for what, places in alone.items()]
        lines += [f"by the numbers alone, {', '.join(told)}"] if told else []
    return "; ".join(lines)


def _by_words(
    findings: Iterable[Finding], words: Callable[[Finding], str], numbers: Callable[[Finding], str]
) -> dict[str, list[str]]:
    """What is said -> of which data sets, with the numbers."""
    said: dict[str, list[str]] = {}
    for one in findings:
        said.setdefault(words(one), []).append(_place(one, numbers(one)))
    return said


def _place(one: Finding, number: str = "") -> str:
    """The data set, and in brackets what more is said of it."""
    name, _, more = one.data.partition(", judged by")[0].partition(", ")
    beside = "; ".join(filter(None, (more, number)))
    return f"{name} ({beside})" if beside else name


def spread(one: Finding) -> str:
    """The difference with its interval."""
    small = ", within the margin" if one.side and one.same else ""
    return f"{one.difference:+.3f} [{one.low:+.3f}, {one.high:+.3f}]{small}"


def decide(contrasts: Sequence[Contrast], metric: str, tempered: bool = False) -> list[Finding]:
    """The rule above, for one metric; contrasts of one data set are one family."""
    found: dict[int, Finding] = {}
    for data in dict.fromkeys(contrast.data for contrast in contrasts):
        places = [place for place, contrast in enumerate(contrasts) if contrast.data == data]
        family = [contrasts[place] for place in places]
        differ = holm([wilcoxon(one.a, one.b, resolution=ROUNDING).pvalue for one in family])
        alike = holm([equivalence(one.a, one.b, margin=MARGINS[metric]).pvalue for one in family])
        for place, one, p_differ, p_same in zip(places, family, differ, alike, strict=True):
            found[place] = _finding(one, metric, tempered, float(p_differ), float(p_same))
    return [found[place] for place in range(len(contrasts))]


def class_doubt(majority: Scores) -> str:
    """Why a comparison with this arm of majority labels would show nothing, if so."""
    learnt = float(majority[BEYOND_CLASS].mean())
    if learnt >= LEAST[BEYOND_CLASS]:
        return ""
    points = round(100 * learnt, 1) + 0.0  # no -0.0
    return f"majority labels beat the most frequent class by {points:.1f} points of accuracy, not by five"


def shares_doubt(soft: Scores) -> str:
    """Why a comparison with this arm of soft labels, and no hard one, would show nothing, if so."""
    learnt = float(soft[BEYOND_SHARES].mean())
    if learnt >= LEAST[BEYOND_SHARES]:
        return ""
    return f"soft labels beat the shares of the classes by {learnt:.3f} of KL, not by .025"


def write_findings(path: str | os.PathLike[str], findings: Sequence[Finding]) -> None:
    """A finding a line; numbers to six digits, which is more than the seeds can tell."""
    with written_whole(path) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Finding)], lineterminator="\n")
        writer.writeheader()
        for finding in findings:
            writer.writerow({name: f"{v:.6g}" if isinstance(v, float) else v for name, v in asdict(finding).items()})


def _finding(one: Contrast, metric: str, tempered: bool, p_differ: float, p_same: float) -> Finding:
    found = paired_bootstrap(one.a, one.b)
    return Finding(
        data=one.data,
        question=one.question,
        metric=metric,
        tempered=tempered,
        first=one.first,
        second=one.second,
        seeds=len(one.a),
        first_mean=float(one.a.mean()),
        second_mean=float(one.b.mean()),
        difference=_exact(found.mean),
        low=_exact(found.low),
        high=_exact(found.high),
        p_differ=p_differ,
        p_same=p_same,
        margin=MARGINS[metric],
        word="undecided" if one.doubt else _word(found.mean, p_differ < ALPHA, p_same < ALPHA),
        doubt=one.doubt,
    )


def _exact(difference: float) -> float:
    """Equal seeds differ by 0, not by the 1e-17 that the order of a sum leaves, here or on another machine."""
    return round(difference, 12) + 0.0


def _word(difference: float, differs: bool, same: bool) -> str:
    if not differs:
        return "same" if same else "undecided"
    return ("higher" if difference > 0 else "lower") + (" within the margin" if same else "")
