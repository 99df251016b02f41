"""The file against the paper: cells counted by hand, and the arithmetic that its claims rest on."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy import stats as scipy_stats

from dissensus.diagnostics.registry import DIAGNOSTICS
from dissensus.experiment.papers import Paper, Published, read_paper
from dissensus.metrics import METRICS
from dissensus.stats import holm

SWEEP = (5, 10, 25, 50)
HARD = ("sls", "multipass", "deterministic-control")
SCORES = ("energy", "msp", "odin", "entropy", "margin", "knn")


@pytest.fixture(scope="module")
def basins() -> Paper:
    return read_paper("basins")


@pytest.fixture(scope="module")
def published(basins: Paper) -> Published:
    return basins.published


def mean(published: Published, *where: str, **more: object) -> float:
    return published.value(*where, **more).mean


# --- counted by hand --------------------------------------------------------------------------------------------------


def test_cells_place_by_place(published: Published) -> None:
    assert Counter(address.place for address in published.numbers) == {
        "table1": 4 * 4,
        "table2": 5 * 6,  # and Table 5
        "table3": 4 * 4,
        "table4": 6 * 4,
        "table6": 4 * 4,
        "table7": 6 * 4,
        "table8": 6 * 2,
        "table9": 3 * 4,
        "figure3": 3,  # smooth ECE
        "figure4": 4,  # hold 1, 5, 10, 50
        "figure7": 1,
        "figure8": 2,  # 35.7 and 47.2 epochs
        "figure9": 4,
        "figure11": 1,
        "figure12": 2,
    }
    assert Counter(address.place for address in published.p_values) == {
        "table1": 12,
        "table2": 4,
        "table3": 1 + 4 + 4,
        "table8": 6,
    }
    assert [address.place for address in published.ranges] == ["figure2", "figure7"]


def test_where_an_sd_is_published(published: Published) -> None:
    with_sd = Counter(address.place for address, number in published.numbers.items() if number.sd is not None)
    assert with_sd == {"table2": 30, "table3": 16, "table4": 24, "table6": 16, "table7": 24}


def test_numbers_of_seeds(published: Published) -> None:
    seeds = {place: set() for place in {address.place for address in published.numbers}}
    for address, number in published.numbers.items():
        seeds[address.place].add(number.seeds)
    assert seeds == {
        "table1": {5},
        "table2": {10},
        "table3": {5},
        "table4": {5, 10},
        "table6": {5},
        "table7": {5, 10},
        "table8": {10},
        "table9": {5, 10},
        "figure3": {None},
        "figure4": {5},
        "figure7": {None},
        "figure8": {None},
        "figure9": {None},
        "figure11": {10},
        "figure12": {None},
    }


def test_the_sum_of_each_table(published: Published) -> None:
    """Typed by hand from the paper a second time, and added: a digit that slipped in either copy shows."""
    sums: Counter[str] = Counter()
    for address, number in published.numbers.items():
        sums[address.place] += number.mean
    by_hand = {
        "table1": (5860 + 5785 + 5388 + 5628 + 5599 + 5485 + 5169 + 5291)
        + (5649 + 5371 + 5117 + 5241 + 5555 + 5388 + 5077 + 5231),
        "table2": (6263 + 8590 + 598 + 2117 + 4726 + 1786)
        + (7284 + 8570 + 704 + 2902 + 5746 + 1943)
        + (5526 + 8824 + 977 + 2499 + 3988 + 1500)
        + (5052 + 8695 + 186 + 3946 + 3515 + 1553)
        + (5096 + 8687 + 185 + 3909 + 3558 + 1548),
        "table3": (5035 + 8710 + 193 + 3956 + 4921 + 8724 + 209 + 3963)
        + (4942 + 8714 + 191 + 4000 + 22973 + 1199 + 293 - 58),
        "table7": (8634 + 8858 + 8890 + 8788 + 8364 + 8553 + 8643 + 8520 + 8650 + 8871 + 8921 + 8812)
        + (8527 + 8714 + 8793 + 8660 + 8112 + 8323 + 8419 + 8326 + 7974 + 7836 + 7788 + 7741),
        "table8": (8185 + 8096 + 8189 + 8107 + 8132 + 8082 + 8029 + 7972 + 8031 + 8009 + 7833 + 7779),
        "table9": (8096 + 8185 + 8183 + 8163 + 7972 + 8032 + 8006 + 8003 + 8009 + 8053 + 8050 + 8019),
    }
    for place, total in by_hand.items():
        assert sums[place] == pytest.approx(total / 1e4, abs=1e-9), place
    assert sums["table4"] == pytest.approx(
        (104.9 + 1633.9 + 314.0 + 3496.8 + 242.2 + 4946.0 + 780.6 + 10779.6 + 107.8 + 1642.9 + 310.3 + 3480.4)
        + (101.6 + 1581.6 + 314.6 + 3481.8 + 103.8 + 1571.4 + 302.2 + 3438.4 + 18.4 + 33.9 + 20.5 + 38.8)
    )
    assert sums["table6"] == pytest.approx(
        (114.0 + 241.4 + 478.7 + 1203.1 + 114.1 + 243.6 + 369.1 + 849.7)
        + (97.5 + 267.1 + 277.8 + 876.1 + 98.9 + 218.4 + 312.4 + 626.4)
    )


def test_the_sum_of_each_table_s_sds(published: Published) -> None:
    sums: Counter[str] = Counter()
    for address, number in published.numbers.items():
        sums[address.place] += number.sd or 0.0
    by_hand = {
        "table2": (204 + 88 + 59 + 218 + 204 + 94 + 401 + 107 + 58 + 219 + 397 + 152)
        + (129 + 46 + 63 + 145 + 123 + 49 + 263 + 105 + 39 + 192 + 260 + 110 + 233 + 81 + 40 + 190 + 228 + 96),
        "table3": (335 + 129 + 45 + 159 + 162 + 50 + 22 + 160 + 123 + 63 + 44 + 287 + 24 + 128 + 99 + 556),
        "table7": (429 + 255 + 253 + 261 + 432 + 182 + 193 + 183 + 429 + 242 + 233 + 254)
        + (445 + 212 + 233 + 208 + 436 + 126 + 136 + 177 + 284 + 250 + 354 + 295),
    }
    for place, total in by_hand.items():
        assert sums[place] == pytest.approx(total / 1e4, abs=1e-9), place
    assert sums["table4"] == pytest.approx(
        (8.8 + 50.6 + 57.3 + 360.3 + 36.2 + 943.2 + 103.3 + 1811.9 + 9.9 + 25.7 + 22.0 + 255.2)
        + (8.1 + 61.2 + 30.4 + 250.7 + 4.3 + 72.4 + 29.6 + 339.5 + 13.3 + 26.0 + 18.1 + 44.9)
    )
    assert sums["table6"] == pytest.approx(
        (4.5 + 36.6 + 76.6 + 158.2 + 8.0 + 47.9 + 52.2 + 296.3) + (4.0 + 43.7 + 35.8 + 235.4 + 1.2 + 20.0 + 45.8 + 38.3)
    )


def test_what_the_text_says(published: Published) -> None:
    held = [mean(published, "figure4", "sls", "soft_nll", hold=hold) for hold in (1, 5, 10, 50)]
    assert held == [0.5027, 0.5458, 0.6054, 0.6689]
    smooth = [mean(published, "figure3", method, "smooth_ece") for method in ("sls", "soft", "majority")]
    assert smooth == [0.019, 0.019, 0.082]
    sparse, variance = published.range("figure2", "sls", "js_gain"), published.range(*GRADIENT)
    assert (sparse.low, sparse.high) == (0.05, 0.16)
    assert (variance.low, mean(published, *GRADIENT), variance.high) == (0.919, 0.939, 0.953)
    assert mean(published, "figure11", "sls", "barrier", other="soft") == 2.05
    assert [mean(published, "figure12", method, "cka") for method in ("sls", "soft")] == [0.920, 0.887]
    cams = {
        method: [mean(published, "figure9", method, "cam_stability", slice=part) for part in ("all", "disputed")]
        for method in ("sls", "soft")
    }
    assert cams == {"sls": [0.901, 0.861], "soft": [0.804, 0.756]}
    assert mean(published, "figure8", "sls", "epochs_earlier_to_95") == 35.7
    assert mean(published, "figure8", "sls", "epochs_earlier_to_best") == 47.2


GRADIENT = ("figure7", "sls", "gradient_variance_entropy")


def test_numbers_lie_where_they_can(published: Published) -> None:
    for address, number in published.numbers.items():
        assert np.isfinite(number.mean), address
        assert number.sd is None or 0 < number.sd < max(number.mean, 0.06) * 1.2, address
        if address.metric.endswith("auroc"):
            assert 0.7 < number.mean < 0.9, address
        if address.metric == "soft_nll":
            assert 0.49 < number.mean < 2.303, address  # the last: a uniform guess among ten classes
    for address, p in published.p_values.items():
        assert 0 < p.value < 1, address


def test_metrics_have_the_names_that_records_have(published: Published) -> None:
    """The others are diagnostics, or differences between two methods."""
    tables = {address.metric for address in published.numbers if address.place in ("table1", "table2", "table3")}
    assert tables < set(METRICS)
    assert "smooth_ece" in METRICS


def test_diagnostics_have_the_names_that_records_have(published: Published) -> None:
    of_models = {a.metric for a in published.numbers if a.place in ("table4", "table6", "table7", "table8", "table9")}
    assert of_models < set(DIAGNOSTICS)
    assert {address.metric for address in published.ranges} < set(DIAGNOSTICS)


# --- what the claims rest on ------------------------------------------------------------------------------------------


def gain(published: Published, method: str, votes: int) -> float:
    soft = mean(published, "table1", "soft", "soft_nll", votes=votes)
    return soft - mean(published, "table1", method, "soft_nll", votes=votes)


def test_hard_delivery_is_below_soft_in_all_12_cells(published: Published) -> None:
    gains = [gain(published, method, votes) for method in HARD for votes in SWEEP]
    assert len(gains) == 12
    assert min(gains) > 0.02


def test_the_largest_gain_of_sls_is_with_most_votes(published: Published) -> None:
    gains = {votes: round(gain(published, "sls", votes), 4) for votes in SWEEP}
    assert gains == {5: 0.0261, 10: 0.0300, 25: 0.0219, 50: 0.0337}


def test_the_curves_over_votes_turn_up_at_the_end(published: Published) -> None:
    for method in ("soft", *HARD):
        by_votes = [mean(published, "table1", method, "soft_nll", votes=votes) for votes in SWEEP]
        assert by_votes[0] > by_votes[1] > by_votes[2] < by_votes[3]


def test_nine_of_twelve_have_the_smallest_p_and_none_is_left_by_holm(published: Published) -> None:
    p = [published.p_value("table1", method, "soft_nll", votes=votes) for method in HARD for votes in SWEEP]
    assert {(one.against, one.side, one.seeds) for one in p} == {("soft", "one-sided", 5)}
    assert sum(one.value == 0.031 for one in p) == 9
    assert min(holm([one.value for one in p])) > 0.05


def test_p_values_by_hand(published: Published) -> None:
    told = {address: p.value for address, p in published.p_values.items()}
    assert {(a.method, a.votes): p for a, p in told.items() if a.place == "table1" and p != 0.031} == {
        ("sls", 25): 0.063,
        ("sls", 50): 0.094,
        ("multipass", 5): 0.063,
    }
    assert {a.metric: p for a, p in told.items() if a.place == "table2" and a.method == "sls"} == {
        "soft_nll": 0.6953,
        "accuracy": 0.6250,
        "ece": 0.9219,
        "entropy_correlation": 0.3750,
    }
    assert {(a.method, p) for a, p in told.items() if a.place == "table3" and a.metric == "soft_nll"} == {
        ("multipass", 0.4375),
        ("deterministic-control", 0.4375),
        ("shuffled-sls", 0.0625),
    }
    assert {a.metric: p for a, p in told.items() if a.place == "table8" and a.method == "sls"} == {
        "energy_auroc": 0.0186,
        "odin_auroc": 0.0186,
        "entropy_auroc": 0.0801,
        "msp_auroc": 0.0654,
        "knn_auroc": 0.3125,
        "margin_auroc": 0.0801,
    }


def test_p_values_are_those_that_so_many_seeds_allow(published: Published) -> None:
    """An exact signed-rank test of n pairs gives multiples of 2^-n, or of 2^(1-n) if it is two-sided."""
    for address, p in published.p_values.items():
        assert p.seeds is not None
        steps = 2 ** (p.seeds - (p.side == "two-sided"))
        digits = 3 if address.place == "table1" else 4
        assert any(
            round(k / steps, digits) == pytest.approx(p.value, abs=1.1 * 10**-digits) for k in range(1, steps + 1)
        )


def test_the_side_of_table_8_follows_from_its_p_values(published: Published) -> None:
    p = np.array([published.p_value("table8", "sls", f"{score}_auroc").value for score in SCORES])
    assert np.all(np.abs(p * 1024 - np.round(p * 1024)) < 0.06)  # one-sided, ten seeds
    assert np.any(np.abs(p * 512 - np.round(p * 512)) > 0.4)  # not two-sided
    ranks = scipy_stats.wilcoxon(np.arange(1, 11.0), alternative="greater").pvalue
    assert ranks == pytest.approx(1 / 1024)


def test_sls_and_soft_are_close_and_both_beat_the_hard_baselines(published: Published) -> None:
    lower = ("soft_nll", "kl", "soft_brier", "ece")
    for ours in ("sls", "soft"):
        for theirs in ("majority", "label-smoothing"):
            for metric in lower:
                assert mean(published, "table2", ours, metric) < mean(published, "table2", theirs, metric)
            ours_correlation = mean(published, "table2", ours, "entropy_correlation")
            assert ours_correlation > mean(published, "table2", theirs, "entropy_correlation")
    for metric, margin in (("soft_nll", 0.025), ("kl", 0.025), ("accuracy", 0.01), ("soft_brier", 0.01)):
        assert abs(mean(published, "table2", "sls", metric) - mean(published, "table2", "soft", metric)) < margin


def test_order_of_the_methods(published: Published) -> None:
    def ordered(metric: str) -> list[str]:
        methods = ("label-smoothing", "majority", "mixup", "sls", "soft")
        return sorted(methods, key=lambda method: mean(published, "table2", method, metric))

    assert ordered("soft_nll") == ordered("kl") == ["sls", "soft", "mixup", "label-smoothing", "majority"]
    assert ordered("accuracy")[-1] == "mixup"
    assert ordered("ece")[-1] == "mixup"
    assert ordered("soft_brier") == ["mixup", "soft", "sls", "label-smoothing", "majority"]
    assert ordered("entropy_correlation") == ["label-smoothing", "mixup", "majority", "soft", "sls"]


def test_soft_nll_less_kl_is_the_entropy_of_the_votes(published: Published) -> None:
    """The same for all methods, up to rounding; that of all items is .1545."""
    gaps = [
        mean(published, "table2", method, "soft_nll") - mean(published, "table5", method, "kl")
        for method in ("label-smoothing", "majority", "mixup", "sls", "soft")
    ]
    np.testing.assert_allclose(gaps, 0.15375, atol=1.01e-4)
    assert np.mean(gaps) == pytest.approx(0.1545, abs=0.001)


def test_the_hard_deliveries_are_close_and_shuffled_labels_are_chance(published: Published) -> None:
    nll = [mean(published, "table3", method, "soft_nll") for method in HARD]
    assert max(nll) - min(nll) == pytest.approx(0.0114)
    assert mean(published, "table3", "shuffled-sls", "soft_nll") == pytest.approx(np.log(10), abs=0.006)
    assert mean(published, "table3", "shuffled-sls", "accuracy") == pytest.approx(0.1, abs=0.02)
    assert published.p_value("table3", "multipass", "accuracy").at_least
    assert not published.p_value("table3", "multipass", "soft_nll").at_least
    assert published.p_value("table3", "shuffled-sls", "soft_nll").value == 2 / 2**5


def test_ratios_of_curvature(published: Published) -> None:
    for part, top, trace in (("all", 2.31, 3.03), ("disputed", 2.49, 3.08)):
        for metric, expected in (("top_eigenvalue", top), ("trace", trace)):
            soft = mean(published, "table4", "soft", metric, slice=part)
            sls = mean(published, "table4", "sls", metric, slice=part, seeds=10)
            assert soft / sls == pytest.approx(expected, abs=0.005)
            family = [mean(published, "table4", method, metric, slice=part, seeds=5) for method in HARD]
            assert max(family) / min(family) < 1.07
            assert mean(published, "table4", "shuffled-sls", metric, slice=part) < min(family) / 5


def test_ratios_of_curvature_by_votes(published: Published) -> None:
    ratios = {
        part: [
            mean(published, "table6", "soft", "top_eigenvalue", votes=votes, slice=part)
            / mean(published, "table6", "sls", "top_eigenvalue", votes=votes, slice=part)
            for votes in SWEEP
        ]
        for part in ("all", "disputed")
    }
    np.testing.assert_allclose(ratios["all"], [2.12, 2.13, 2.74, 2.21], atol=0.005)
    np.testing.assert_allclose(ratios["disputed"], [2.51, 2.30, 3.15, 2.01], atol=0.005)


def test_far_from_the_data_hard_delivery_wins_on_five_of_six_scores(published: Published) -> None:
    by_score = {
        score: {method: mean(published, "table7", method, f"{score}_auroc") for method in ("soft", *HARD)}
        for score in SCORES
    }
    best = {score: max(found, key=found.__getitem__) for score, found in by_score.items()}
    assert best == dict.fromkeys(SCORES, "deterministic-control") | {"knn": "soft"}
    assert [score for score, found in by_score.items() if min(found, key=found.__getitem__) == "soft"] == list(
        SCORES[:5]
    )


def test_near_the_data_hard_delivery_wins_on_every_score(published: Published) -> None:
    for score in SCORES:
        ours, soft = (mean(published, "table8", method, f"{score}_auroc") for method in ("sls", "soft"))
        assert ours > soft
    for score in ("energy", "msp", "knn"):
        soft = mean(published, "table9", "soft", f"{score}_auroc")
        assert soft == mean(published, "table8", "soft", f"{score}_auroc")
        assert all(mean(published, "table9", method, f"{score}_auroc") > soft for method in HARD)


def test_stale_labels_hurt_more_and_more(published: Published) -> None:
    held = [mean(published, "figure4", "sls", "soft_nll", hold=hold) for hold in (1, 5, 10, 50)]
    assert all(before < after for before, after in pairwise(held))


# --- what is run ------------------------------------------------------------------------------------------------------


def test_trainings(basins: Paper) -> None:
    by_hand = {
        "eight methods with all votes": 8 * 10,
        "the sweep": 4 * 4 * 10,
        "labels held for 5, 10 and 50 epochs": 3 * 10,
    }
    published = basins.cells("published")
    assert sum(by_hand.values()) == 270
    assert len([cell for cell in published if not cell.reorder]) == 270
    assert len([cell for cell in published if cell.reorder]) == 2 * 10  # the other ends of the barriers within a method
    assert len(basins.cells("audited")) == 4 * 10 + 3 * 3 * 10 == 130
    assert len(basins.cells()) == len(set(basins.cells())) == 420


@pytest.mark.parametrize(
    ("place", "trainings"),
    [
        ("table1", 160),
        ("table2", 50),
        ("table3", 40),
        ("table4", 50),
        ("table5", 50),
        ("table6", 80),
        ("table7", 40),
        ("table8", 20),
        ("table9", 40),
        ("figure4", 40),
        ("figure11", 40),
        ("figure12", 20),
    ],
)
def test_trainings_of_a_place(basins: Paper, place: str, trainings: int) -> None:
    assert len(basins.cells("published", feeds=place)) == trainings


def test_every_table_and_figure_is_fed(basins: Paper) -> None:
    assert set(basins.places) == {f"table{i}" for i in range(1, 10)} | {f"figure{i}" for i in range(1, 13)}
    for place in basins.places:
        assert basins.of("published", feeds=place), place


def test_every_published_number_has_its_runs(basins: Paper) -> None:
    """Same place, method, votes and hold; as many seeds as the paper has, or more."""
    for address in [*basins.published.numbers, *basins.published.ranges]:
        cells = [
            cell
            for cell in basins.cells("published", feeds=address.place)
            if (cell.method, cell.hold, cell.reorder) == (address.method, address.hold, 0)
            and (cell.votes == address.votes or address.metric == "js_gain")
        ]
        assert len({cell.seed for cell in cells}) == 10 >= (address.seeds or 0), address
        if address.outside:
            assert address.outside in basins.outside_of(cells[0])
        if address.slice != "all":
            assert any(address.slice in slices for slices in basins.diagnostics_of(cells[0]).values())


def test_seeds_of_the_experiments_are_those_of_the_numbers(basins: Paper) -> None:
    """Where the paper tells them."""
    for address in basins.published.numbers:
        if address.seeds is None:
            continue
        told = {
            one.published_seeds.get(address.method)
            for one in basins.of("published", feeds=address.place)
            if address.method in one.methods and not one.reorder
        }
        assert address.seeds in told, address


def test_what_is_looked_at_in_a_run(basins: Paper) -> None:
    def looked(**parts: object) -> dict[str, tuple[str, ...]]:
        wanted = {"protocol": "published", "votes": "all", "hold": 1, "seed": 0, "reorder": 0} | parts
        (cell,) = [one for one in basins.cells() if all(getattr(one, key) == value for key, value in wanted.items())]
        return basins.diagnostics_of(cell)

    everything = set(basins.diagnostics) - {"sparse_target"}
    both = ("all", "disputed")
    assert set(looked(method="sls")) == set(looked(method="soft")) == everything
    assert looked(method="sls")["curvature"] == looked(method="sls")["gradcam"] == both
    assert looked(method="multipass") == {"curvature": both, "trace": both, "ood": ("all",)}
    assert looked(method="shuffled-sls") == {"curvature": both, "trace": both}
    assert looked(method="mixup") == looked(method="sls", hold=5) == {}
    assert looked(method="sls", votes=5) == {"sparse_target": both, "curvature": both}
    assert looked(method="multipass", votes=5) == {"sparse_target": both}
    assert looked(method="soft", reorder=500) == {"barrier": ("all",)}
    cheap = {"dynamics", "gradient_variance", "cka", "gradcam", "ood"}
    assert set(looked(method="soft", protocol="audited")) == cheap
    assert looked(method="majority", protocol="audited") == {"dynamics": ("all",)}


def test_protocols(basins: Paper) -> None:
    told = {name: (one.select, one.draw) for name, one in basins.protocols.items()}
    assert told == {"published": (0.0, "resample"), "audited": (0.1, "subsample")}
    assert {cell.votes for cell in basins.cells("audited")} == {5, 10, 25, "all"}


def test_seed_by_seed(basins: Paper) -> None:
    """What is done first can be compared first, and other order seeds meet none of the runs' own."""
    seeds = [cell.seed for cell in basins.cells()]
    assert seeds == sorted(seeds)
    moved = {cell.seeds["order"] for cell in basins.cells() if cell.reorder}
    assert moved.isdisjoint(seeds)
