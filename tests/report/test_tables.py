"""Tables: the numbers of the comparison, marked only where a verdict supports it."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import softmax

from dissensus import stats
from dissensus.metrics import METRICS, Estimate, Metric
from dissensus.report import Measure, collect, summary, to_json, write_page
from dissensus.report.comparison import HEADLINE
from dissensus.report.tables import (
    heading,
    interval_cell,
    methods_table,
    number,
    others_table,
    scores_csv,
    seeds_csv,
    to_markdown,
    verdicts_csv,
    verdicts_table,
)


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def cell(table, row: str, column: str):
    found = next(r for r in table.rows if r.name == row)
    return found.cells[[h.rstrip(" ↓↑") for h in table.head].index(column) - 1]


def test_methods_and_metrics(comparison):
    (panel,) = comparison.panels
    table = methods_table(comparison, panel)
    names = [row.name for row in table.rows]
    assert names[:4] == ["soft", "sls", "multipass", "majority"]
    assert names[4:8] == [f"{method} + temperature" for method in names[:4]]
    assert names[8:] == ["human ceiling", "noise floor", "class shares"]
    values = panel.scores[Measure("soft_brier", tempered=True)]["sls"]
    assert cell(table, "sls + temperature", "soft Brier").text == f"{values.mean():.3f}"
    assert cell(table, "human ceiling", "KL").text == f"{comparison.ceilings['kl'].mean:.3f}"
    assert cell(table, "class shares", "KL").text == f"{comparison.class_shares['kl'].mean:.3f}"
    assert cell(table, "class shares", "EntCorr").text == "–"
    assert {"KL ↓", "EntCorr ↑", "accuracy ↑"} <= set(table.head)


def test_best_is_marked_only_where_a_verdict_supports_it(comparison):
    (panel,) = comparison.panels
    table = methods_table(comparison, panel)
    assert [cell(table, method, "KL").best for method in panel.methods] == [True, True, True, False]
    # soft Brier differs as much, but no rule judges it
    assert not any(cell(table, method, "soft Brier").best for method in panel.methods)


@pytest.mark.parametrize(("far", "near"), [(1.9, True), (2.1, False)])
def test_methods_within_two_spreads_of_the_noise_floor_are_not_ranked(comparison, far, near):
    """Of the two lowest, one lies on the floor and the other so far from it; one method alone is not ranked anyway."""
    (panel,) = comparison.panels
    low, high = sorted((interval.mean, method) for method, interval in panel.intervals[Measure("ece")].items())[:2]
    floors = {**comparison.floors, "ece": Estimate(low[0], (high[0] - low[0]) / far)}
    notes = methods_table(replace(comparison, floors=floors), panel).notes
    (said,) = [note for note in notes if note.startswith("ECE cannot rank")] or [""]
    assert [method in said for _, method in (low, high)] == [near, near]


def test_against_the_truth(comparison):
    (panel,) = comparison.panels
    table = methods_table(comparison, panel, against="truth")
    values = panel.scores[Measure("kl", against="truth")]["soft"]
    assert cell(table, "soft", "KL").text == f"{values.mean():.3f}"
    assert not any(row.kind == "reference" for row in table.rows)


def test_verdicts_name_their_tests(comparison):
    table = verdicts_table(comparison.panels[0])
    assert len(table.rows) == 3 * 6
    assert any("two-sided exact Wilcoxon" in note and "Holm" in note for note in table.notes)
    assert "and the mean difference is on the side of the ranks" in table.notes[-1]
    verdict = comparison.panels[0].judgements[0].verdicts[2]
    assert [c.text for c in table.rows[2].cells] == [
        "soft − majority",
        number(verdict.difference.mean, 4),
        f"{verdict.p_differ:.3f}",
        "1",
        "soft is better",
    ]


def test_files_hold_every_number_in_full(comparison):
    (panel,) = comparison.panels
    rows = read(seeds_csv(comparison))
    assert {row["metric"] for row in rows} == {name for name, metric in METRICS.items() if not metric.ordered_only}
    chosen = [
        float(row["value"])
        for row in rows
        if (row["method"], row["metric"], row["checkpoint"], row["tempered"], row["against"])
        == ("sls", "kl", "last", "1", "human")
    ]
    assert chosen == panel.scores[Measure("kl", tempered=True, checkpoint="last")]["sls"].tolist()
    means = {
        (r["method"], r["metric"], r["checkpoint"], r["tempered"], r["against"]): r
        for r in read(scores_csv(comparison))
    }
    row = means["sls", "kl", "last", "1", "human"]
    assert float(row["mean"]) == pytest.approx(np.mean(chosen), abs=1e-15)
    assert float(row["low"]) < float(row["mean"]) < float(row["high"])
    assert row["seeds"] == "8"


def test_every_verdict_is_in_the_file(comparison):
    rows = read(verdicts_csv(comparison))
    assert len(rows) == 2 * 3 * 6
    verdict = comparison.panels[0].judgements[0].verdicts[0]
    assert (rows[0]["first"], rows[0]["second"], float(rows[0]["p_differ"])) == ("soft", "sls", verdict.p_differ)


def test_json_is_strict(make_run):
    def diverged(predictions):
        predictions["best_logits"][:] = np.nan

    found = collect([make_run("soft"), make_run("sls", edit=diverged)])

    def refuse(text):
        raise AssertionError(text)

    content = json.loads(to_json(found), parse_constant=refuse)
    scores = {
        (s["method"], s["metric"], s["checkpoint"], s["tempered"], s["against"]): s
        for s in content["panels"][0]["scores"]
    }
    assert scores["sls", "kl", "best", False, "human"]["mean"] is None
    assert (
        scores["soft", "kl", "best", False, "human"]["values"] == found.panels[0].scores[Measure("kl")]["soft"].tolist()
    )
    assert content["sentences"] == list(found.sentences)
    assert methods_table(found, found.panels[0]).rows[1].cells[0].text == "–"


def test_markdown(comparison):
    text = to_markdown(methods_table(comparison, comparison.panels[0]))
    lines = text.splitlines()
    assert lines[0] == "## Methods at the best epoch"
    assert lines[4].startswith("| soft | **0.1")
    assert all(line.count("|") == lines[2].count("|") for line in lines[2:14])
    assert "- Bold: beats another method" in text


def test_markdown_escapes_names(make_run):
    found = collect([make_run("a|b<script>")])
    assert "| a\\|b&lt;script> |" in to_markdown(methods_table(found, found.panels[0]))


def test_summary_fits_a_terminal(comparison):
    (table,) = summary(comparison)
    assert table.title == "pets, all votes, best epoch"
    assert table.head == ("method", "KL ↓", "KL + temperature ↓", "EntCorr ↑", "accuracy ↑")
    assert all(len(row.cells) == len(table.head) - 1 for row in table.rows)
    assert re.fullmatch(r"0\.1\d\d\* \[\.\d{3}, \.\d{3}\]", str(table.rows[0].cells[0]))


def test_one_seed_has_no_intervals(make_run):
    found = collect([make_run("soft"), make_run("sls")])
    table = methods_table(found, found.panels[0])
    assert all(not c.detail for row in table.rows if row.kind != "reference" for c in row.cells)
    assert table.notes[0] == "One seed: there are no intervals, and nothing can be tested."
    assert verdicts_table(found.panels[0]).rows == ()


@pytest.mark.parametrize(("seeds", "kind"), [(4, "Student's t"), (5, "bootstrap")])
def test_intervals_are_called_what_they_are(make_run, seeds, kind):
    (panel,) = (found := collect(make_run(method, seed) for method in ("soft", "sls") for seed in range(seeds))).panels
    assert methods_table(found, panel).notes[0] == f"Means over {seeds} paired seeds, with 95 % {kind} intervals."
    assert verdicts_table(panel).notes[0].endswith(f"mean over seeds, with a 95 % {kind} interval.")


def test_it_is_said_what_accuracy_is_against_and_what_stands_beside_the_scores(comparison):
    notes = " ".join(methods_table(comparison, comparison.panels[0]).notes)
    assert (
        "Accuracy and ECE are against the most frequent vote. Several classes have most votes on 3 % of the evaluation "
        "items: right is the data's own label if it is one of them"
    ) in notes
    own = replace(comparison, source={"votes": "labels.csv", "inputs": "x.npy"})  # a votes file has no other label
    told = " ".join(methods_table(own, own.panels[0]).notes)
    assert (
        "evaluation items: right is the first of them in the order of the classes (cat, dog, owl, fox), while" in told
    )
    assert "few votes make the floor look lower than it is" in notes
    assert "± of ceiling and floor: the spread over draws of one seed; of class shares: the standard error." in notes


def hellinger(probs, human):
    return np.sqrt(((np.sqrt(probs) - np.sqrt(human)) ** 2).sum(1) / 2)


def test_a_metric_of_ones_own_is_on_the_page_and_can_be_judged(make_run, outline_of, tmp_path, monkeypatch):
    """Listed in METRICS, whatever runs were scored with before."""
    runs = [make_run(method, seed) for method in ("soft", "majority") for seed in range(6)]
    assert others_table(collect(runs).panels[0]).rows[-1].name == "AURC ↓"
    monkeypatch.setitem(
        METRICS, "hellinger", Metric("hellinger", "Hellinger", hellinger, "human", False, per_item=True)
    )
    found = collect(runs)
    (panel,) = found.panels
    rows = {row.name: row.cells for row in others_table(panel).rows}
    assert set(rows) == {heading(metric) for metric in METRICS if metric not in (*HEADLINE, "wasserstein")}
    own = panel.interval(Measure("hellinger"), "soft")
    counts, logits = (np.concatenate([r.predictions[k] for r in runs[:6]]) for k in ("counts", "best_logits"))
    direct = hellinger(softmax(logits.astype(np.float64), axis=1), counts / counts.sum(1, keepdims=True)).mean()
    assert own.mean == pytest.approx(direct)
    assert rows["Hellinger ↓"][0] == interval_cell(own)
    text = outline_of(write_page(found, tmp_path).read_text("utf-8")).text
    assert "All other metrics metric soft majority total variation ↓" in text
    assert f"Hellinger ↓ {own.mean:.3f} [{own.low:.3f}, {own.high:.3f}]" in text
    told = (tmp_path / "tables" / "methods.md").read_text()
    assert told.count("| Hellinger ↓ |") == 2  # at the best epoch, and at the last
    assert "## Other metrics at the last epoch" in told
    (verdict,) = stats.judge(panel.scores[Measure("hellinger")], margin=0.01)  # as CONTRIBUTING says
    assert verdict.winner == "soft"
