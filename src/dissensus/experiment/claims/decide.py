"""From one number a seed and cell to a verdict on a part, by the kinds of rules that a file of claims may name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import exp, log
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dissensus.base.streams import uniform
from dissensus.experiment.claims.claim import Part
from dissensus.experiment.claims.ledger import (
    CONTRADICTED,
    SUPPORTED,
    UNDECIDED,
    Judged,
    Measured,
    Stage,
    Verdict,
)
from dissensus.experiment.claims.measured import MAY_DIVERGE, Seed, Values
from dissensus.experiment.claims.proposition import proposition_errors
from dissensus.experiment.claims.quantities import Quantity
from dissensus.experiment.papers import Cell
from dissensus.metrics import METRICS
from dissensus.stats import bootstrap, equivalence, holm, wilcoxon
from dissensus.stats.jackknife import over_pairs
from dissensus.stats.paired import SINGLE
from dissensus.stats.student import p_above_zero

HOLDS, FAILS = 1e-12, 1e-9  # how far an identity may be off, and must be
DRAWS = 10_000
_SURE = 0.95
_LEFT_OVER = 1e-14  # of the largest number: what is left where numbers cancel, such as -2.2e-17, is shown as 0

Side = Literal["greater", "less"]
SIDES: tuple[Side, Side] = ("greater", "less")  # as claimed, and the opposite


@dataclass(frozen=True)
class Told:
    """A cell with what was published and measured."""

    quantity: Quantity
    published: str
    values: Values
    diverged: Mapping[Cell, int] = field(default_factory=dict)  # which side of the comparison each is of
    unfit: tuple[Seed, ...] = ()  # those that were measured, but have no ratio, since a number is not above 0

    @classmethod
    def of(
        cls, quantity: Quantity, published: str, measured: Values, diverged: Mapping[Cell, int] | None = None
    ) -> Told:
        """Without the seeds that cannot be compared, which are counted."""
        fit = {seed: value for seed, value in measured.items() if not np.isnan(value)}
        return cls(quantity, published, fit, diverged or {}, tuple(seed for seed in measured if seed not in fit))

    @property
    def lost(self) -> dict[int, int]:
        """Seeds without a number since a training diverged; the side that did, 0 where not one alone."""
        sides: dict[int, set[int]] = {}
        for cell, side in self.diverged.items():
            sides.setdefault(cell.seed, set()).add(side)
        return {seed: both.pop() if len(both) == 1 else 0 for seed, both in sides.items()}


def decide(part: Part, cells: Sequence[Told]) -> Judged:
    """The verdict on a part that needs numbers of runs; each cell is shown even where it is too early for one."""
    missing, stage = _missing(part, cells)
    if missing:
        shown = (_counted(part, cells),) if part.kind == "best" else tuple(_shown(part, cell) for cell in cells)
        return Judged(part.name, part.says, part.weight, UNDECIDED, missing, shown, stage)
    return _DECIDE[part.kind](part, cells)


def decide_identity(part: Part, errors: Callable[[], Mapping[str, float]] = proposition_errors) -> Judged:
    """The verdict on equations."""
    found = errors()
    worst = max(found.values())
    verdict = SUPPORTED if worst <= HOLDS else CONTRADICTED if worst >= FAILS else UNDECIDED
    reason = f"the equations, computed by enumeration, are off by {worst:.0e} at most"
    return Judged(part.name, part.says, part.weight, verdict, reason, ())


def combined(parts: Sequence[Judged]) -> tuple[Verdict, str]:
    """The verdict on a claim from those on its parts, and the reason: what the parts say that made it so.

    >>> def part(name, weight, verdict): return Judged(name, "", weight, verdict, "p = .01", ())
    >>> combined([part("one", "decides", "supported"), part("two", "needed", "contradicted")])
    ('undecided', 'two: p = .01')
    """
    decide = [part for part in parts if part.weight == "decides"]
    count = [part for part in parts if part.weight != "beside"]
    if against := [part for part in decide if part.verdict == CONTRADICTED]:
        return CONTRADICTED, _reasons(against, count)
    if open_ := [part for part in count if part.verdict != SUPPORTED]:
        return UNDECIDED, _reasons(open_, count)
    return SUPPORTED, _reasons(count, count)


def _reasons(those: Sequence[Judged], of: Sequence[Judged]) -> str:
    if len({part.reason for part in those}) == 1 and len(those) == len(of):
        return those[0].reason
    return "; ".join(f"{part.part}: {part.reason}" for part in those)


# --- before the verdict -----------------------------------------------------------------------------------------------


def _missing(part: Part, cells: Sequence[Told]) -> tuple[str, Stage]:
    """Why there is no verdict, and whether it is too early for one; "" where there is a verdict."""
    early = [cell for cell in cells if _seeds(part, [*cell.values, *cell.unfit]) + len(cell.lost) < part.seeds]
    if early or not cells:
        none = sum(not cell.values for cell in early)
        if fewest := min((_seeds(part, cell.values) for cell in early), default=0):
            return f"only {fewest} of {part.seeds} seeds", "early"
        return "not measured yet" + ("" if none == len(cells) else f" in {none} of {len(cells)} cells"), "early"
    if unfit := max(len(cell.unfit) for cell in cells):
        return f"{unfit} of the numbers are not above 0, so that they have no ratio", "judged"
    lost = max((len(cell.lost) for cell in cells if _seeds(part, cell.values) < part.seeds), default=0)
    if lost > MAY_DIVERGE * part.seeds:
        return f"a run diverged in {lost} of {part.seeds} seeds", "judged"
    if part.pairs and any(2 * len(cell.values) < (n := _seeds(part, cell.values)) * (n - 1) for cell in cells):
        return "not all pairs of seeds were compared", "early"
    return "", "judged"


def _seeds(part: Part, values: Collection[Seed]) -> int:
    return len({seed for pair in values for seed in pair}) if part.pairs else len(values)  # type: ignore[union-attr]


def _shown(part: Part, cell: Told) -> Measured:
    """What a cell says without a test."""
    signed = _signed(part, cell)
    least = _LEFT_OVER * np.abs(signed).max(initial=0.0)
    mean, low, high = (0.0 if abs(one) < least else one for one in _interval(part, cell))
    neither = part.direction(cell.quantity.metric) == 0
    return Measured(
        cell=cell.quantity.label,
        metric=cell.quantity.metric,
        scale="factor" if part.ratio else "difference",
        published=cell.published,
        mean=_scaled(part, mean),
        low=_scaled(part, low),
        high=_scaled(part, high),
        p=None,
        p_against=None,
        agree=None if neither or part.pairs else int((signed > _least(part)).sum()),
        seeds=_seeds(part, cell.values),
        verdict=UNDECIDED,
    )


def _interval(part: Part, cell: Told) -> tuple[float, float, float]:
    signed = _signed(part, cell)
    if not len(signed):
        return np.nan, np.nan, np.nan
    if part.pairs:
        found = over_pairs(_pairs(part, cell)).interval()
    else:
        found = bootstrap(signed)
    return found.mean, found.low, found.high


def _signed(part: Part, cell: Told) -> NDArray[np.float64]:
    """A number a seed, above 0 where it is as claimed; as it is where sameness is claimed."""
    values = np.array(list(cell.values.values()), np.float64)
    return (part.direction(cell.quantity.metric) or 1) * values


def _pairs(part: Part, cell: Told) -> dict[tuple[int, int], float]:
    return dict(zip(cell.values, _signed(part, cell).tolist(), strict=True))  # type: ignore[arg-type]


def _least(part: Part) -> float:
    """How much it must be, on the scale of the values."""
    if part.by is None:
        return 0.0
    return log(part.by) if part.ratio else part.by


def _scaled(part: Part, value: float) -> float | None:
    """As it is shown: a factor, where ratios are compared; six digits, which are the same on every machine."""
    if not np.isfinite(value):
        return None
    return float(f"{exp(value) if part.ratio else value:.6g}")


def _rounded(p: float) -> float:
    return float(f"{p:.6g}")


# --- kinds ------------------------------------------------------------------------------------------------------------


def _directed(part: Part, cells: Sequence[Told]) -> Judged:
    """Better, lower, higher: over seeds by Wilcoxon's test, over pairs of seeds by the jackknife."""
    least = _least(part)
    if part.pairs:
        means = [over_pairs(_pairs(part, cell)) for cell in cells]
        p, against = holm([one.p_above(least) for one in means]), holm([one.p_below(least) for one in means])
    else:
        p, against = (_p_beside(part, cells, least, side) for side in SIDES)
    tested = _tested(part, cells, p, against)
    made = tuple(map(_with_its_mean, tested, _ahead(part, cells, least)))
    m, need = len(made), _need(part, len(made))
    as_claimed = sum(cell.verdict == SUPPORTED for cell in made)
    reversed_ = sum(cell.verdict == CONTRADICTED for cell in made)
    verdict = SUPPORTED if as_claimed >= need else CONTRADICTED if reversed_ > m - need else UNDECIDED
    test = "one-sided t-test, jackknife over seeds" if part.pairs else "one-sided exact Wilcoxon"
    if m == 1:
        told = f"p = {made[0].p:.2g}, of the opposite {made[0].p_against:.2g} ({test})"
    else:
        told = f"{as_claimed} of {m} cells as claimed, {reversed_} reversed ({test}, Holm over {m})"
    if turned := sum(one.verdict != other.verdict for one, other in zip(tested, made, strict=True)):
        told += f"; {'the mean' if m == 1 else f'of {turned} the mean'} is on the other side"
    return Judged(part.name, part.says, part.weight, verdict, told, made)


