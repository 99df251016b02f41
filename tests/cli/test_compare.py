"""``dissensus compare``: what it prints, what it leaves, and its exit codes."""

import json
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from dissensus.base.errors import StoreError
from dissensus.cli.deadline import deadline_of
from dissensus.records import RunStore

OWN = ("--votes", "labels.csv", "--inputs", "features.npy")


def test_compare_judges_skips_what_is_done_and_grows(run, own_data):
    arguments = ("compare", *OWN, "--methods", "majority,soft", "--epochs", 2, "--jobs", 1)
    code, out, err = run(*arguments, "--seeds", 2)
    assert code == 0, err
    assert "2 seeds can never" in out + err
    assert "report/index.html" in out
    assert (own_data / "report" / "index.html").stat().st_size > 10_000
    code, _, err = run(*arguments, "--seeds", 3)
    assert code == 0
    assert err.count("done before") == 4
    assert err.count(" in ") >= 2
    code, out, _ = run("runs", "list", "--json")
    runs = json.loads(out)
    assert len(runs) == 6
    code, out, _ = run("report", "runs", "--out", "again", "--json")
    told = json.loads(out)
    assert told["data"]
    assert (own_data / told["page"]).exists()
    code, out, _ = run("runs", "rm", runs[0]["run"])
    assert code == 0
    assert len(json.loads(run("runs", "list", "--json")[1])) == 5


def test_what_was_left_out_of_the_votes_is_on_the_page_and_told_again_from_stored_runs(run, own_data):
    with (own_data / "labels.csv").open("a") as file:
        file.write("3,a9,\n4,a9,unsure\n")
    how = ("--methods", "majority,soft", "--seeds", 1, "--epochs", 1, "--jobs", 1)
    code, _, err = run("compare", *OWN, "--option", 'ignore=["unsure"]', *how)
    assert code == 0, err
    left_out = ["1 answer is no vote: 1 'unsure'.", "1 row has no label and is no vote (first: labels.csv, line 302)."]
    assert all(f"Note: {note}" in err for note in left_out)
    for file in ("labels.csv", "features.npy"):
        (own_data / file).unlink()
    code, _, err = run("report", "runs", "--out", "again")
    assert code == 0, err
    assert all(f"Note: {note}" in err for note in left_out)
    for page in (own_data / "report", own_data / "again"):
        told = json.loads((page / "tables" / "comparison.json").read_text())["votes"]
        assert (told["items"], told["votes"], told["annotators"], told["notes"][:2]) == (60, 300, 5, left_out)
        html = (page / "index.html").read_text()
        assert "<h2>The votes</h2>" in html
        assert left_out[1] in html


def test_the_file_that_is_given_now_has_its_name_on_what_is_told(run, own_data):
    how = ("--inputs", "features.npy", "--methods", "majority,soft", "--seeds", 1, "--epochs", 1, "--jobs", 1)
    assert run("compare", "--votes", "labels.csv", *how)[0] == 0
    (own_data / "labels.csv").rename(own_data / "final labels.csv")
    code, out, err = run("compare", "--votes", "final labels.csv", *how, "--out", "final")
    assert code == 0, err
    assert err.count("done before") == 2
    assert out.startswith("final labels.csv, all votes")
    page = (own_data / "final" / "index.html").read_text()
    assert "<h1>final labels.csv: soft and majority</h1>" in page
    assert json.loads((own_data / "final/tables/comparison.json").read_text())["title"] == "final labels.csv"


def test_a_plan_file_and_options_that_override_it(run, own_data):
    (own_data / "plan.toml").write_text(
        'methods = ["majority", "multipass"]\nseeds = 1\nvotes = [3]\n'
        '[data]\nvotes = "labels.csv"\ninputs = "features.npy"\n[recipe]\nepochs = 50\n'
    )
    code, out, err = run("compare", "plan.toml", "--epochs", 1, "--votes", "2,all", "--jobs", 1, "--json")
    assert code == 0, err
    told = json.loads(out)
    assert [panel["votes"] for panel in told["panels"]] == ["2 votes an item", "all votes"]
    assert told["setting"]["recipe.epochs"] == 1
    assert told["setting"]["recipe.lr"] == 0.05


