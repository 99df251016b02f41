"""What was measured, beside what was published: the seeds of a number, its interval, how far it is from the paper's."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from dissensus.metrics import METRICS
from dissensus.report.comparison import mean_interval
from dissensus.stats import Interval, wilcoxon
from dissensus.stats.jackknife import over_pairs
from dissensus.stats.paired import SINGLE

if TYPE_CHECKING:
    from dissensus.experiment.papers import Address, Number, PValue
    from dissensus.experiment.papers.evidence import Evidence

HARD = ("sls", "multipass", "deterministic-control")
METHODS = ("soft", *HARD, "shuffled-sls", "majority", "label-smoothing", "mixup")
VOTES: tuple[int | Literal["all"], ...] = (5, 10, 25, 50, "all")  # an item, in the paper's sweep
FEW = 5  # seeds that the paper has in its sweep and in the family of hard deliveries
TOLERANCE = 2.0  # standard errors of the difference
EARLIER = {"epochs_earlier_to_95": "epochs_to_95", "epochs_earlier_to_best": "best_epoch"}
"""By how much one method is earlier than another -> what is subtracted."""


@dataclass(frozen=True)
class Sought:
    """What a number is of, and how it was read."""

    metric: str
    method: str
    votes: int | str = "all"
    hold: int = 1
    slice: str = "all"
    outside: str = ""
    other: str = ""
    where: str = "evaluation"
    protocol: str = "published"
    checkpoint: str = "best"
    tempered: bool = False

    @classmethod
    def of(cls, address: Address) -> Sought:
        """What a published number is of, read as the paper does."""
        shared = ("metric", "method", "votes", "hold", "slice", "outside", "other")
        return cls(**{part: getattr(address, part) for part in shared})

    def read(self, **changes: Any) -> Sought:
        """The same, read in another way.

        >>> Sought("soft_nll", "sls").read(checkpoint="last").checkpoint
        'last'
        """
        return replace(self, **changes)


@dataclass(frozen=True)
class BySeed:
    """One number a seed, or a pair of seeds.

    >>> BySeed({0: 1.0, 1: 3.0, 7: 2.0}).first(2).mean
    2.0
    """

    values: Mapping[Any, float]

    def __bool__(self) -> bool:
        return bool(self.values)

    @property
    def seeds(self) -> tuple[int, ...]:
        return tuple(sorted({seed for key in self.values for seed in (key if isinstance(key, tuple) else (key,))}))

    @property
    def of_pairs(self) -> bool:
        return any(isinstance(key, tuple) for key in self.values)

    @property
    def mean(self) -> float:
        return float(np.mean(list(self.values.values())))

    @cached_property
    def interval(self) -> Interval | None:
        """95 %, over seeds: by resampling, or the jackknife's for pairs of seeds, which are not independent."""
        if not self.values:
            return None
        return over_pairs(self.values).interval() if self.of_pairs else _over_seeds(tuple(self.values.values()))

    @property
    def has_interval(self) -> bool:
        return self.interval is not None and bool(np.isfinite(self.interval.low))

    @property
    def sd(self) -> float:
        """Over seeds; of pairs, over the pairs."""
        return float(np.std(list(self.values.values()), ddof=1)) if len(self.values) > 1 else np.nan

    @property
    def standard_error(self) -> float:
        """Of the mean, over seeds."""
        return over_pairs(self.values).standard_error if self.of_pairs else self.sd / np.sqrt(max(len(self.values), 1))

    def first(self, seeds: int) -> BySeed:
        """Of the seeds 0 to ``seeds`` - 1 alone."""
        low = range(seeds)
        keep = (lambda key: key[0] in low and key[1] in low) if self.of_pairs else (lambda key: key in low)
        return BySeed({key: value for key, value in self.values.items() if keep(key)})


@lru_cache(1 << 14)  # a number stands in several tables and figures, and each resampling takes 2 ms
def _over_seeds(values: tuple[float, ...]) -> Interval:
    return mean_interval(np.array(values))