def _ahead(part: Part, cells: Sequence[Told], least: float) -> list[float]:
    """By how much the mean of each cell is above what it must be."""
    return [float(_signed(part, cell).mean()) - least for cell in cells]


def _with_its_mean(cell: Measured, ahead: float) -> Measured:
    """Open where the mean is not on the side of the ranks: one seed that is far off counts as one in ranks."""
    agrees = {SUPPORTED: ahead > 0, CONTRADICTED: ahead < 0}.get(cell.verdict, True)
    return cell if agrees else replace(cell, verdict=UNDECIDED)


def _p_beside(part: Part, cells: Sequence[Told], least: float, side: Side) -> NDArray[np.float64]:
    """That the values lie on this side, by cell, corrected.

    A run that diverged never helps. Its seed is left out; and where it is known what is better, the test must come to
    the same with the seed counted as the largest difference against the method that diverged: the larger p-value.
    """
    left_out, counted = [], []
    for cell in cells:
        values = _signed(part, cell) - least
        lost = (2 * np.abs(values).max() + 1) * np.array(_speaking(part, cell))
        left_out.append(_p_side(values, side))
        counted.append(_p_side(np.concatenate([values, lost]), side) if len(lost) else 0.0)
    return np.maximum(holm(left_out), counted)


def _p_side(values: NDArray[np.float64], side: Side) -> float:
    """Equal ones are equal, though their numbers were kept in single precision."""
    return wilcoxon(values, np.zeros(len(values)), side, resolution=SINGLE).pvalue


