"""Every table and figure of the paper, end to end: from plans to a page, and again from the results alone."""

from __future__ import annotations

import filecmp
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from dissensus.base.errors import InputError
from dissensus.cli import main
from dissensus.diagnostics.similarity import linear_cka
from dissensus.experiment.papers import SMOKE_SEEDS, Cell, Evidence, Paper
from dissensus.experiment.reproduce import Reproduction, smoke
from dissensus.experiment.reproduce.compared import groups_of
from dissensus.experiment.reproduce.lines import lines_of
from dissensus.metrics import js_distance, soft_nll, softmax
from dissensus.records import RunStore, StoredRun, merge, pack

EVIDENCE = ("runs.csv", "numbers.csv.gz", "history.csv.gz", "curves.csv.gz")

SEEDS = list(range(SMOKE_SEEDS))
PAIRS = [(0, 1)]
BOTH = ("best", "last")


def run_of(repeated: Reproduction, method: str, votes: object = "all", seed: int = 0, protocol: str = "published"):
    return repeated.store.read(repeated.plans[Cell(protocol, method, votes, 1, seed)].name)


def test_every_run_of_the_paper_is_made(evidence: Evidence, paper: Paper) -> None:
    assert set(evidence.runs.values()) == {cell for cell in paper.cells() if cell.seed in SEEDS}
    assert {about["data"] for about in evidence.about.values()} == {"glyphs"}


def test_every_table_and_figure_is_there(smoked: Path, paper: Paper) -> None:
    page = (smoked / "index.html").read_text("utf-8")
    assert "smoke test" in page
    for place in paper.places:
        if place.startswith("figure"):
            assert (smoked / "figures" / f"{place}.png").stat().st_size > 1000, place
        elif place != "table5":  # held as one with table2
            assert (smoked / "tables" / f"{place}.csv").read_text("utf-8").count("\n") > 1, place
    assert "not run yet" not in page


def test_a_smoke_test_is_whole_and_compared_with_nothing(smoked: Path, evidence: Evidence, paper: Paper) -> None:
    assert not evidence.comparable(paper)
    page = " ".join((smoked / "index.html").read_text("utf-8").split())
    assert "<b>58</b> of 58 runs, published protocol" in page
    assert "<b>26</b> of 26 runs, audited protocol" in page
    assert "Not complete" not in page
    assert "not comparable with the published ones" in page
    for mark in ("not explained", "standard errors higher", 'class="differs"'):
        assert mark not in page, mark
    told = (smoked / "tables" / "differences.csv").read_text("utf-8")
    assert "not explained" not in told


@pytest.mark.parametrize("checkpoint", BOTH)
def test_what_each_experiment_looks_for_is_found(evidence: Evidence, paper: Paper, checkpoint: str) -> None:
    names = {
        "curvature": ["top_eigenvalue", "filter_normalised_top"],
        "trace": ["trace", "deflated_trace", "trace_times_norm"],
        "gradient_variance": ["gradient_variance", "gradient_variance_entropy", "gradient_variance_partial"],
        "dynamics": ["best_epoch", "epochs_to_95"],
        "ood": [],
    }
    for one in paper.experiments:
        for cell in one.cells():
            of = {key: getattr(cell, key) for key in ("protocol", "method", "votes", "hold", "reorder")}
            for diagnostic, slices in one.diagnostics.items():
                for name in names.get(diagnostic, []):
                    for part in slices:
                        found = evidence.numbers(name, **of, checkpoint=checkpoint, slice=part)
                        assert list(found) == SEEDS, (one.name, name, cell)
            assert list(evidence.numbers("soft_nll", **of, checkpoint=checkpoint, tempered=True)) == SEEDS


@pytest.mark.parametrize("checkpoint", BOTH)
@pytest.mark.parametrize("outside", ["streetview", "dtd", "cifar100"])
def test_outside_sets_under_the_names_of_those_that_were_used(
    evidence: Evidence, outside: str, checkpoint: str
) -> None:
    for method in ("soft", "multipass", "deterministic-control", "sls"):
        for score in ("energy", "msp", "odin", "entropy", "margin", "knn"):
            told = {"protocol": "published", "method": method, "checkpoint": checkpoint, "other": outside}
            assert list(evidence.numbers(f"{score}_auroc", **told)) == SEEDS