def test_votes_are_drawn_as_asked_for_and_as_a_plan_says_it(run, own_data):
    (own_data / "plan.toml").write_text(
        'votes = 3\ndraw = "resample"\nmethods = ["soft"]\nseeds = 1\n[recipe]\nepochs = 1\n'
        '[data]\nvotes = "labels.csv"\ninputs = "features.npy"\n'
    )
    options = (*OWN, "--per-item", 3, "--methods", "soft", "--seeds", 1, "--epochs", 1, "--jobs", 1)
    for store, arguments in {
        "default": options,
        "subsample": (*options, "--draw", "subsample"),
        "resample": (*options, "--draw", "resample"),
        "plan": ("plan.toml", "--jobs", 1),
    }.items():
        assert run("compare", *arguments, "--store", store)[0] == 0
    made = {store: next(iter(RunStore(store))) for store in ("default", "subsample", "resample", "plan")}
    assert made["default"] == made["subsample"] != made["resample"] == made["plan"]
    assert RunStore("plan").read(made["plan"]).plan["draw"] == "resample"
    assert run("compare", *options, "--per-item", 9, "--draw", "resample", "--store", "more")[0] == 0  # items have 5


def test_compare_keeps_features_on_request(run, own_data):
    arguments = ("compare", *OWN, "--methods", "soft,majority", "--seeds", 1, "--epochs", 1, "--jobs", 1, "--json")
    code, _, err = run(*arguments, "--features")
    assert code == 0, err
    for path in (own_data / "runs").glob("*/predictions.npz"):
        with np.load(path) as arrays:
            assert arrays["last_features"].shape[0] == len(arrays["ids"])


@pytest.mark.parametrize("jobs", [1, 2])
def test_runs_without_what_is_asked_for_are_made_again(run, own_data, jobs):
    arguments = ("compare", *OWN, "--methods", "soft,majority", "--epochs", 2, "--jobs", jobs, "--json")
    assert run(*arguments, "--seeds", 1)[0] == 0
    before = {path: path.read_bytes() for path in (own_data / "runs").glob("*/predictions.npz")}
    code, _, err = run(*arguments, "--seeds", 1, "--save-model", "--diagnose")
    assert code == 0, err
    note = "2 runs were made without their weights and diagnostics: they are trained again, and each is replaced when"
    assert err.count(note) == 1
    assert before == {path: path.read_bytes() for path in (own_data / "runs").glob("*/predictions.npz")}
    assert len(list((own_data / "runs").glob("*/model.safetensors"))) == 2
    assert len(list((own_data / "runs").glob("*/diagnostics.csv"))) == 2
    assert not any((own_data / "runs" / ".staging").iterdir())
    code, _, err = run(*arguments, "--seeds", 2, "--save-model")
    assert code == 0
    assert "trained again" not in err
    assert err.count("done before") == 2


def test_the_way_from_a_comparison_to_predictions_is_told_and_works(run, own_data):
    (own_data / "plan.toml").write_text(
        'methods = ["soft"]\nseeds = 2\nvotes = [3]\n[data]\nvotes = "labels.csv"\ninputs = "features.npy"\n'
    )
    few, own = ("--methods", "soft", "--epochs", 1, "--jobs", 1, "--recipe", "lr=0.01"), " ".join(OWN)
    for arguments, train in {
        (*OWN, "--seeds", 1, "--per-item", "2,all", *few): f"{own} --epochs 1 --recipe lr=0.01",
        (*OWN, "--seeds", "3,4", "--per-item", 2, *few): f"{own} --epochs 1 --recipe lr=0.01 --seed 3 --per-item 2",
        ("plan.toml", "--votes", "2,4", "--epochs", 1, "--jobs", 1): "plan.toml --epochs 1 --per-item 4",
    }.items():
        code, out, err = run("compare", *arguments)
        assert code == 0, err
        told, command = out.splitlines()[-1].split(": dissensus ")
        assert told == "A model to keep, for dissensus predict"
        assert command == f"train {train} --method soft --save-model"
        code, out, err = run(*command.split())
        assert code == 0, err
        assert "trained again" in err  # it is one of the runs of the comparison
        code, _, err = run(*out.splitlines()[-1].replace("NEW", "features.npy").split()[1:])
        assert code == 0, err
    assert "A model to keep" not in run("compare", *arguments, "--quiet")[1]
    assert "A model to keep" not in run("compare", *arguments, "--json")[1]
    assert "A model to keep" not in run("compare", *arguments, "--save-model")[1]