def _speaking(part: Part, cell: Told) -> list[int]:
    """Of the seeds that were lost, for what each speaks if diverged is worst: 1 for the claim, -1 against it."""
    metric = METRICS.get(cell.quantity.metric)
    if metric is None or metric.higher_is_better is None:
        return []
    worse = -1 if metric.higher_is_better else 1
    return [side * worse * (part.direction(cell.quantity.metric) or 1) for side in cell.lost.values() if side]


def _need(part: Part, cells: int) -> int:
    return cells if part.need is None else min(part.need, cells)


def _same(part: Part, cells: Sequence[Told]) -> Judged:
    """Equivalence within the margin; contradicted by a cell that is shown to lie beyond it."""
    p, beyond = [], []
    for cell in cells:
        values = _signed(part, cell)
        margin = part.margins[cell.quantity.metric]
        margin = log(margin) if part.ratio else margin
        p.append(equivalence(values, np.zeros(len(values)), margin=margin).pvalue)
        beyond.append(_p_beyond(values, margin))
    made = _tested(part, cells, np.array(p), holm(beyond))
    inside = sum(cell.verdict == SUPPORTED for cell in made)
    outside = sum(cell.verdict == CONTRADICTED for cell in made)
    verdict = CONTRADICTED if outside else SUPPORTED if inside == len(made) else UNDECIDED
    if len(made) == 1:
        told = f"equivalence p = {made[0].p:.2g}, beyond the margin {made[0].p_against:.2g} (paired t-tests)"
    else:
        told = f"{inside} of {len(made)} cells within the margin, {outside} beyond it (paired t-tests)"
    return Judged(part.name, part.says, part.weight, verdict, told, made)


def _p_beyond(values: NDArray[np.float64], margin: float) -> float:
    """One-sided t-test: small where the mean lies beyond the nearer end of the margin."""
    error = float(values.std(ddof=1)) / np.sqrt(len(values))
    return p_above_zero(abs(float(values.mean())) - margin, error, len(values))