@pytest.mark.parametrize("checkpoint", BOTH)
def test_lines_begin_and_end_with_the_losses_of_their_models(evidence: Evidence, checkpoint: str) -> None:
    """Known from the predictions of the two runs, which know nothing of the line."""
    for first, second, other in (
        ("sls", "soft", "soft"),
        ("sls", "sls", "sls+reorder"),
        ("soft", "soft", "soft+reorder"),
    ):
        of = {"protocol": "published", "checkpoint": checkpoint}
        reorder = 500 if "+" in other else 0
        begin = evidence.numbers("soft_nll", method=first, **of)
        end = evidence.numbers("soft_nll", method=second, reorder=reorder, **of)
        stale = evidence.curves("barrier", method=first, other=other, **of)
        assert list(stale) == SEEDS
        for seed, curve in stale.items():
            assert curve.y[[0, -1]].tolist() == pytest.approx([begin[seed], end[seed]], rel=1e-4)
            assert curve.x[[0, -1]].tolist() == [0, 1]
        heights = evidence.numbers("barrier", method=first, other=other, **of)
        for seed, curve in stale.items():
            rise = (curve.y - np.interp(curve.x, [0, 1], curve.y[[0, -1]])).max()
            assert heights[seed] == pytest.approx(rise, abs=1e-5)
        assert list(evidence.numbers("barrier_reset", method=first, other=other, **of)) == SEEDS


def test_units_are_put_in_order_between_methods(evidence: Evidence) -> None:
    assert list(evidence.numbers("barrier_aligned", protocol="published", method="sls", other="soft")) == SEEDS


def test_no_weights_are_left(smoked: Path) -> None:
    assert list((smoked / "runs").rglob("*.safetensors")) == []


@pytest.mark.parametrize("checkpoint", BOTH)
def test_seeds_are_compared_by_what_their_runs_kept(
    evidence: Evidence, repeated: Reproduction, checkpoint: str
) -> None:
    a, b = (run_of(repeated, "soft", seed=seed).predictions for seed in (0, 1))
    assert a["best_features"].dtype == a["best_maps"].dtype == np.float16
    shared = sorted(set(a["ids"]) & set(b["ids"]))
    x, y = ([list(one["ids"]).index(item) for item in shared] for one in (a, b))
    told = evidence.pairs("cka", protocol="published", method="soft", checkpoint=checkpoint)
    assert list(told) == PAIRS
    features = a[f"{checkpoint}_features"][x].astype(float), b[f"{checkpoint}_features"][y].astype(float)
    assert told[0, 1] == pytest.approx(linear_cka(*features), rel=1e-6)
    for part in ("all", "disputed"):
        of = {"protocol": "published", "method": "soft", "checkpoint": checkpoint, "slice": part}
        assert list(evidence.pairs("cam_stability", **of)) == PAIRS


def test_gains_on_training_items_are_against_the_votes_that_were_given(
    evidence: Evidence, repeated: Reproduction
) -> None:
    """From the kept logits, the few votes and all votes: an independent road."""
    hard, soft = (run_of(repeated, method, votes=5).predictions for method in ("sls", "soft"))
    evaluated = set(hard["ids"])
    rest = [place for place, item in enumerate(repeated.data.votes.items) if str(item) not in evaluated]
    full = repeated.data.votes.take(rest).frequencies()
    gain = soft_nll(softmax(soft["best_train_logits"].astype(float)), full) - soft_nll(
        softmax(hard["best_train_logits"].astype(float)), full
    )
    of = {"protocol": "published", "method": "sls", "votes": 5, "other": "soft", "where": "training"}
    curve = evidence.curves("gain_by_js", **of)[0]
    assert gain.min() <= curve.y.min()
    assert curve.y.max() <= gain.max()
    assert list(curve.x) == sorted(curve.x)
    few = getattr(repeated.data.votes.take(rest), repeated.paper.protocols["published"].draw)(5, seed=0).frequencies()
    relation = spearmanr(js_distance(few, full).round(12), gain).statistic  # what is as far is a tie
    assert evidence.numbers("js_gain", **of)[0] == pytest.approx(relation, rel=1e-5)
    assert evidence.curves("gain_by_l1", **of | {"slice": "disputed", "where": "evaluation"})[0].x[-1] <= 2


