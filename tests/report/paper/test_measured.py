"""Numbers by seed, their intervals, and how far they are from the published ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from dissensus.experiment.papers import Cell, Number, PValue
from dissensus.experiment.papers.evidence import Evidence
from dissensus.report.paper.measured import BySeed, Sought, difference, gap, higher_is_better, measured, p_of
from dissensus.stats.jackknife import over_pairs


def rows(values, **more):
    """Soft NLL of a method by seed."""
    return [
        {"cell": Cell("published", method, "all", 1, seed), "name": "soft_nll", "value": value, "checkpoint": "best"}
        | more
        for method, scores in values.items()
        for seed, value in enumerate(scores)
    ]


def test_a_number_is_read_as_the_paper_means_it(basins, whole):
    address = next(a for a in basins.published.numbers if a.place == "table1" and a.method == "sls" and a.votes == 5)
    subject = Sought.of(address)
    found = measured(whole, subject)
    assert found.seeds == tuple(range(10))
    assert found.values == whole.numbers("soft_nll", protocol="published", method="sls", votes=5)
    last = measured(whole, subject.read(checkpoint="last"))
    assert last.mean > found.mean  # as it was made up


def test_what_was_not_run_is_empty_and_no_error(basins):
    nothing = Evidence({}, {})
    for address in basins.published.numbers:
        found = measured(nothing, Sought.of(address))
        assert not found
        assert found.interval is None


def test_pairs_of_seeds_have_the_interval_of_the_jackknife(whole):
    found = measured(whole, Sought("cka", "sls", other="sls"))
    assert found.of_pairs
    assert len(found.values) == 45
    assert found.seeds == tuple(range(10))
    assert len(found.first(5).values) == 10
    naive = found.sd / np.sqrt(45)
    assert found.interval.low < found.mean < found.interval.high
    assert found.standard_error > 0.5 * naive


def test_how_much_earlier_is_the_other_less_the_method(whole):
    earlier = measured(whole, Sought("epochs_earlier_to_best", "sls", other="soft"))
    soft, sls = (measured(whole, Sought("best_epoch", method)) for method in ("soft", "sls"))
    assert earlier.values == difference(soft, sls).values
    assert earlier.mean > 0


def test_the_standard_error_of_a_difference_is_that_of_two_means():
    seeds = [0.50, 0.54, 0.52, 0.53, 0.51]
    found = gap(BySeed(dict(enumerate(seeds))), Number(0.49, 0.02, 5, "nats"))
    reference = np.hypot(scipy_stats.sem(seeds), 0.02 / np.sqrt(5))
    assert found.standard_error == pytest.approx(reference)
    assert found.value == pytest.approx(0.03)
    assert found.differs == (2 * reference < 0.03)


def test_where_no_sd_is_published_ours_stands_for_both():
    seeds = [0.50, 0.54, 0.52, 0.53, 0.51]
    found = gap(BySeed(dict(enumerate(seeds))), Number(0.49, None, 5, "nats"))
    assert found.standard_error == pytest.approx(np.sqrt(2) * scipy_stats.sem(seeds))


def test_of_pairs_too_ours_stands_for_both():
    """By the jackknife over seeds: the pairs are not independent, and there are more of them than seeds."""
    chance = np.random.default_rng(0).normal(size=6)
    pairs = BySeed({(i, j): float(chance[i] + chance[j]) for i in range(6) for j in range(i + 1, 6)})
    found = gap(pairs, Number(0.9, None, 5, "similarity"))
    assert found.standard_error == pytest.approx(np.sqrt(2) * over_pairs(pairs.values).standard_error)


@pytest.mark.parametrize("seeds", [1, 2, 4])
def test_below_five_seeds_nothing_is_called_different(seeds):
    assert gap(BySeed({seed: 0.9 + 1e-6 * seed for seed in range(seeds)}), Number(0.49, None, 5, "nats")) is None


@pytest.mark.parametrize(("side", "alternative"), [("one-sided", "less"), ("two-sided", "two-sided")])
def test_the_papers_own_test_on_our_seeds(side, alternative):
    soft, sls = [0.55, 0.56, 0.58, 0.57, 0.60, 0.61], [0.54, 0.53, 0.59, 0.55, 0.57, 0.55]
    evidence = Evidence.from_rows(rows({"soft": soft, "sls": sls}))
    told = PValue(0.03, False, "soft", side, 5)
    found = p_of(evidence, Sought("soft_nll", "sls"), told)
    assert found.p == pytest.approx(scipy_stats.wilcoxon(sls, soft, alternative=alternative, method="exact").pvalue)
    few = p_of(evidence, Sought("soft_nll", "sls"), told, 5)
    reference = scipy_stats.wilcoxon(sls[:5], soft[:5], alternative=alternative, method="exact").pvalue
    assert few.p == pytest.approx(reference)
    assert (found.seeds, few.seeds) == (6, 5)


def test_a_test_takes_the_seeds_that_both_have():
    evidence = Evidence.from_rows(rows({"soft": [0.55, 0.56, 0.58], "sls": [0.5]}))
    assert p_of(evidence, Sought("soft_nll", "sls"), PValue(0.03, False, "soft", "one-sided", 5)) is None


def test_directions():
    assert higher_is_better("accuracy")
    assert higher_is_better("knn_auroc")
    assert not higher_is_better("soft_nll")