@pytest.mark.parametrize("model", ["frozen", "a folder"])
def test_compare_on_texts(run, own_texts, tiny_encoder, model):
    files = ("--votes", "labels.csv", "--texts", "texts.csv")
    chosen = ("--model", "frozen", "--encoder", tiny_encoder) if model == "frozen" else ("--model", tiny_encoder)
    arguments = ("compare", *files, *chosen, "--methods", "majority,soft", "--epochs", 2, "--seeds", 2, "--jobs", 1)
    code, out, err = run(*arguments)
    assert code == 0, err
    assert "labels.csv, all votes" in out
    page = (own_texts / "report" / "index.html").read_text()
    assert "<h1>labels.csv: soft and majority</h1>" in page
    assert "<blockquote>the dog runs ." in page
    assert "tiny-bert" in page
    assert len(list((own_texts / "data" / "cache").glob("*"))) == (model == "frozen")
    _, out, _ = run("runs", "list", "--json")
    assert {row["model"] for row in json.loads(out)} == {"frozen" if model == "frozen" else "fine-tuned"}
    code, _, err = run(*arguments)
    assert (code, err.count("done before")) == (0, 4)


def test_an_encoder_that_cannot_be_had_is_told_with_what_to_do(run, own_texts):
    arguments = ("compare", "--votes", "labels.csv", "--texts", "texts.csv")
    code, _, err = run(*arguments, "--model", "./no/such/folder")
    assert code == 2
    assert "model: there is no folder ./no/such/folder; the folder of a text encoder was expected" in err


def test_a_comparison_out_of_budget_judges_nothing(run, own_data):
    arguments = ("compare", *OWN, "--methods", "soft,majority", "--seeds", 1, "--epochs", 1, "--jobs", 1)
    code, out, err = run(*arguments, "--budget", "0.001s")
    assert (code, out) == (3, "")
    last = err.splitlines()[-1]
    told = "Nothing was done, and 2 of 2 runs are left: the budget was over before training could begin. "
    assert re.fullmatch(re.escape(told) + r"Give it at least \d+ s\.", last)
    assert "The same command goes on" not in err
    assert not (own_data / "report").exists()
    for bad in ("9", "9 minutes"):
        code, _, err = run(*arguments, "--budget", bad)
        assert code == 2
        assert f"a budget is a span of time with its units, such as 9m, 90s or 1h30m, but is '{bad}'." in err


def test_a_page_that_the_budget_has_no_time_for_is_left_to_the_next_call(run, own_data, monkeypatch):
    monkeypatch.setattr("dissensus.cli.compare.PAGE", 1e6)
    arguments = ("compare", *OWN, "--methods", "soft,majority", "--seeds", 1, "--epochs", 1, "--jobs", 1)
    code, out, err = run(*arguments, "--budget", "1h")
    assert (code, out) == (3, "")
    assert err.splitlines()[-1] == (
        "All 2 runs are done, but the budget leaves no time for the page. The same command writes it."
    )
    assert not (own_data / "report").exists()
    code, _, err = run(*arguments, "--budget", "1h")
    assert code == 0, err
    assert (own_data / "report" / "index.html").exists()


def test_a_budget_counts_the_end_of_the_process():
    short, long = deadline_of("4s"), deadline_of("9m")
    assert short.end - short.began == pytest.approx(3)
    assert long.end - long.began == pytest.approx(538)


def test_lack_of_gpu_memory_is_noted(run, own_data, monkeypatch):
    """Also where no progress is shown: it says why the sweep is slower than hoped for."""
    from dissensus import experiment

    def compare(*arguments, say, **how):
        say("GPU memory ran out with 4 runs side by side; going on with 3")
        return swept(*arguments, **how)

    swept = experiment.compare
    monkeypatch.setattr(experiment, "compare", compare, raising=False)
    arguments = ("compare", *OWN, "--methods", "soft,majority", "--seeds", 1, "--epochs", 1, "--jobs", 1, "--quiet")
    code, _, err = run(*arguments)
    assert code == 0
    assert "Note: GPU memory ran out with 4 runs side by side; going on with 3\n" in err