def test_the_proposition_holds_for_every_run(evidence: Evidence, paper: Paper) -> None:
    found = [one.value for one in evidence.findings if one.name == "proposition1_deviation"]
    assert len(found) == 2 * len(evidence.runs)
    assert 0 < max(found) < 1e-12


def test_the_accuracy_by_the_sets_own_labels_is_told_too(evidence: Evidence) -> None:
    assert list(evidence.numbers("label_accuracy", protocol="published", method="sls")) == SEEDS


def test_audited_runs_select_on_items_of_their_own(evidence: Evidence, repeated: Reproduction) -> None:
    assert "select_nll" in evidence.history(protocol="audited", method="sls")[0]
    assert "select_nll" not in evidence.history(protocol="published", method="sls")[0]
    assert "seconds" not in evidence.history(protocol="published", method="sls")[0]
    assert len(run_of(repeated, "sls", protocol="audited").predictions["select_ids"]) > 0


def test_everything_is_rebuilt_from_the_results_alone(smoked: Path, tmp_path: Path) -> None:
    """In a process that has no torch; the page still says that it is a smoke test."""
    code = "import sys; sys.modules['torch'] = None; from dissensus.cli import main; main(sys.argv[1:])"
    words = ["reproduce", "basins", "--from", str(smoked), "--out", str(tmp_path / "again"), "--json"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verdicts"]["B13"]["published"] == "supported"
    again = tmp_path / "again"
    assert filecmp.cmp(smoked / "ledger.csv", again / "ledger.csv", shallow=False)
    pages = [re.sub(r"data:image[^\"]*", "", (at / "index.html").read_text("utf-8")) for at in (smoked, again)]
    assert pages[0] == pages[1]
    for table in (smoked / "tables").iterdir():
        assert filecmp.cmp(table, again / "tables" / table.name, shallow=False), table.name


def test_runs_go_from_machine_to_machine(repeated: Reproduction, smoked: Path, tmp_path: Path) -> None:
    """In archives, with all that was found and kept; merged twice, and nothing is lost or counted twice."""
    archives = pack(repeated.store, tmp_path / "packed")
    assert max(archive.size for archive in archives) <= 15 * 2**20
    other = RunStore(tmp_path / "runs")
    for _ in range(2):
        merged = merge(other, [tmp_path / "packed"])
        assert merged.problems == merged.other == []
    there = replace(repeated, store=other)
    assert there.standing(there.plans).left == []
    there.collect().write(tmp_path / "results")
    for name in EVIDENCE:
        assert filecmp.cmp(smoked / name, tmp_path / "results" / name, shallow=False), name


def test_models_that_are_gone_are_made_again(repeated: Reproduction, evidence: Evidence, tmp_path: Path) -> None:
    """One run of a seed is missing on a machine without the weights of the others: all its lines are drawn anew."""
    shutil.copytree(repeated.store.path, tmp_path / "runs")
    here = replace(repeated, store=RunStore(tmp_path / "runs"))
    soft, sls = Cell("published", "soft", "all", 1, 0), Cell("published", "sls", "all", 1, 0)
    controls = [replace(cell, reorder=500) for cell in (soft, sls)]
    here.store.remove(here.plans[soft].name)
    now = here.standing(here.wanted(["barrier"], seeds={0}))
    assert set(now.again) == {sls, *controls}
    assert set(now.left) == {soft, sls, *controls}
    said: list[str] = []
    outcome = here.carry_out(now, jobs=1, say=said.append)
    assert len(outcome.done) == 4
    assert not outcome.failed
    assert sum("its weights are gone" in line for line in said) == 3
    assert here.standing(here.plans).left == []
    assert not list((tmp_path / "runs").rglob("*.safetensors"))
    told = here.collect().numbers("barrier", protocol="published", method="sls", other="soft")
    assert told == pytest.approx(
        evidence.numbers("barrier", protocol="published", method="sls", other="soft"), abs=1e-5
    )


def test_a_line_that_both_its_ends_drew_is_told_once(repeated: Reproduction, smoked: Path, tmp_path: Path) -> None:
    """Two processes looked into their models at the same time."""
    shutil.copytree(repeated.store.path, tmp_path / "runs")
    here = replace(repeated, store=RunStore(tmp_path / "runs"))
    ends = [here.store.read(here.plans[cell].name) for cell in lines_of(here.plans, here.paper)[0].ends]
    for run, other in (ends, ends[::-1]):
        drawn = [one for one in run.diagnostics() if one.other == other.name]
        if drawn and not any(one.other == run.name for one in other.diagnostics()):  # as may have happened by itself
            twin = StoredRun(other.name, other.path)
            twin.write_diagnostics([*twin.diagnostics(), *(replace(one, other=run.name) for one in drawn)])
            names = [f"{one.weights}_{one.name}" for one in drawn]
            turned = {f"{name}_{run.name}": run.predictions[f"{name}_{other.name}"][::-1] for name in names}
            np.savez_compressed(other.path / "predictions.npz", **twin.predictions, **turned)
            break
    here.collect().write(tmp_path / "results")
    for name in EVIDENCE:
        assert filecmp.cmp(smoked / name, tmp_path / "results" / name, shallow=False), name


def test_a_run_that_lacks_what_should_have_been_found_is_made_again(repeated: Reproduction, tmp_path: Path) -> None:
    shutil.copytree(repeated.store.path, tmp_path / "runs")
    here = replace(repeated, store=RunStore(tmp_path / "runs"))
    few = Cell("published", "sls", 5, 1, 0)
    (here.store.path / here.plans[few].name / "diagnostics.csv").unlink()
    now = here.standing(here.plans)
    assert now.again == {few: "it was made without curvature of all items, curvature of disputed items"}
    assert now.left == [few]


def test_what_is_done_is_done(smoked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "basins", "--smoke", "--out", str(smoked), "--plan", "--json"])
    assert ended.value.code == 0
    told = json.loads(capsys.readouterr().out)
    assert told["left"] == told["again"] == told["seconds_left"] == 0
    assert told["runs"] == told["done"] == 42 * SMOKE_SEEDS
    assert {one["experiment"] for one in told["experiments"]} >= {"sweep", "barrier-control", "audited-sweep"}


