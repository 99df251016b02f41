"""A paper on several data sets and with several models: one store, results that add up, yardsticks, and the command."""

from __future__ import annotations

import csv
import filecmp
import json
import shlex
import shutil
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.cli import main
from dissensus.cli.reproduce import _make as made
from dissensus.datasets import DATASETS, Dataset, Texts
from dissensus.experiment.events import Event
from dissensus.experiment.papers import SMOKE_SEEDS, Cell, Evidence, read_paper
from dissensus.experiment.reproduce import Several, opened, protocols_like
from dissensus.experiment.reproduce.several import TRIED
from dissensus.experiment.reproduce.yardsticks import entropy_gaps, yardsticks
from dissensus.experiment.signals import Terminated
from dissensus.experiment.studies import STUDIES, Given, carry_out
from dissensus.experiment.studies import together as studies_together
from dissensus.experiment.studies.score import Score
from dissensus.experiment.studies.study import OneSeed
from dissensus.experiment.studies.together import Whole
from dissensus.experiment.studies.trial import Making
from dissensus.metrics import METRICS, ceiling, entropy
from dissensus.records import RunStore
from dissensus.votes import Votes

PAPER = read_paper("soft-labels")
SMALL, SWEPT = TRIED


def command(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["reproduce", "soft-labels", *words])
    return int(ended.value.code or 0)


@pytest.fixture(scope="module")
def smoked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("smoke") / "soft-labels"
    assert command("--smoke", "--out", str(folder), "-j", "1", "--quiet") == 0
    return folder


@pytest.fixture(scope="module")
def here(smoked: Path) -> Several:
    found = opened(PAPER, RunStore(smoked / "runs"), small=True)
    assert isinstance(found, Several)
    return found


def test_every_training_is_a_run_of_its_own(here: Several) -> None:
    assert len({plan.name for plan in here.plans.values()}) == len(here.plans) == 2 * (5 + 23)
    assert all(plan.name in here.store for plan in here.plans.values())
    assert here.standing(here.wanted()).left == []
    assert {cell: run.name for cell, run in here.runs().items()} == {
        cell: plan.name for cell, plan in here.plans.items()
    }


def test_all_votes_of_a_protocol_may_be_few(here: Several) -> None:
    assert here.plans[Cell(SMALL, "soft", "all", 1, 0)].votes == 5
    assert here.plans[Cell(SWEPT, "soft", "all", 1, 0)].votes == "all"
    assert here.plans[Cell(SWEPT, "soft", 2, 1, 0)].votes == 2
    found = here.collect()
    told = {cell: found.about[run].get("given") for run, cell in found.runs.items()}
    assert {cell.protocol for cell, given in told.items() if given == 5} == {SMALL}
    assert set(told.values()) == {None, 5}


def test_tables_and_experiments_choose_trainings(here: Several) -> None:
    assert {cell.protocol for cell in here.wanted(["votes"])} == {SWEPT}
    assert len(here.wanted(["figure1"], seeds={0})) == 10
    with pytest.raises(InputError, match="unknown table, figure or experiment 'figure11'"):
        here.wanted(["figure11"])


def test_progress_names_the_data_set_and_model_of_a_run(here: Several) -> None:
    heard: list[Event] = []
    here.carry_out(here.standing(here.wanted()), progress=heard.append)
    assert {event.run: event.protocol for event in heard} == {
        plan.name: cell.protocol for cell, plan in here.plans.items()
    }


def test_protocols_by_data_set_and_by_model() -> None:
    assert protocols_like(PAPER, None) == list(PAPER.protocols)
    assert protocols_like(PAPER, "cifar10h") == ["cifar10h-resnet18", "cifar10h-small-cnn"]
    with pytest.raises(InputError, match="unknown protocol 'hs-brexitt'"):
        protocols_like(PAPER, "hs-brexitt")


def test_the_page_has_every_part(smoked: Path) -> None:
    page = (smoked / "index.html").read_text("utf-8")
    for word in ("smoke test", "figure1.png", "figure2.png", f"table1-{SWEPT}", "human ceiling", "class shares"):
        assert word in page, word
    assert "<b>56</b> of 56 runs, 2 data sets and models" in page
    rows = list(csv.DictReader((smoked / "tables" / f"table1-{SMALL}.csv").read_text("utf-8").splitlines()))
    assert sum(row["kind"] == "method" for row in rows) == 5 * 3 * 8
    people = {row["method"]: float(row["mean"]) for row in rows if (row["kind"], row["metric"]) == ("yardstick", "kl")}
    assert 0 < people["human ceiling"] < people["class shares"] < people["uniform"]
    frequent = [row["metric"] for row in rows if row["method"] == "most frequent class"]
    assert frequent == ["accuracy"]


