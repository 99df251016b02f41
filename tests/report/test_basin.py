"""The basin section: numbers that were found beside the runs, with their uncertainty and in plain words."""

from __future__ import annotations

import csv
import io
import math

import numpy as np
import pytest

from dissensus.records import Diagnosis
from dissensus.report import collect, write_page
from dissensus.report.basin import basin, basin_csv
from dissensus.stats.jackknife import over_pairs

SHARP = {"soft": 240.0, "sls": 105.0}


@pytest.fixture
def looked(make_run):
    """Two methods and four seeds, looked into: λmax differs by method, CKA over pairs of seeds, a barrier a seed."""
    runs = {(method, seed): make_run(method, seed) for method in SHARP for seed in range(4)}
    for (method, seed), run in runs.items():
        value = SHARP[method] + seed
        found = [
            Diagnosis("epochs_to_95", 10.0 + seed, math.nan, math.nan, 60),
            Diagnosis("top_eigenvalue", value, 0.99 * value, 1.01 * value, 60, weights="best"),
            Diagnosis("top_eigenvalue", 3 * value, 2.9 * value, 3.1 * value, 6, "disputed", weights="best"),
            Diagnosis("top_eigenvalue", value + 50, value, value + 60, 60, weights="last"),
            Diagnosis("energy_auroc", 0.88, 0.86, 0.90, 60, weights="best", other="svhn"),
            Diagnosis("my_own", 1.0, math.nan, math.nan, 60, weights="best"),
        ]
        found += [
            Diagnosis(name, 0.9, math.nan, math.nan, 40, weights="best", other=runs[method, later].name)
            for name in ("cka", "debiased_cka")
            for later in range(seed + 1, 4)
        ]
        if method == "sls":
            other = runs["soft", seed].name
            found.append(Diagnosis("barrier", 2.0 + 0.1 * seed, 1.9, 2.1, 60, weights="best", other=other))
        run.write_diagnostics(found)
    return collect(runs.values())


def table(shown):
    return {row.name: [str(cell) for cell in row.cells] for row in shown.rows}


def test_means_over_seeds_with_intervals_by_method(looked):
    (panel,) = looked.panels
    found = basin(panel)
    rows = table(found.best)
    assert found.best.head[1:] == panel.methods
    sharp = rows["λmax"][panel.methods.index("sls")]
    assert sharp.startswith("106.50 [")
    assert rows["λmax, most disputed items"][panel.methods.index("soft")].startswith("724.50 [")
    assert rows["energy, svhn"][0] == "0.880 [0.880, 0.880]"
    assert rows["epochs to 95 %"][0].startswith("11.5 [")
    assert list(rows)[-1] == "my own"  # a diagnostic of the user's, after those that are known
    assert rows["CKA"][0] == "0.900 [0.900, 0.900]"


def test_the_last_epoch_and_pairs_of_methods_have_tables_of_their_own(looked):
    found = basin(looked.panels[0])
    assert list(table(found.last)) == ["λmax"]
    assert found.between.head == ("", "sls – soft")
    assert table(found.between)["barrier"][0].startswith("2.150 [")


def test_it_is_said_in_words_and_not_judged(looked):
    sentences = basin(looked.panels[0]).sentences
    assert "λmax: 106.50 with sls and 241.50 with soft." in sentences
    assert "not verdicts" in sentences[-1]
    assert not any(cell.best for row in basin(looked.panels[0]).best.rows for cell in row.cells)


def test_the_error_of_one_estimate_is_told_beside_the_spread_of_seeds(looked):
    notes = basin(looked.panels[0]).best.notes
    assert notes[0] == "Means over 4 seeds, with 95 % intervals."
    assert "Of two seeds of a method, on the items that neither was trained on: CKA; CKA, debiased." in notes
    assert "λmax ± 1.0 %" in notes[1]
    assert any(note.startswith("λmax: the loss's curvature") for note in notes)


def test_intervals_end_where_a_number_can_be(make_run):
    runs = [make_run("soft", seed) for seed in range(3)]
    for seed, alike in ((0, (0.99, 0.98)), (1, (0.6,))):
        runs[seed].write_diagnostics(
            [
                Diagnosis("cka", value, math.nan, math.nan, 40, weights="best", other=other.name)
                for value, other in zip(alike, runs[seed + 1 :], strict=True)
            ]
        )
    (panel,) = collect(runs).panels
    assert table(basin(panel).best)["CKA"][0].endswith(", 1.000]")


def test_nobody_has_looked(comparison):
    assert basin(comparison.panels[0]) is None
    assert basin_csv(comparison) == ""


def test_one_seed_has_no_intervals(make_run):
    run = make_run("soft")
    run.write_diagnostics([Diagnosis("trace", 9.0, 8.0, 10.0, 60, weights="best")])
    found = basin(collect([run]).panels[0])
    assert table(found.best) == {"trace": ["9.0"]}
    assert found.best.notes[0] == "One seed: there are no intervals."


def test_a_run_that_is_not_compared_is_not_told_of(make_run):
    run = make_run("soft")
    run.write_diagnostics([Diagnosis("cka", 0.9, math.nan, math.nan, 60, weights="best", other="0123456789abcdef")])
    assert basin(collect([run]).panels[0]) is None


def test_pairs_share_seeds_and_their_interval_knows():
    """A mean of x_i + x_j over pairs is 2 x̄: the jackknife must give twice the standard error of the mean."""
    x = np.random.default_rng(0).normal(size=12)
    pairs = {(i, j): x[i] + x[j] for i in range(12) for j in range(i + 1, 12)}
    found = over_pairs(pairs).interval()
    assert found.mean == pytest.approx(2 * x.mean())
    t = 2.200985  # 97.5 % of Student's t with 11 degrees of freedom
    assert found.high - found.mean == pytest.approx(t * 2 * x.std(ddof=1) / np.sqrt(12), rel=1e-5)


def test_two_seeds_have_no_interval():
    found = over_pairs({(0, 1): 0.5}).interval()
    assert found.mean == 0.5
    assert math.isnan(found.low)


def test_every_number_is_in_a_file(looked):
    rows = list(csv.DictReader(io.StringIO(basin_csv(looked))))
    assert len(rows) == 8 * 6 + 2 * 2 * 6 + 4
    assert {row["method"] for row in rows} == set(SHARP)


def test_the_page_has_a_section_where_somebody_has_looked(looked, tmp_path):
    with_it = write_page(looked, tmp_path / "looked").read_text()
    assert '<section id="basin">' in with_it
    assert "λmax: 106.50 with sls and 241.50 with soft." in with_it
    assert "Between models of one seed" in with_it
    tables = tmp_path / "looked" / "tables"
    assert "sls – soft" in (tables / "basin.md").read_text()
    assert (tables / "basin.csv").exists()