def test_results_stay_where_their_runs_are_gone(
    repeated: Reproduction, evidence: Evidence, smoked: Path, tmp_path: Path
) -> None:
    """Runs were made here and there, and the stores are not kept: what results tell of is done."""
    elsewhere = replace(repeated, store=RunStore(tmp_path / "runs"), before=evidence)
    now = elsewhere.standing(elsewhere.plans)
    assert not now.left
    assert now.recorded == now.done == set(elsewhere.plans)
    assert elsewhere.carry_out(now, jobs=1).done == ()
    elsewhere.collect().write(tmp_path / "results")
    for name in EVIDENCE:
        assert filecmp.cmp(smoked / name, tmp_path / "results" / name, shallow=False), name


def test_results_are_added_to(repeated: Reproduction, evidence: Evidence, smoked: Path, tmp_path: Path) -> None:
    """A store has the runs of one seed, and one of another: numbers of two runs are there, whoever has them."""
    cells = [cell for cell in repeated.plans if cell.seed == 0 or cell == Cell("published", "soft", "all", 1, 1)]
    pack(repeated.store, tmp_path / "packed", names=[repeated.plans[cell].name for cell in cells])
    few = RunStore(tmp_path / "runs")
    merge(few, [tmp_path / "packed"])
    here = replace(repeated, store=few, before=evidence)
    assert not here.standing(here.plans).left
    here.collect().write(tmp_path / "results")
    for name in EVIDENCE:
        assert filecmp.cmp(smoked / name, tmp_path / "results" / name, shallow=False), name
    alone = replace(here, before=Evidence({}))
    assert len(alone.collect().runs) == len(cells)