def test_everything_is_rebuilt_from_results_alone(smoked: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    assert command("--from", str(smoked), "--out", str(again), "--quiet") == 0
    for name in ("ledger.csv", "index.html"):
        assert filecmp.cmp(smoked / name, again / name, shallow=False), name


def test_the_terminal_tells_undecided_from_nothing_planned(
    smoked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command("--from", str(smoked), "--out", str(tmp_path)) == 0
    told, stages = capsys.readouterr()
    assert stages.splitlines() == ["Reading the results ...", "Judging ...", "Drawing the page ..."]
    signs = {words[0]: words[1:] for line in told.splitlines() if (words := line.split())}
    assert signs[SMALL][-3:] == ["–", "–", "–"]  # A4 to A6
    assert set(signs[SWEPT]) == {"…"}  # two seeds are too few for every rule
    assert "? undecided, … not enough runs, – not planned" in told
    assert command("--from", str(smoked), "--out", str(tmp_path), "--json") == 0
    verdicts = json.loads(capsys.readouterr().out)["verdicts"]
    assert (verdicts["A4"][SMALL], verdicts["S1"][SMALL]) == ("not planned", "too few runs")
    assert verdicts["S1"]["hs-brexit-fine-tuned"] == "not run"


def test_what_the_runs_say_of_a_study_is_read_with_them(smoked: Path, tmp_path: Path) -> None:
    found = STUDIES["coverage"].read(smoked / "studies")
    assert found is not None
    assert {row.method for row in found.scores} == {"majority", "soft", "sls", "multipass", "label-smoothing"}
    assert {row.data for row in found.scores} == {"glyphs"}
    made = found.made["made"][0]["command"]
    assert made == f"dissensus reproduce soft-labels --smoke --out {smoked} -j 1 --quiet"
    assert '<section id="coverage">' in (smoked / "index.html").read_text("utf-8")


def test_a_study_is_judged_again_from_results_alone(
    smoked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = shutil.copytree(smoked / "studies", tmp_path / "studies")
    (kept / "coverage.csv").unlink()
    assert command("--from", str(tmp_path), "--only", "coverage") == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "Are the surest answers of a model safer with soft labels? 2 seeds" in told
    assert "By the rule:" in told
    assert filecmp.cmp(kept / "coverage.csv", smoked / "studies" / "coverage.csv", shallow=False)
    assert command("--from", str(tmp_path), "--only", "coverage", "--json") == 0
    assert json.loads(capsys.readouterr().out)["studies"]["coverage"]["seeds"] == 2


def test_results_that_are_studies_alone_are_judged_by_name(
    smoked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(smoked / "studies", tmp_path / "studies")
    assert command("--from", str(tmp_path)) == 2
    told = "holds studies, but no results of runs; name studies: --only coverage"
    assert told in " ".join(capsys.readouterr().err.split())
    assert command("--from", str(tmp_path), "--only", "transfer") == 0
    assert "There are no scores of transfer yet." in capsys.readouterr().out


def test_a_study_of_runs_that_are_not_there_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--smoke", "--only", "coverage", "--seeds", "0", "--out", str(tmp_path), "--store", str(tmp_path / "none"))
    assert command(*words) == 0
    told = capsys.readouterr()
    assert "coverage: seed 0 has no runs here to be read from, 0 left" in told.err
    assert "There are no scores of coverage yet." in told.out


def one_row(seed: int) -> list[Making]:
    """Of a study that has nothing to train."""
    row = Score("mine", "c", "soft", seed, "all", "best", False, 9, {"kl": 0.5})
    return [Making((), lambda said: [row])]


def test_a_study_that_is_named_is_made_without_any_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def make(given: Given) -> OneSeed:
        assert given.model == "frozen"
        return one_row

    monkeypatch.setitem(STUDIES, "transfer", replace(STUDIES["transfer"], make=make))
    out = ("--only", "transfer", "--seeds", "3", "--out", str(tmp_path), "--store", str(tmp_path / "runs"))
    assert command(*out, "--budget", "0.000001s") == 3
    told = capsys.readouterr()
    assert "Nothing was done, and 1 seed of studies is left: the budget was over before" in told.err
    assert command(*out) == 0
    told = capsys.readouterr()
    assert "transfer: seed 3 is done, 0 left" in told.err
    assert STUDIES["transfer"].seeds_in(tmp_path / "studies") == {3}
    assert not (tmp_path / "runs").exists()
    assert command(*out) == 0  # it is there, and so is not made again
    assert "is done" not in capsys.readouterr().err
    assert command("--plan", "--json", *out) == 0
    assert json.loads(capsys.readouterr().out)["studies"] == [{"study": "transfer", "seeds": 1, "done": 1}]


@pytest.mark.parametrize("words", [(), ("--encoder", "owner/bert")])
def test_a_study_is_made_with_the_encoder_that_is_named(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[Given] = []

    def make(one: Given) -> OneSeed:
        given.append(one)
        return one_row

    monkeypatch.setitem(STUDIES, "transfer", replace(STUDIES["transfer"], make=make))
    assert command("--runs-only", "--only", "transfer", "--out", str(tmp_path), "--quiet", *words) == 0
    assert [one.encoder for one in given] == [words[1] if words else None]


def test_scores_by_two_encoders_are_not_kept_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(STUDIES, "transfer", replace(STUDIES["transfer"], make=lambda given: one_row))
    words = ("--runs-only", "--only", "transfer", "--quiet", "--out", str(tmp_path))
    for more in (("--seeds", "0"), ("--seeds", "0-1")):
        assert command(*words, *more) == 0
    kept = {path: path.read_bytes() for path in tmp_path.rglob("*.*")}
    assert command(*words, "--encoder", "owner/bert") == 2
    assert "seeds of transfer that were made with the default encoder, and not with bert" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.rglob("*.*")} == kept
    other = (*words[:-1], str(tmp_path / "other"))
    for place in ("owner/bert", "models/bert/"):  # one encoder in two places
        assert command(*other, "--encoder", place) == 0
    assert command(*other) == 2
    assert "made with bert, and not with the default encoder" in capsys.readouterr().err


@pytest.fixture
def imagined(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """A study without trainings; and how wide it was to be."""
    found: dict[str, int] = {}

    def together(wholes: Iterable[Whole], width: int, **how: Any) -> None:
        found["width"] = width
        studies_together.together(wholes, width, **how)

    monkeypatch.setattr(sys.modules[carry_out.__module__], "together", together)
    monkeypatch.setitem(STUDIES, "transfer", replace(STUDIES["transfer"], make=lambda given: one_row))
    return found


def test_on_a_borrowed_gpu_a_study_is_made_and_not_judged(
    imagined: dict[str, int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = ("--out", str(tmp_path), "--store", str(tmp_path / "runs"))
    assert command("--runs-only", "--only", "coverage,transfer", "--seeds", "0-2", "--width", "16", *out) == 0
    assert imagined["width"] == 16
    said = capsys.readouterr()
    assert said.out == ""
    *lines, head, judging = said.err.splitlines()
    assert lines == [f"transfer: seed {seed} is done, {2 - seed} left" for seed in range(3)]
    assert head == "All seeds of studies that were asked for are made. To judge them:"
    words = ["reproduce", "soft-labels", "--from", str(tmp_path), "--only", "transfer"]
    assert shlex.split(judging) == ["dissensus", *words]
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["transfer-made.json", "transfer-scores.csv"]
    assert command("--runs-only", "--only", "transfer", "--seeds", "0-4", "--quiet", *out) == 0
    assert capsys.readouterr().err == ""
    assert STUDIES["transfer"].seeds_in(tmp_path / "studies") == set(range(5))
    assert command("--runs-only", "--only", "transfer", "--budget", "0.000001s", *out) == 3
    assert "5 seeds of studies are left" in capsys.readouterr().err


@pytest.mark.usefixtures("imagined")
def test_results_only_trains_no_study(tmp_path: Path) -> None:
    assert command("--results-only", "--only", "transfer", "--out", str(tmp_path), "--quiet") == 0
    assert not (tmp_path / "studies").exists()


def test_runs_only_without_a_name_makes_runs_alone(smoked: Path, tmp_path: Path) -> None:
    store = shutil.copytree(smoked / "runs", tmp_path / "runs")
    assert command("--smoke", "--runs-only", "--store", str(store), "--out", str(tmp_path / "out"), "--quiet") == 0
    assert not (tmp_path / "out").exists()


def test_progress_counts_runs_that_only_results_tell_of(
    smoked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told, lost = Evidence.read(smoked), Cell(SMALL, "majority", "all", 1, 0)
    before = told.only({run for run, cell in told.runs.items() if cell != lost})
    rest = opened(PAPER, RunStore(tmp_path / "runs"), small=True, before=before)
    now = rest.standing(rest.wanted())
    assert now.left == [lost]
    assert made(rest, now, end=None, jobs=1, width=1, quiet=False) == 0
    ends = [line for line in capsys.readouterr().err.splitlines() if " images/s" in line]
    assert [line.partition(": ")[0] for line in ends] == [f"56/56 majority, 5 votes, seed 0 ({SMALL})"]


@pytest.mark.parametrize(("error", "code"), [(KeyboardInterrupt, 130), (Terminated, 143)])
def test_stopped_it_says_how_many_seeds_are_kept(
    error: type[BaseException],
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def one_seed(seed: int) -> list[Making]:
        if seed == 2:
            raise error
        return one_row(seed)

    monkeypatch.setitem(STUDIES, "transfer", replace(STUDIES["transfer"], make=lambda given: one_seed))
    words = ("--only", "transfer", "--seeds", "0-3", "--out", str(tmp_path), "--quiet")
    assert command(*words) == code
    assert capsys.readouterr().err.splitlines() == [
        "Kept: 2 of 4 seeds of studies.",
        "Stopped. What is done is kept; the same command goes on from there.",
    ]
    assert not (tmp_path / "index.html").exists()


def test_a_name_that_is_not_known_is_answered_with_all_that_are(capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--only", "transfr") == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "unknown table, figure, experiment or study 'transfr'; did you mean 'transfer'?" in told
    assert "table1, table2, votes, coverage, real-sparsity, " in told


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--smoke", "--only", "transfer"), "transfer trains models of texts, which --smoke does not have"),
        (("--runs-only", "--only", "coverage"), "--runs-only trains, but coverage only reads runs that are there"),
    ],
)
def test_studies_do_not_go_with_everything(
    words: tuple[str, ...], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(*words) == 2
    assert message in " ".join(capsys.readouterr().err.split())


def test_results_of_other_machines_stay(here: Several, smoked: Path) -> None:
    evidence = Evidence.read(smoked)
    elsewhere = Cell("hs-brexit-fine-tuned", "soft", "all", 1, 0)
    stale = Cell(SWEPT, "soft", "all", 1, 0)
    rows = [{"cell": cell, "name": "kl", "value": 9.0, "checkpoint": "best"} for cell in (elsewhere, stale)]
    told = Evidence.from_rows(rows)
    protocols = list(here.parts)
    again = Several.open(here.paper, here.store, protocols, small=True, before=told)
    both = again.collect()
    assert again.stale == 1
    assert both.numbers("kl", protocol=elsewhere.protocol, method="soft") == {0: 9.0}
    same = {"protocol": SWEPT, "method": "soft"}
    assert both.numbers("kl", **same) == evidence.numbers("kl", **same)  # the run of another plan is gone


def test_the_plan_is_told_as_json(smoked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--smoke", "--plan", "--json", "--out", str(smoked)) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["runs"], told["left"], told["runs_not_timed"]) == (56, 0, 0)
    assert told["studies"] == [{"study": "coverage", "seeds": 10, "done": 2}]


def test_the_plan_lists_what_is_asked_beside_the_paper(smoked: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command("--smoke", "--plan", "--out", str(smoked)) == 0
    assert "Studies beside it" in capsys.readouterr().out


def test_what_is_left_is_made_and_timed(smoked: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = RunStore(shutil.copytree(smoked / "runs", tmp_path / "runs"))
    here = opened(PAPER, store, small=True)
    lost = [Cell(SWEPT, "sls", 5, 1, 1), Cell(SMALL, "majority", "all", 1, 0)]
    for cell in lost:
        store.remove(here.plans[cell].name)
    now = here.standing(here.wanted())
    assert set(now.left) == set(lost)
    left = here.left(now)
    assert left.seconds is not None
    assert (left.seconds > 0, left.runs, left.looks) == (True, 0, 0)
    outcome = here.carry_out(now, jobs=1)
    assert len(outcome.done) == 2
    assert here.standing(here.wanted()).left == []


def test_a_budget_that_is_over_leaves_the_rest(here: Several, tmp_path: Path) -> None:
    nothing = opened(PAPER, RunStore(tmp_path / "runs"), small=True)
    now = nothing.standing(nothing.wanted())
    outcome = nothing.carry_out(now, budget=1e-6, jobs=1)
    assert (outcome.done, len(outcome.left), outcome.begun) == ((), 56, False)
    assert nothing.left(now).seconds is None
    assert nothing.left(now).runs == 56


def test_yardsticks_are_those_of_the_items(here: Several) -> None:
    run = here.store.read(here.plans[Cell(SWEPT, "soft", "all", 1, 0)].name)
    counts, labels = run.predictions["counts"], run.predictions["labels"]
    human = counts / counts.sum(1, keepdims=True)
    found = {(one.name, one.other): one.value for one in yardsticks(run, True)}
    assert found["majority_class", ""] == max((labels == k).mean() for k in range(10))
    assert found["kl", "uniform"] == pytest.approx(float((np.log(10) - entropy(human)).mean()))
    assert found["soft_nll", "shares"] == pytest.approx(float(entropy(human.mean(0)[None])[0]))  # of the mean itself
    assert 0 < found["kl", "ceiling"] < found["kl", "shares"] < found["kl", "uniform"]
    assert found["entropy_correlation", "ceiling"] < found["entropy_correlation", "corrected-ceiling"]
    assert ("entropy_correlation", "uniform") not in found
    assert [one.name for one in yardsticks(run, False)] == ["majority_class"]


def test_entropy_gaps_are_on_the_most_disputed_tenth(here: Several) -> None:
    run = here.store.read(here.plans[Cell(SWEPT, "majority", "all", 1, 1)].name)
    counts = run.predictions["counts"]
    human = counts / counts.sum(1, keepdims=True)
    most = np.argsort(-entropy(human), kind="stable")[:3]  # of 32
    logits = run.predictions["best_logits"][most].astype(float)
    probs = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    found = {(one.checkpoint, one.tempered): one for one in entropy_gaps(run)}
    assert set(found) == {(when, tempered) for when in ("best", "last") for tempered in (False, True)}
    assert {one.slice for one in found.values()} == {"disputed"}
    expected = float((entropy(probs) - entropy(human[most])).mean())
    assert found["best", False].value == pytest.approx(expected, abs=1e-6)
    assert METRICS["entropy_gap"].per_item


def test_two_models_of_a_data_set_share_its_items() -> None:
    both = Several.open(PAPER, RunStore("nowhere"), [SMALL, SWEPT], small=True)
    assert both.parts[SMALL].data is both.parts[SWEPT].data


def test_every_split_deals_votes_in_its_own_way(here: Several, smoked: Path) -> None:
    evidence = Evidence.read(smoked)
    told = evidence.numbers("kl", protocol=SWEPT, method="soft", other="ceiling")
    for cell, run in here.runs().items():
        if (cell.protocol, cell.method, cell.votes) == (SWEPT, "soft", "all"):
            estimate = ceiling("kl", run.predictions["counts"], draws=4, seed=cell.seed)
            assert estimate is not None
            assert told[cell.seed] == pytest.approx(estimate.mean, rel=1e-5)
    assert len(told) == SMOKE_SEEDS


def test_another_encoder_has_runs_of_its_own_on_texts_alone(
    tiny_encoder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(DATASETS, "hs-brexit", few_texts)
    store = RunStore(tmp_path / "runs")
    plans = [opened(PAPER, store, "hs-brexit", encoder=where).plans for where in (str(tiny_encoder), None)]
    assert {plan.model.encoder for plan in plans[0].values()} == {"tiny-bert"}
    assert not {plan.name for plan in plans[0].values()} & {plan.name for plan in plans[1].values()}
    words = ("--protocol", "hs-brexit-frozen", "--encoder", str(tiny_encoder), "--only", "main", "--seeds", "0-1")
    assert command(*words, "-j", "1", "--quiet") == 0
    found = Evidence.read(tmp_path / "results" / "soft-labels-tiny-bert")
    assert len(found.runs) == 10
    assert {about["model"] for about in found.about.values()} == {"frozen, tiny-bert"}
    assert "another encoder than in the results that come along: tiny-bert." in " ".join(
        capsys.readouterr().out.split()
    )
    with pytest.raises(InputError, match="an encoder is for texts, but cifar10h-small-cnn has none"):
        opened(PAPER, store, "cifar10h-small-cnn", encoder=str(tiny_encoder))
    with pytest.raises(InputError, match="an encoder is for texts, but basins is on cifar10h"):
        opened(read_paper("basins"), store, encoder=str(tiny_encoder))


def few_texts() -> Dataset:
    texts = [f"a {who} {does} ." for who in ("man", "dog", "cat", "woman") for does in ("runs", "eats")] * 6
    votes = Votes.from_counts([[3 - n % 4, n % 4] for n in range(len(texts))], items=np.arange(len(texts)))
    return Dataset("hs-brexit", Texts(tuple(texts)), votes)
