"""Verdicts against SciPy's tests, and how often they are wrong where nothing is true."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats as scipy_stats

from dissensus.experiment.claims import Claims, Part
from dissensus.experiment.claims.decide import Told, combined, decide
from dissensus.experiment.claims.ledger import Judged
from dissensus.experiment.claims.quantities import Quantity
from dissensus.stats import holm, wilcoxon


def cells(values: np.ndarray, metric: str) -> list[Told]:
    return [Told(Quantity(str(n), metric, ()), "", dict(enumerate(row.tolist()))) for n, row in enumerate(values)]


@pytest.fixture
def lower(claims: Claims) -> Part:
    return claims["B4"].parts[0]


@pytest.fixture
def same(claims: Claims) -> Part:
    return claims["B17"].parts[2]


def test_direction_is_wilcoxon_s_test_with_holm(lower: Part) -> None:
    values = np.random.default_rng(0).normal(-0.5, 1, (12, 10))
    made = decide(lower, cells(values, "soft_nll"))
    p = [scipy_stats.wilcoxon(row, alternative="less", method="exact").pvalue for row in values]
    against = [scipy_stats.wilcoxon(row, alternative="greater", method="exact").pvalue for row in values]
    np.testing.assert_allclose([cell.p for cell in made.cells], holm(p), rtol=1e-5)
    np.testing.assert_allclose([cell.p_against for cell in made.cells], holm(against), rtol=1e-5)
    assert [cell.agree for cell in made.cells] == [(row < 0).sum() for row in values]


def test_accuracies_that_differ_alike_tie(lower: Part) -> None:
    """Of 2,000 items, as single precision has it: three more are three more, wherever they come from."""
    right = np.array([1783, 1782, 1724, 1711, 1753, 1706, 1711, 1706, 1718, 1778])
    more = np.array([3, 3, 6, 1, -3, -2, -1, 3, 0, 0])
    first, second = (np.float32(one / 2000).astype(str).astype(float) for one in (right + more, right))
    (cell,) = decide(replace(lower, kind="higher"), cells((first - second)[None], "accuracy")).cells
    assert cell.p == pytest.approx(wilcoxon(more, np.zeros(10), "greater").pvalue, rel=1e-5)


def test_what_is_left_where_numbers_cancel_is_shown_as_none(lower: Part) -> None:
    values = np.tile([0.1, 0.2, -0.3], 4)
    assert values.mean() != 0
    (cell,) = decide(lower, cells(values[None], "soft_nll")).cells
    assert cell.mean == 0
    (cell,) = decide(lower, cells(1e-16 * np.arange(1.0, 13)[None], "soft_nll")).cells  # numbers that are no bigger
    assert cell.mean == -6.5e-16


@pytest.mark.parametrize("side", [1, -1])
def test_what_the_ranks_say_and_the_mean_does_not_is_open(lower: Part, side: int) -> None:
    """Nine seeds that are barely ahead outvote, by ranks, one that is far behind."""
    values = side * np.append(-0.001 * np.arange(1.0, 10), 5.0)
    (p, against) = (scipy_stats.wilcoxon(values, alternative=one, method="exact").pvalue for one in ("less", "greater"))
    made = decide(lower, cells(values[None], "soft_nll"))
    (cell,) = made.cells
    assert (cell.p, cell.p_against) == pytest.approx((p, against), rel=1e-5)
    assert min(p, against) < 0.05
    assert (made.verdict, cell.verdict) == ("undecided", "undecided")
    assert made.reason.endswith("; the mean is on the other side")
    values[9] = side * 0.008  # no farther off than the others
    made = decide(lower, cells(values[None], "soft_nll"))
    assert made.verdict == ("supported" if side > 0 else "contradicted")
    assert "other side" not in made.reason


def test_one_cell_that_is_reversed_contradicts_every(lower: Part) -> None:
    values = np.full((12, 10), -1.0) - np.linspace(0, 0.1, 10)
    assert decide(lower, cells(values, "soft_nll")).verdict == "supported"
    values[7] *= -1
    made = decide(lower, cells(values, "soft_nll"))
    assert made.verdict == "contradicted"
    assert made.reason.startswith("11 of 12 cells as claimed, 1 reversed (one-sided exact Wilcoxon, Holm over 12)")


def test_five_seeds_can_never_pass_holm_over_twelve(lower: Part) -> None:
    values = np.full((12, 5), -1.0) - np.linspace(0, 0.1, 5)
    assert decide(lower, cells(values, "soft_nll")).reason == "only 5 of 10 seeds"
    assert decide(replace(lower, seeds=5), cells(values, "soft_nll")).verdict == "undecided"


def test_sameness_is_two_t_tests_and_its_opposite_a_third(same: Part) -> None:
    for shift in (0.0, 0.02, 0.03, -0.05):
        values = np.random.default_rng(1).normal(shift, 0.02, (1, 10))
        (cell,) = decide(same, cells(values, "soft_nll")).cells
        below = scipy_stats.ttest_1samp(values[0], -0.025, alternative="greater").pvalue
        above = scipy_stats.ttest_1samp(values[0], 0.025, alternative="less").pvalue
        beyond = min(
            scipy_stats.ttest_1samp(values[0], 0.025, alternative="greater").pvalue,
            scipy_stats.ttest_1samp(values[0], -0.025, alternative="less").pvalue,
        )
        assert cell.p == pytest.approx(max(below, above), rel=1e-5)
        assert cell.p_against == pytest.approx(beyond, rel=1e-5)


@pytest.mark.parametrize(
    ("factor", "verdict"), [(1.0, "supported"), (1.22, "undecided"), (1.5, "contradicted"), (1 / 1.5, "contradicted")]
)
def test_of_factors_the_margin_is_one_too(same: Part, factor: float, verdict: str) -> None:
    """Values are logarithms of factors, so their margin is the logarithm of the one that the file says."""
    values = np.log(factor) + np.linspace(-0.1, 0.1, 10)
    (cell,) = decide(replace(same, ratio=True, margins={"trace": 1.25}), cells(values[None], "trace")).cells
    ends = {side: scipy_stats.ttest_1samp(values, end * np.log(1.25), alternative=side).pvalue
            for side, end in (("greater", -1), ("less", 1))}  # fmt: skip
    assert cell.p == pytest.approx(max(ends.values()), rel=1e-5)
    assert (cell.verdict, cell.mean) == (verdict, pytest.approx(factor, rel=1e-5))


def test_sameness_in_several_cells_corrects_only_what_contradicts(same: Part) -> None:
    """All cells must be the same, so none can be so by chance alone; but one of many may lie beyond by chance."""
    values = np.random.default_rng(4).normal([[0.0], [0.03], [-0.04]], 0.02, (3, 10))
    made = decide(same, cells(values, "soft_nll"))
    alone = [decide(same, cells(row[None], "soft_nll")).cells[0] for row in values]
    assert [cell.p for cell in made.cells] == [cell.p for cell in alone]
    np.testing.assert_allclose(
        [cell.p_against for cell in made.cells], holm([cell.p_against for cell in alone]), rtol=1e-5
    )
    assert len({cell.p_against for cell in made.cells} & {cell.p_against for cell in alone}) < 3


def test_a_sign_in_every_seed(lower: Part) -> None:
    every = replace(lower, kind="every", sense="lower")
    for agree, verdict in ((10, "supported"), (9, "undecided"), (5, "undecided"), (4, "contradicted")):
        values = np.where(np.arange(10) < agree, -1.0, 1.0)[None]
        assert decide(every, cells(values, "soft_nll")).verdict == verdict


def rivals(claims: Claims, leads: np.ndarray) -> tuple[Part, list[Told]]:
    """The part of B18 that counts on how many of six scores a method is best; leads are (scores, rivals, seeds)."""
    part = claims["B18"].parts[1]
    told = [Told(Quantity("", metric, ()), "", {}) for metric in part.axes["metric"] for _ in range(leads.shape[1])]
    values = leads.reshape(-1, leads.shape[2])
    return part, [replace(one, values=dict(enumerate(row.tolist()))) for one, row in zip(told, values, strict=True)]


def test_one_rival_ahead_on_two_of_six_contradicts_best_on_five(claims: Claims) -> None:
    leads = np.full((6, 3, 10), 1.0) + np.linspace(0, 0.1, 10)
    leads[0] *= -1
    assert decide(*rivals(claims, leads)).verdict == "supported"
    leads[1, 2] *= -1
    made = decide(*rivals(claims, leads))
    assert made.verdict == "contradicted"
    assert made.cells[0].p_against == pytest.approx(18 / 1024, rel=1e-5)  # Holm over 18 cells


def test_a_rival_is_not_ahead_where_its_mean_is_behind(claims: Claims) -> None:
    leads = np.full((6, 3, 10), -1.0) - np.linspace(0, 0.1, 10)
    part, told = rivals(claims, leads)
    (p,) = {cell.p_against for cell in decide(part, told).cells}
    assert p == pytest.approx(18 / 1024, rel=1e-5)
    leads[..., 9] = 1000.0  # one lucky seed: ranks are against the method, means are for it
    (cell,) = decide(*rivals(claims, leads)).cells
    assert (cell.mean, cell.p_against) == (6.0, 1.0)


def test_best_is_seldom_contradicted_where_all_are_alike(claims: Claims) -> None:
    """Of four methods that are alike, none is best on five of six in many resamples; that alone is no contradiction."""
    chance = np.random.default_rng(5)
    verdicts = []
    for _ in range(200):
        scores = chance.normal(size=(1, 4, 10)) + 0.3 * chance.normal(size=(6, 4, 10))  # of a run, nearly one thing
        verdicts.append(decide(*rivals(claims, scores[:, :1] - scores[:, 1:])).verdict)
    assert verdicts.count("contradicted") <= 20
    assert verdicts.count("supported") <= 20


def test_values_that_do_not_vary(same: Part) -> None:
    assert decide(same, cells(np.full((1, 10), 0.01), "soft_nll")).verdict == "supported"
    assert decide(same, cells(np.full((1, 10), 0.09), "soft_nll")).verdict == "contradicted"


def test_wrong_verdicts_are_rare_where_nothing_is_true(lower: Part, same: Part) -> None:
    """No difference, a thousand times: 'one cell shows it' in about 5 %; so is 'within the margin' at its very end."""
    chance = np.random.default_rng(2)
    one = replace(lower, need=1)  # the most lenient rule: a single cell is enough
    verdicts = [decide_quickly(one, chance.normal(0, 1, (3, 10)), "soft_nll") for _ in range(1000)]
    assert verdicts.count("supported") < 70
    verdicts = [decide_quickly(same, chance.normal(0.025, 0.02, (1, 10)), "soft_nll") for _ in range(1000)]
    assert verdicts.count("supported") < 70
    assert verdicts.count("contradicted") < 70


def decide_quickly(part: Part, values: np.ndarray, metric: str) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dissensus.experiment.claims.decide._interval", lambda *_: (0.0, 0.0, 0.0))
        return decide(part, cells(values, metric)).verdict


def test_pairs_that_share_seeds(claims: Claims) -> None:
    (part,) = (part for part in claims["B15"].parts if part.weight == "decides")
    seeds = np.random.default_rng(3).normal(0.1, 0.02, 10)
    values = {(i, j): float(seeds[i] + seeds[j]) / 2 for i in range(10) for j in range(i + 1, 10)}
    made = decide(part, [Told(Quantity("", "debiased_cka", ()), "", dict(values))])
    assert made.verdict == "supported"
    assert made.cells[0].seeds == 10
    values.pop((0, 1))
    assert decide(part, [Told(Quantity("", "debiased_cka", ()), "", dict(values))]).reason == (
        "not all pairs of seeds were compared"
    )


def part_of(weight: str, verdict: str) -> Judged:
    return Judged(f"{weight} {verdict}", "", weight, verdict, "because", ())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("parts", "verdict"),
    [
        ([("decides", "supported"), ("decides", "supported")], "supported"),
        ([("decides", "supported"), ("decides", "undecided")], "undecided"),
        ([("decides", "undecided"), ("decides", "contradicted")], "contradicted"),
        ([("decides", "supported"), ("needed", "contradicted")], "undecided"),
        ([("decides", "supported"), ("needed", "supported")], "supported"),
        ([("decides", "supported"), ("beside", "contradicted")], "supported"),
        ([("decides", "contradicted"), ("needed", "supported")], "contradicted"),
    ],
)
def test_parts_combined(parts: list[tuple[str, str]], verdict: str) -> None:
    assert combined([part_of(*one) for one in parts])[0] == verdict