def test_a_session_makes_what_others_have_not(repeated: Reproduction, smoked: Path, tmp_path: Path) -> None:
    """A fresh machine a seed, and archives that come home: each run is made once, and nothing is missing in the end."""
    home, told = replace(repeated, store=RunStore(tmp_path / "home")), Evidence({})
    for seed in SEEDS:
        machine = replace(repeated, store=RunStore(tmp_path / f"machine{seed}"), before=told, to_merge=True)
        left = machine.standing(machine.plans).left
        assert set(left) == {cell for cell in machine.plans if cell.seed >= seed}
        pack(
            repeated.store, tmp_path / f"packed{seed}", [machine.plans[cell].name for cell in left if cell.seed == seed]
        )
        assert merge(home.store, [tmp_path / f"packed{seed}"], replace=True).replaced == []
        told = replace(home, before=told).collect()
    assert not replace(home, before=told).standing(home.plans).left
    told.write(tmp_path / "results")
    for name in EVIDENCE:
        assert filecmp.cmp(smoked / name, tmp_path / "results" / name, shallow=False), name


def test_models_that_were_made_again_come_home_with_their_lines(repeated: Reproduction, tmp_path: Path) -> None:
    """A session ended between the runs of a seed; the next one has made all of them, and drawn their lines."""
    here = replace(repeated, store=RunStore(tmp_path / "home"))
    cells = here.wanted(["barrier"], seeds={0})
    names = {here.plans[cell].name for cell in cells}
    pack(repeated.store, tmp_path / "packed", sorted(names))
    merge(here.store, [tmp_path / "packed"])
    for name in names:
        run = here.store.read(name)
        arrays = {key: array for key, array in run.predictions.items() if "barrier" not in key}
        np.savez_compressed(run.path / "predictions.npz", **arrays)
        run.write_diagnostics([one for one in run.diagnostics() if one.other not in names])
    assert set(here.standing(cells).left) == set(cells)
    merge(here.store, [tmp_path / "packed"])
    assert here.standing(cells).left
    merge(here.store, [tmp_path / "packed"], replace=True)
    assert not here.standing(cells).left


def test_what_has_to_be_compared_is_what_was(repeated: Reproduction, evidence: Evidence) -> None:
    """All pairs of a group have its number, and no other two runs have it."""
    groups = groups_of(repeated.plans, repeated.looks, repeated.comparable)
    due = {
        (group.number, group.where, repeated.plans[one].name, repeated.plans[other].name)
        for group in groups
        for one, other in group.pairs
    }
    numbers = {(group.number, group.where) for group in groups}
    found = {(one.name, one.where, one.run, one.other) for run in evidence.runs for one in evidence.of(run)}
    assert {number for number, _ in numbers} == {"cka", "cam_stability", "js_gain"}
    assert due == {one for one in found if one[:2] in numbers}


def test_runs_that_were_never_compared_are_made_again(
    repeated: Reproduction, evidence: Evidence, tmp_path: Path
) -> None:
    """Two seeds were made in two stores, which are gone: nobody has the features of both."""
    plans = repeated.plans
    compared = {cell for cell in plans if "cka" in repeated.paper.diagnostics_of(cell)}
    seeds = [evidence.only({plans[cell].name for cell in plans if cell.seed == seed}) for seed in (0, 1)]
    here = replace(repeated, store=RunStore(tmp_path / "runs"), before=seeds[0].joined(seeds[1]))
    now = here.standing(plans)
    controls = {replace(cell, reorder=500) for cell in compared if cell.protocol == "published"}
    assert set(now.left) == set(now.again) == compared | controls  # a model that is made again has new lines
    told = set(now.again.values())
    assert "what it kept is gone, and a run that it has to be compared with needs it" in told
    assert not now.spent

    alone = replace(here, before=seeds[0]).standing(plans)
    waiting = {cell for cell in compared | controls if cell.seed == 0}  # for the other seed, and lines for those
    assert alone.spent == waiting
    assert not alone.again
    soft = Cell("published", "soft", "all", 1, 0)  # in the store, without its weights
    shutil.copytree(repeated.store.path / plans[soft].name, tmp_path / "some" / plans[soft].name)
    some = replace(here, store=RunStore(tmp_path / "some"), before=seeds[0]).standing(plans)
    assert soft in some.spent - some.recorded
    assert replace(here, before=evidence).standing(plans).left == []
    assert replace(here, store=repeated.store).standing(plans).left == []  # both are here, and can be compared

    kept = replace(here, to_merge=True).standing(plans)  # another store has them
    assert (kept.left, kept.again, kept.spent) == ([], {}, frozenset())
    half = replace(here, before=seeds[0], to_merge=True).standing(plans)
    assert not half.spent
    assert len(half.left) == len(plans) / 2