def _every(part: Part, cells: Sequence[Told]) -> Judged:
    """The sign in every seed."""
    made = []
    for cell in cells:
        shown = _shown(part, cell)
        assert shown.agree is not None
        few, whole = 2 * shown.agree < shown.seeds, shown.agree == shown.seeds and -1 not in _speaking(part, cell)
        verdict = SUPPORTED if whole else CONTRADICTED if few else UNDECIDED
        made.append(replace(shown, verdict=verdict))
    verdicts = {cell.verdict for cell in made}
    verdict = CONTRADICTED if CONTRADICTED in verdicts else UNDECIDED if UNDECIDED in verdicts else SUPPORTED
    told = ", ".join(f"{cell.cell or cell.metric} in {cell.agree} of {cell.seeds} seeds" for cell in made)
    return Judged(part.name, part.says, part.weight, verdict, told, tuple(made))


def _best(part: Part, cells: Sequence[Told]) -> Judged:
    """On how many metrics the method's mean is the best of all, over resamples of the seeds.

    A cell is a metric and a rival; the method is best on a metric where it is ahead of every rival. That it is best on
    few resamples contradicts nothing: of four methods that are alike, each is best on few. A rival has to be ahead.
    """
    assert part.need is not None
    seeds = sorted(set.intersection(*(set(cell.values) for cell in cells)))
    metrics = list(dict.fromkeys(cell.quantity.metric for cell in cells))
    index = (uniform(0, "best", at=DRAWS * len(seeds)) * len(seeds)).astype(np.int64).reshape(DRAWS, -1)
    drawn, there = np.zeros(DRAWS, np.int64), 0
    for metric in metrics:
        sign = part.direction(metric) or 1
        rivals = [cell for cell in cells if cell.quantity.metric == metric]
        leads = np.array([[sign * rival.values[seed] for seed in seeds] for rival in rivals])  # (rivals, seeds)
        there += int((leads.mean(1) > 0).all())
        drawn += (leads[:, index].mean(2) > 0).all(0)
    share = float((drawn >= part.need).mean())
    beaten = _p_beaten(part, cells, metrics)
    verdict = SUPPORTED if share >= _SURE else CONTRADICTED if beaten <= part.alpha else UNDECIDED
    low, high = np.quantile(drawn, [0.025, 0.975])
    one = replace(
        _counted(part, cells),
        mean=float(there),
        low=float(low),
        high=float(high),
        p=_rounded(1 - share),
        p_against=_rounded(beaten),
        verdict=verdict,
    )
    sure = f"on at least {part.need} in {100 * share:.0f} % of resamples of the seeds"
    told = f"best on {there} of {len(metrics)}; {sure}; p = {beaten:.2g} of a rival ahead on too many"
    return Judged(part.name, part.says, part.weight, verdict, told, (one,))


def _p_beaten(part: Part, cells: Sequence[Told], metrics: Sequence[str]) -> float:
    """Small where rivals are ahead on so many metrics that the rest are fewer than are needed."""
    assert part.need is not None
    tested = _p_beside(part, cells, 0.0, "less")
    p = [float(one) if ahead < 0 else 1.0 for one, ahead in zip(tested, _ahead(part, cells, 0.0), strict=True)]
    lost = {metric: min(p[n] for n, cell in enumerate(cells) if cell.quantity.metric == metric) for metric in metrics}
    return float(sorted(lost.values())[len(metrics) - part.need])


def _counted(part: Part, cells: Sequence[Told]) -> Measured:
    """The one cell of a count, with what was published: on how many metrics every rival has less."""
    metrics = list(dict.fromkeys(cell.quantity.metric for cell in cells))
    ahead = [
        all(float(cell.published or "nan") > 0 for cell in cells if cell.quantity.metric == metric)
        for metric in metrics
    ]
    return Measured(
        cell=f"best on, of {len(metrics)}",
        metric=metrics[0],
        scale="count",
        published=str(sum(ahead)) if any(cell.published for cell in cells) else "",
        mean=None,
        low=None,
        high=None,
        p=None,
        p_against=None,
        agree=None,
        seeds=min(_seeds(part, cell.values) for cell in cells),
        verdict=UNDECIDED,
    )


def _tested(
    part: Part, cells: Sequence[Told], p: NDArray[np.float64], against: NDArray[np.float64]
) -> tuple[Measured, ...]:
    made = []
    for cell, one, other in zip(cells, p, against, strict=True):
        verdict = SUPPORTED if one <= part.alpha else CONTRADICTED if other <= part.alpha else UNDECIDED
        shown = _shown(part, cell)
        made.append(replace(shown, p=_rounded(one), p_against=_rounded(other), verdict=verdict))
    return tuple(made)


_DECIDE: Mapping[str, Callable[[Part, Sequence[Told]], Judged]] = {
    "better": _directed,
    "lower": _directed,
    "higher": _directed,
    "same": _same,
    "every": _every,
    "best": _best,
}