def measured(evidence: Evidence, sought: Sought) -> BySeed:
    """All seeds that are there, of a number as the paper defines it; none is no error."""
    if sought.metric in EARLIER:
        base = replace(sought, metric=EARLIER[sought.metric], other="")
        first, second = measured(evidence, replace(base, method=sought.other)), measured(evidence, base)
        return difference(first, second)
    shared: dict[str, Any] = {
        "protocol": sought.protocol,
        "method": sought.method,
        "votes": sought.votes,
        "hold": sought.hold,
        "checkpoint": sought.checkpoint,
        "slice": sought.slice,
    }
    if sought.other == sought.method:  # two seeds of one method
        return BySeed(_finite(evidence.pairs(sought.metric, **shared)))
    return BySeed(
        _finite(
            evidence.numbers(
                sought.metric,
                **shared,
                tempered=sought.tempered,
                where=sought.where,
                other=sought.outside or sought.other,
            )
        )
    )


def _finite(values: Mapping[Any, float]) -> dict[Any, float]:
    return {key: value for key, value in sorted(values.items()) if not np.isnan(value)}


def difference(first: BySeed, second: BySeed) -> BySeed:
    """Seed by seed, first minus second, where both are there.

    >>> difference(BySeed({0: 1.0, 1: 2.0}), BySeed({1: 0.5, 2: 9.0})).values
    {1: 1.5}
    """
    return BySeed({key: value - second.values[key] for key, value in first.values.items() if key in second.values})


@dataclass(frozen=True)
class Gap:
    """How far our mean is from the published one, and the standard error of that."""

    value: float
    standard_error: float

    @property
    def differs(self) -> bool:
        return abs(self.value) > TOLERANCE * self.standard_error


def gap(ours: BySeed, published: Number) -> Gap | None:
    """Ours minus the paper's; where it has no SD, ours stands for both.

    None below five seeds, as few as the paper has: of two seeds that are near each other the spread is small by chance,
    and of 143 numbers that were made up to be the paper's, 30 were two standard errors off.

    >>> from types import SimpleNamespace
    >>> paper = SimpleNamespace(mean=0.5, sd=None, seeds=5)
    >>> found = gap(BySeed({0: 0.58, 1: 0.62, 2: 0.58, 3: 0.62, 4: 0.6}), paper)
    >>> round(found.value, 3), round(found.standard_error, 4), found.differs
    (0.1, 0.0126, True)
    >>> gap(BySeed({0: 0.58, 1: 0.62}), paper) is None
    True
    """
    own = ours.standard_error
    if len(ours.seeds) < FEW or not np.isfinite(own):
        return None
    if published.sd is None and ours.of_pairs:
        theirs = own
    else:
        sd = ours.sd if published.sd is None else published.sd
        theirs = sd / np.sqrt(published.seeds or len(ours.values))
    return Gap(ours.mean - published.mean, float(np.hypot(own, theirs)))


def few_in_words(there: int) -> str:
    """As many of the paper's seeds as there are; before any are, all that there will be.

    >>> few_in_words(5), few_in_words(2), few_in_words(0)
    ('seeds 0–4', '2 of the seeds 0–4', 'seeds 0–4')
    """
    return f"{'' if there in (0, FEW) else f'{there} of the '}seeds 0–{FEW - 1}"


def higher_is_better(metric: str) -> bool:
    """Of metrics and of AUROC; of other diagnostics no direction is promised."""
    return bool(METRICS[metric].higher_is_better) if metric in METRICS else metric.endswith("_auroc")


@dataclass(frozen=True)
class Paired:
    """A p-value, and over how many paired seeds."""

    p: float
    seeds: int


def p_of(evidence: Evidence, sought: Sought, told: PValue, seeds: int | None = None) -> Paired | None:
    """The p-value of the paper's own test on our seeds: paired, exact, on the side that it took; None below two."""
    ours = measured(evidence, sought)
    other = measured(evidence, replace(sought, method=told.against))
    if seeds is not None:
        ours, other = ours.first(seeds), other.first(seeds)
    shared = [seed for seed in ours.values if seed in other.values]
    if len(shared) < 2:
        return None
    better: Literal["greater", "less"] = "greater" if higher_is_better(sought.metric) else "less"
    a, b = ([one.values[seed] for seed in shared] for one in (ours, other))
    side = better if told.side == "one-sided" else "two-sided"
    return Paired(wilcoxon(a, b, side, resolution=SINGLE).pvalue, len(shared))