def test_as_many_runs_are_made_again_as_was_said(repeated: Reproduction, evidence: Evidence, tmp_path: Path) -> None:
    plans = repeated.plans
    seeds = [evidence.only({plans[cell].name for cell in plans if cell.seed == seed}) for seed in (0, 1)]
    store = RunStore(tmp_path / "runs")
    said = replace(repeated, store=store, before=seeds[0]).standing(plans).spent
    second = replace(repeated, store=store, before=seeds[0].joined(seeds[1])).standing(plans)
    assert {cell for cell in second.again if cell.seed == 0} == said  # had the second been made


def test_a_set_of_images_that_is_not_there_is_told_before_any_training(
    repeated: Reproduction, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISSENSUS_DATA", str(tmp_path))
    real = replace(repeated.setting, effort=replace(repeated.setting.effort, made_up=False))
    here = replace(repeated, setting=real, store=RunStore(tmp_path / "runs"))
    looked = [cell for cell in here.plans if repeated.paper.outside_of(cell)]
    with pytest.raises(InputError, match=r"1 run would be looked into with images of \w+, but .* as ood/\w+\.npz"):
        here.carry_out(here.standing(looked[:1]))
    assert not here.store.names()
    assert here.carry_out(here.standing([Cell("audited", "soft", 5, 1, 0)]), jobs=1).done  # it has none to look at

    run = repeated.store.read(here.plans[looked[0]].name)  # made, but without the scores on these images
    shutil.copytree(run.path, here.store.path / run.name)
    kept = here.store.read(run.name)
    kept.write_diagnostics([one for one in kept.diagnostics() if not one.name.endswith("_auroc")])
    with pytest.raises(InputError, match="would be looked into with images of"):
        here.carry_out(here.standing(looked[:1]))
    assert run.name in here.store


def test_a_hard_delivery_that_was_never_compared_with_soft_labels_is_made_again(
    repeated: Reproduction, evidence: Evidence, tmp_path: Path
) -> None:
    soft, sls = (Cell("audited", method, 5, 1, 0) for method in ("soft", "sls"))
    names = {repeated.plans[soft].name, repeated.plans[sls].name}
    found = [one for one in evidence.findings if {one.run, one.other} != names]
    before = Evidence(evidence.runs, evidence.about, found, evidence.histories, evidence.lines)
    here = replace(repeated, store=RunStore(tmp_path / "runs"), before=before)
    others = replace(soft, method="multipass")  # compared with the soft labels that are made again
    assert set(here.standing(here.plans).left) == {soft, sls, others}


def test_runs_that_are_compared_come_first(repeated: Reproduction) -> None:
    order = repeated.wanted()
    inside = [{"cka", "barrier"} & repeated.paper.diagnostics_of(cell).keys() for cell in order]
    last = max(place for place, one in enumerate(inside) if one)
    assert all(inside[: last + 1])
    assert [cell.seed for cell in order[:8]] == [0] * 4 + [1] * 4
    assert [cell.seed for cell in order[last + 1 :]] == sorted(cell.seed for cell in order[last + 1 :])


def test_results_of_a_run_without_all_its_numbers_do_not_count(
    repeated: Reproduction, evidence: Evidence, tmp_path: Path
) -> None:
    few, soft = Cell("published", "sls", 5, 1, 0), Cell("published", "soft", "all", 1, 0)
    names = {repeated.plans[few].name: "top_eigenvalue", repeated.plans[soft].name: "barrier"}
    found = [one for one in evidence.findings if one.name != names.get(one.run) and one.name != names.get(one.other)]
    before = Evidence(evidence.runs, evidence.about, found, evidence.histories, evidence.lines)
    now = replace(repeated, store=RunStore(tmp_path / "runs"), before=before).standing(repeated.plans)
    assert now.again[few] == "it was made without curvature of all items, curvature of disputed items"
    methods = ("soft", "sls", "multipass", "deterministic-control")
    compared = {replace(few, method=method) for method in methods}  # with the soft labels of these few votes
    ends = {replace(soft, method=method, reorder=reorder) for method in methods[:2] for reorder in (0, 500)}
    assert ends | compared <= set(now.left)  # a line needs both its models, which are gone
    assert set(now.left) == compared | ends | {replace(end, seed=1) for end in ends}  # and seeds are compared


def test_a_run_that_only_results_tell_of_can_be_made_again(
    repeated: Reproduction, evidence: Evidence, tmp_path: Path
) -> None:
    few = Cell("published", "sls", 5, 1, 0)
    found = [one for one in evidence.findings if (one.run, one.name) != (repeated.plans[few].name, "top_eigenvalue")]
    before = Evidence(evidence.runs, evidence.about, found, evidence.histories, evidence.lines)
    here = replace(repeated, store=RunStore(tmp_path / "runs"), before=before)
    now = here.standing([few])
    assert set(now.again) == {few}
    assert here.carry_out(now, jobs=1).done == (here.plans[few].name,)
    assert not here.standing([few]).left


def test_what_results_say_of_a_model_that_was_made_again_is_no_longer_true(
    repeated: Reproduction, evidence: Evidence, tmp_path: Path
) -> None:
    """One end of a line is made anew, and the call ends before results are written: the next one draws the line."""
    soft, sls = Cell("published", "soft", "all", 1, 0), Cell("published", "sls", "all", 1, 0)
    pack(repeated.store, tmp_path / "packed", names=[repeated.plans[sls].name])
    store = RunStore(tmp_path / "runs")
    merge(store, [tmp_path / "packed"])
    here = replace(repeated, store=store, before=evidence)
    assert not here.standing(here.plans).left
    about = store.path / here.plans[sls].name / "about.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"seconds": 12345.0}))
    assert {soft, sls} <= set(here.standing(here.plans).left)
    assert 0 not in here.collect().numbers("barrier", protocol="published", method="sls", other="soft")


def test_where_there_is_no_commit_pairs_stay(repeated: Reproduction, evidence: Evidence, tmp_path: Path) -> None:
    """Outside a checkout a run does not know its commit, and files have nothing in its place."""
    pack(repeated.store, tmp_path / "packed", names=[repeated.plans[Cell("published", "soft", "all", 1, 0)].name])
    store = RunStore(tmp_path / "runs")
    merge(store, [tmp_path / "packed"])
    (run,) = store.names()
    path = store.path / run / "about.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"commit": None}))
    about = {name: dict(told) for name, told in evidence.about.items()}
    about[run].pop("commit", None)
    before = Evidence(evidence.runs, about, evidence.findings, evidence.histories, evidence.lines)
    told = replace(repeated, store=store, before=before).collect()
    same = {"protocol": "published", "method": "soft"}
    assert told.pairs("cka", **same) == evidence.pairs("cka", **same) != {}


@pytest.mark.parametrize(
    ("name", "where"), [("gradient_variance", "evaluation"), ("js_gain", "training"), ("top_eigenvalue", "evaluation")]
)
def test_results_without_any_of_a_kind_of_numbers_are_not_whole(
    repeated: Reproduction, evidence: Evidence, tmp_path: Path, name: str, where: str
) -> None:
    """At the best epoch: what the last one has is beside it, and does not stand in for it."""
    found = [one for one in evidence.findings if (one.name, one.where, one.checkpoint) != (name, where, "best")]
    assert len(found) < len(evidence.findings)
    if where == "training":
        found = [one for one in found if (one.name, one.where) != (name, where)]
    before = Evidence(evidence.runs, evidence.about, found, evidence.histories, evidence.lines)
    here = replace(repeated, store=RunStore(tmp_path / "runs"), before=before)
    assert here.standing(here.plans).left


def test_results_that_are_planned_otherwise_by_now_are_left_out(repeated: Reproduction, evidence: Evidence) -> None:
    replanned = Evidence({f"x{run}": cell for run, cell in evidence.runs.items()})
    here = replace(repeated, before=replanned)
    assert not here.recorded().runs
    assert here.stale == len(evidence.runs)
    assert here.collect().runs == evidence.runs
    assert repeated.stale == 0


def test_results_of_another_paper_are_refused(smoked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "soft-labels", "--from", str(smoked), "--out", str(tmp_path)])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "holds no results of soft-labels: its runs are of the protocol" in said
    assert not list(tmp_path.iterdir())


def test_the_setting_is_small() -> None:
    assert smoke().effort.made_up
    assert smoke().source.name == "glyphs"