def test_images_and_votes_by_name_need_no_polars(own_data):
    """A GPU machine may lack it."""
    program = (
        "import sys; sys.modules['polars'] = None; from dissensus.cli import main;"
        "main('compare --data glyphs --option items=80 --methods soft,multipass --seeds 1 --votes 5"
        " --epochs 1 --jobs 1'.split())"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=own_data, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert (own_data / "report" / "index.html").exists()


def test_cifar_on_a_cpu_is_refused_once_and_before_anything_starts(run, own_data, monkeypatch):
    """The data set is small and made up; the recipe that its name brings is the published one."""
    from dissensus.datasets import DATASETS, Dataset
    from dissensus.votes import Votes

    votes = Votes.from_counts([[6, 0], [2, 4]] * 20, classes=["cat", "dog"])
    images = np.zeros((40, 3, 32, 32), np.uint8)
    monkeypatch.setitem(DATASETS, "cifar10h", lambda: Dataset("cifar10h", images, votes))
    monkeypatch.setattr("dissensus.experiment.machine.device", lambda: "cpu")
    arguments = ("compare", "--data", "cifar10h", "--methods", "soft,sls,multipass,majority", "--seeds", 4)
    code, out, err = run(*arguments, "--votes", 5)
    assert (code, out) == (2, "")
    assert err.startswith("Reading the data ...\nInputError: 16 runs ask for the precision bf16, made for CUDA GPUs")
    assert err.count("--recipe precision=fp32") == 1
    assert not (own_data / "runs").exists()
    small = ("--model", "small-cnn", "--epochs", 1, "--recipe", "precision=fp32", "--jobs", 1)
    code, _, err = run(*arguments, "--votes", 5, *small)
    assert code == 0, err


COMPARE_MISTAKES = {
    "votes as a plan": (["labels.csv", "--inputs", "features.npy"], "If it is your votes file, give it with --votes."),
    "no data": ([], "--data NAME"),
    "unknown set": (["--data", "glyfs"], "did you mean 'glyphs'"),
    "unknown method": ([*OWN, "--methods", "sotf"], "did you mean 'soft'"),
    "half of the data": (["--votes", "labels.csv"], "Give --inputs FILE (features or images) or --texts FILE, too"),
    "no texts there": (["--votes", "labels.csv", "--texts", "texts.csv"], "a table of texts was expected"),
    "no texts in it": (["--votes", "labels.csv", "--texts", "labels.csv"], "has no column 'text'"),
    "inputs and texts": ([*OWN, "--texts", "labels.csv"], "were both given; give one of them"),
    "votes of ones own": (["--data", "hs-brexit", "--votes", "labels.csv"], "give --inputs or --texts"),
    "more votes than there are": ([*OWN, "--per-item", "9"], "9 are asked for"),
    "too few to draw from": ([*OWN, "--per-item", "9"], "draw with replacement: --draw resample"),
    "unknown draw": ([*OWN, "--draw", "sample"], 'draw must be "subsample" or "resample"'),
    "no number": ([*OWN, "--per-item", "few"], "whole numbers"),
    "no seeds": ([*OWN, "--seeds", "0"], "seeds"),
    "unknown model": ([*OWN, "--model", "mpl"], "did you mean 'mlp'"),
    "a cnn on features": ([*OWN, "--model", "small-cnn"], "small-cnn"),
    "no epochs": ([*OWN, "--epochs", "0"], "epochs"),
    "unknown option": ([*OWN, "--epoch", "3"], "--epochs"),
    "unknown field": ([*OWN, "--recipe", "batchsize=3"], "did you mean 'recipe.batch_size'"),
    "no field": ([*OWN, "--recipe", "lr"], "--recipe takes KEY=VALUE, such as lr=0.05"),
    "no rate": ([*OWN, "--recipe", "lr=fast"], "recipe.lr must be a number above 0"),
    "epochs twice": ([*OWN, "--recipe", "epochs=3", "--epochs", "4"], "epochs=... was given twice"),
    "all select": ([*OWN, "--select", "1"], "split.select must be a share of at least 0 and below 1"),
}


@pytest.mark.parametrize("mistake", COMPARE_MISTAKES)
def test_a_wrong_comparison_stops_before_it_starts(run, own_data, mistake):
    options, word = COMPARE_MISTAKES[mistake]
    code, _, err = run("compare", *options)
    assert code == 2
    assert word in err
    assert "Traceback" not in err
    assert not (own_data / "runs").exists()
    assert not (own_data / "report").exists()


def test_all_mistakes_of_a_plan_at_once_with_their_lines(run, own_data):
    (own_data / "plan.toml").write_text(
        'methods = ["sotf"]\nsedes = 3\n[data]\nname = "glyphs"\n[recipe]\nepochs = -3\n'
    )
    code, _, err = run("compare", "plan.toml")
    assert code == 2
    assert err.startswith("PlanError: ")
    for word in ("plan.toml", "3 mistakes", "sotf", "sedes", "recipe.epochs", "line 2"):
        assert word in err


def test_items_without_inputs_are_named(run, own_data):
    np.save(own_data / "features.npy", np.load(own_data / "features.npy")[:50])
    code, _, err = run("compare", *OWN)
    assert code == 2
    assert "50" in err


def test_runs_that_fail_are_told_and_nothing_is_judged_without_them(run, own_data):
    (own_data / "plan.toml").write_text(
        'methods = ["majority", "soft"]\nseeds = 1\n[data]\nvotes = "labels.csv"\ninputs = "features.npy"\n'
        "[recipe]\nepochs = 2\nlr = 1e30\n"
    )
    code, out, err = run("compare", "plan.toml", "--jobs", 1)
    assert (code, out) == (1, "")
    assert "Failed: majority, seed 0" in err
    assert "training diverged" in err
    assert "2 failed, 0 done and kept." in err
    assert not (own_data / "report").exists()


@pytest.mark.parametrize("votes", ["", "five", "labels.csv"])
def test_votes_beside_a_named_set_are_numbers(run, votes):
    code, _, err = run("compare", "--data", "glyphs", "--votes", votes)
    assert code == 2
    assert f"such as 5,10,all, but {votes!r} was given" in err


@pytest.mark.parametrize(
    ("header", "told"),
    [
        ("item,task,label", "say which is the item with --option item=...\n"),
        ("number,who,answer", "one: with --option item=..., --option label=... and --option annotator=...\n"),
    ],
)
def test_what_would_mend_the_votes_is_told_as_an_option(run, own_data, header, told):
    rows = (own_data / "labels.csv").read_text().replace("item,annotator,label", header)
    (own_data / "labels.csv").write_text(rows)
    code, _, err = run("compare", *OWN)
    assert code == 2
    assert err.endswith(told)


def test_missing_annotators_are_told_and_left_out_by_an_option(run, own_data):
    rows = (own_data / "labels.csv").read_text().splitlines()
    item, _, label = rows[1].split(",")
    (own_data / "labels.csv").write_text("\n".join([rows[0], f"{item},,{label}", *rows[2:]]) + "\n")
    arguments = ("compare", *OWN, "--methods", "soft", "--seeds", 1, "--epochs", 1, "--jobs", 1, "-q")
    code, _, err = run(*arguments)
    assert code == 2
    assert err.endswith("leave all annotators out with --option anonymous=true\n")
    code, _, err = run(*arguments, "--option", "anonymous=true")
    assert code == 0, err


def test_a_page_that_cannot_be_written_at_the_end_leaves_the_runs(run, own_data, monkeypatch):
    def full(*arguments, **options):
        raise StoreError("cannot write the page to report: No space left on device.")

    monkeypatch.setattr("dissensus.report.write_page", full)
    code, _, err = run("compare", *OWN, "--methods", "soft", "--seeds", 1, "--epochs", 1, "--jobs", 1)
    assert code == 2
    assert "No space left on device. The runs are kept, and dissensus report runs --out FOLDER writes" in err


def test_a_page_that_cannot_be_written_is_known_before_training(run, own_data):
    (own_data / "file").write_text("in the way")
    code, _, err = run("compare", *OWN, "--methods", "soft", "--seeds", 1, "--epochs", 1, "--out", "file/page")
    assert code != 0
    assert "cannot write the page to file/page: Not a directory." in err
    assert not (own_data / "runs").exists()


def test_another_comparison_does_not_take_the_page_of_the_first(run, own_data):
    arguments = ("compare", *OWN, "--methods", "majority,soft", "--seeds", 1, "--jobs", 1, "-q")
    code, out, err = run(*arguments, "--epochs", 1)
    assert (code, "report/index.html" in out, "another page" in err) == (0, True, False)
    first = (own_data / "report" / "index.html").read_bytes()
    code, out, err = run(*arguments, "--epochs", 2)
    assert code == 0, err
    assert "The page: report-2/index.html" in out
    assert "Note: report/index.html is another page (recipe.epochs 1 there, 2 here), and stays" in err
    assert (own_data / "report" / "index.html").read_bytes() == first
    assert json.loads(run(*arguments, "--epochs", 1, "--json")[1])["page"] == "report/index.html"
    assert json.loads(run(*arguments, "--epochs", 2, "--json")[1])["page"] == "report-2/index.html"
    _, out, err = run("report", "runs", "--where", "recipe.epochs=2", "-q")
    assert "The page: report-2/index.html" in out
    code, out, err = run("report", "runs", "--where", "recipe.epochs=2", "-q", "-o", "report")
    assert "The page: report/index.html" in out
    assert "report/index.html was another page (recipe.epochs 1 there, 2 here), and has been replaced." in err
    assert sorted(path.name for path in own_data.glob("report*")) == ["report", "report-2"]


def test_a_page_may_be_named_and_is_written_again(run, own_data):
    """With a class in a script that no font has here: that is told in one line."""
    rows = (own_data / "labels.csv").read_text("utf-8")
    (own_data / "labels.csv").write_text(rows.replace(",c\n", ",\U00012000\n"), "utf-8")
    arguments = ("compare", *OWN, "--methods", "soft", "--seeds", 1, "--epochs", 1, "--jobs", 1, "-q", "-o", "one.html")
    for _ in range(2):
        code, out, err = run(*arguments)
        assert code == 0, err
        assert "The page: one.html" in out
        assert "another page" not in err
        assert "Note: no font of this machine has \U00012000: in figures/*.png boxes stand for such" in err
        assert "Warning" not in err


def test_help_names_every_method(run):
    from dissensus import METHODS

    _, out, _ = run("compare", "--help")
    shown = "".join(out.replace("│", "").split())
    assert all(name in shown for name in METHODS)


def test_a_store_that_cannot_be_written_is_told_before_the_trial_where_runs_are_left(run, own_data, monkeypatch):
    arguments = ("compare", *OWN, "--methods", "soft,majority", "--seeds", 1, "--epochs", 1, "--jobs", 1)
    assert run(*arguments)[0] == 0
    monkeypatch.setattr("os.access", lambda path, mode, **how: not mode & os.W_OK)
    code, _, err = run(*arguments)
    assert code == 0, err
    code, _, err = run(*arguments, "--seeds", 2)
    assert code == 2
    assert "cannot write to the run store runs: runs may not be written to." in err
    assert "Trying how long it takes" not in err


@pytest.mark.parametrize("command", ["compare", "train"])
@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", "there is no data. Give --data NAME"),
        ("--option label=answer", "there is no data. Give --data NAME"),
        ("--votes labels.csv", "Give --inputs FILE (features or images) or --texts FILE, too;"),
        ("--votes labels.csv", "where a column of the votes file has the texts: --texts labels.csv"),
        ("--inputs features.npy", "--inputs features.npy has no votes on it. Give --votes FILE, too."),
        ("--votes a.csv --inputs b.npy --texts c.csv", "--inputs b.npy and --texts c.csv were both given; give one"),
        ("--data glyphs --texts c.csv", "--data glyphs has inputs of its own: leave out --texts c.csv; or leave out"),
    ],
)
def test_half_of_the_data_is_told_by_the_option_of_the_other(run, command, given, told):
    code, _, err = run(command, *given.split())
    assert code == 2
    assert told in " ".join(err.split())
