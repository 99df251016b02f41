"""The command as a person types it: what it prints, what it leaves, and its exit codes."""

import json
import re
import signal
import subprocess
import sys
from functools import partial
from itertools import takewhile

import numpy as np
import pytest

from dissensus import cli
from dissensus.cli import main
from dissensus.records import RunStore


@pytest.fixture
def run(capfd, monkeypatch, tmp_path):
    """Call the command in an empty folder; returns exit code, standard output and standard error, of workers too."""
    monkeypatch.chdir(tmp_path)
    for console in (cli.out, cli.err):
        monkeypatch.setattr(console, "width", 200)

    def call(*arguments):
        with pytest.raises(SystemExit) as stop:
            main([str(argument) for argument in arguments])
        printed = capfd.readouterr()
        return stop.value.code, printed.out, printed.err

    return call


@pytest.fixture
def own_data(tmp_path):
    """Sixty items with four features and five votes each."""
    rng = np.random.default_rng(0)
    centre = rng.integers(0, 3, 60)
    features = np.eye(4)[centre] + 0.3 * rng.normal(size=(60, 4))
    np.save(tmp_path / "features.npy", features.astype(np.float32))
    lines = ["item,annotator,label"]
    for item in range(60):
        for annotator in range(5):
            label = centre[item] if rng.random() < 0.8 else rng.integers(0, 3)
            lines.append(f"{item},a{annotator},{'abc'[label]}")
    (tmp_path / "labels.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


OWN = ("--votes", "labels.csv", "--inputs", "features.npy")


def test_help_teaches_with_an_example(run):
    for command in (
        ["demo"],
        ["votes"],
        ["train"],
        ["compare"],
        ["diagnose"],
        ["report"],
        ["runs", "list"],
        ["runs", "show"],
        ["runs", "rm"],
        ["runs", "pack"],
        ["runs", "merge"],
    ):
        code, out, _ = run(*command, "--help")
        assert code == 0
        assert "Example" in out
        assert f"dissensus {' '.join(command)}" in out


def test_version(run):
    from dissensus import __version__

    assert run("--version")[:2] == (0, f"{__version__}\n")


def test_votes_says_what_is_in_a_file(run, tmp_path):
    (tmp_path / "labels.csv").write_text("task,worker,answer\nx,p,cat\nx,q,dog\ny,p,cat\ny,q,cat\n")
    code, out, err = run("votes", "labels.csv", "--label", "answer", "--save", "votes.parquet")
    assert code == 0, err
    assert "50.0%" in out  # unanimous
    assert "cat: 1, dog: 1" in out
    assert (tmp_path / "votes.parquet").exists()
    code, out, _ = run("votes", "votes.parquet", "--json")
    told = json.loads(out)
    assert (told["items"], told["votes"], told["annotators"]) == (2, 4, 2)
    assert told["most_divided"][0]["item"] == "x"


def test_train_keeps_a_run_and_weights_on_request(run, own_data):
    from safetensors.numpy import load_file

    code, out, err = run("train", *OWN, "--method", "soft", "--seed", 1, "--epochs", 2, "--save-model", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert {record["metric"] for record in told["records"]} >= {"kl", "accuracy", "entropy_correlation"}
    weights = load_file(own_data / told["path"] / "model.safetensors")
    assert all(np.isfinite(array).all() for array in weights.values())
    code, out, _ = run("runs", "show", told["run"][:6])
    assert code == 0
    assert "soft, seed 1" in out


def test_compare_judges_skips_what_is_done_and_grows(run, own_data):
    arguments = ("compare", *OWN, "--methods", "majority,soft", "--epochs", 2, "--jobs", 1)
    code, out, err = run(*arguments, "--seeds", 2)
    assert code == 0, err
    assert "2 seeds can never" in out + err
    assert "report/index.html" in out
    assert (own_data / "report" / "index.html").stat().st_size > 10_000
    code, _, err = run(*arguments, "--seeds", 3)
    assert code == 0
    assert err.count("skipped") == 4
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


def test_train_keeps_features_on_request(run, own_data):
    arguments = ("train", *OWN, "--method", "soft", "--epochs", 1, "--json")
    assert run(*arguments)[0] == 0
    code, _, err = run(*arguments, "--features")
    assert code == 2
    assert "is done already, without its features. Remove it to make it again with features: dissensus runs rm" in err
    code, out, err = run(*arguments, "--features", "--seed", 1)
    assert code == 0, err
    with np.load(own_data / json.loads(out)["path"] / "predictions.npz") as arrays:
        assert arrays["best_features"].shape[0] == len(arrays["ids"])


def test_compare_keeps_features_on_request(run, own_data):
    arguments = ("compare", *OWN, "--methods", "soft,majority", "--seeds", 1, "--epochs", 1, "--jobs", 1, "--json")
    code, _, err = run(*arguments, "--features")
    assert code == 0, err
    for path in (own_data / "runs").glob("*/predictions.npz"):
        with np.load(path) as arrays:
            assert arrays["last_features"].shape[0] == len(arrays["ids"])
    assert run(*arguments, "--store", "other")[0] == 0
    code, _, err = run(*arguments, "--store", "other", "--features")
    assert code == 2
    assert "2 runs are done already, without their features. Remove them to make them again" in err


@pytest.fixture
def own_texts(own_data, monkeypatch):
    """A text for each of the sixty items, and a data folder to keep features in."""
    pytest.importorskip("transformers")
    monkeypatch.setenv("DISSENSUS_DATA", str(own_data / "data"))
    words = ["a man sleeps .", "the dog runs .", "a cat eats outside ."]
    lines = [f"{item},{words[item % 3]} {'the park ' * (item % 4)}" for item in range(60)]
    (own_data / "texts.csv").write_text("\n".join(["id,text", *lines]) + "\n")
    return own_data


@pytest.mark.parametrize("model", ["frozen", "a folder"])
def test_compare_on_texts(run, own_texts, tiny_encoder, model):
    files = ("--votes", "labels.csv", "--texts", "texts.csv")
    chosen = ("--model", "frozen", "--encoder", tiny_encoder) if model == "frozen" else ("--model", tiny_encoder)
    arguments = ("compare", *files, *chosen, "--methods", "majority,soft", "--epochs", 2, "--seeds", 2, "--jobs", 1)
    code, out, err = run(*arguments)
    assert code == 0, err
    assert "own, all votes" in out
    page = (own_texts / "report" / "index.html").read_text()
    assert "<blockquote>the dog runs ." in page
    assert "tiny-bert" in page
    assert len(list((own_texts / "data" / "cache").glob("*"))) == (model == "frozen")
    _, out, _ = run("runs", "list", "--json")
    assert {row["model"] for row in json.loads(out)} == {"frozen" if model == "frozen" else "fine-tuned"}
    code, _, err = run(*arguments)
    assert (code, err.count("skipped")) == (0, 4)


def test_damaged_features_are_computed_again_with_a_line(run, own_texts, tiny_encoder):
    arguments = ("train", "--votes", "labels.csv", "--texts", "texts.csv", "--encoder", tiny_encoder, "--epochs", 1)
    assert run(*arguments, "--seed", 0)[0] == 0
    (kept,) = (own_texts / "data" / "cache").iterdir()
    kept.write_bytes(b"")
    code, _, err = run(*arguments, "--seed", 1)
    assert code == 0
    assert "is damaged" in " ".join(err.split())
    assert "the features of the texts are computed again" in " ".join(err.split())  # wherever the line is broken


def test_an_encoder_that_cannot_be_had_is_told_with_what_to_do(run, own_texts):
    arguments = ("compare", "--votes", "labels.csv", "--texts", "texts.csv")
    code, _, err = run(*arguments, "--model", "./no/such/folder")
    assert code == 2
    assert "model: there is no folder ./no/such/folder; the folder of a text encoder was expected" in err


def test_a_budget_ends_with_code_3_until_all_is_done(run, own_data):
    arguments = ("train", *OWN, "--method", "soft", "--epochs", 700)
    seconds, codes = 0.6, [3]
    while codes[-1] == 3:
        assert not (own_data / "report").exists()
        code, out, err = run(*arguments, "--budget", f"{seconds}s")
        codes.append(code)
        if "Nothing was done" in err:  # a busy machine
            seconds *= 2
        elif code == 3:
            assert out == ""
            assert "The budget is used up: 0 of 1 runs done, 1 left" in err
            assert "The same command goes on from here." in err
    assert codes[:2] == [3, 3]
    assert codes[-1] == 0
    assert "goes on from epoch" in err
    assert "resumed at epoch" in err
    assert run(*arguments, "--store", "whole")[0] == 0
    (path,) = (own_data / "runs").glob("*/predictions.npz")
    with np.load(path) as ours, np.load(own_data / "whole" / path.parent.name / path.name) as whole:
        for name in whole:
            np.testing.assert_array_equal(ours[name], whole[name])


def test_a_comparison_out_of_budget_judges_nothing(run, own_data):
    arguments = ("compare", *OWN, "--methods", "soft,majority", "--seeds", 1, "--epochs", 1, "--jobs", 1)
    code, out, err = run(*arguments, "--budget", "0.001")
    assert (code, out) == (3, "")
    last = err.splitlines()[-1]
    told = "Nothing was done, and 2 of 2 runs are left: the budget was over before training could begin. "
    assert re.fullmatch(re.escape(told) + r"Give it at least \d+ s\.", last)
    assert "The same command goes on" not in err
    assert not (own_data / "report").exists()
    code, _, err = run(*arguments, "--budget", "9 minutes")
    assert code == 2
    assert "InputError: a budget is a span of time, such as 9m, 90s, 1h30m or 540 (seconds), but is '9 minutes'." in err


def test_quiet_is_quiet(run, own_data):
    code, out, err = run("train", *OWN, "--epochs", 2, "--quiet", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["run"]


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


def test_a_recipe_is_changed_field_by_field(run, own_data):
    fields = ("--recipe", "lr=.02", "--recipe", "batch_size=16", "--epochs", 1, "--select", 0)
    code, out, err = run("train", *OWN, *fields, "--json")
    assert code == 0, err
    plan = json.loads((own_data / json.loads(out)["path"] / "plan.json").read_text())
    assert [plan["recipe"][field] for field in ("lr", "batch_size", "epochs", "momentum")] == [0.02, 16, 1, 0.9]
    assert plan["split"] == {"test": 0.2, "select": 0.0}


def test_cifar_on_a_cpu_is_refused_once_and_before_anything_starts(run, own_data, monkeypatch):
    """The data set is small and made up; the recipe that its name brings is the published one."""
    from dissensus.datasets import DATASETS, Dataset
    from dissensus.votes import Votes

    votes = Votes.from_counts([[6, 0], [2, 4]] * 20, classes=["cat", "dog"])
    images = np.zeros((40, 3, 32, 32), np.uint8)
    monkeypatch.setitem(DATASETS, "cifar10h", lambda: Dataset("cifar10h", images, votes))
    monkeypatch.setattr("dissensus.experiment.run.device", lambda: "cpu")
    arguments = ("compare", "--data", "cifar10h", "--methods", "soft,sls,multipass,majority", "--seeds", 4)
    code, out, err = run(*arguments, "--votes", 5)
    assert (code, out) == (2, "")
    assert err.startswith(
        "Reading the data ...\nInputError: 16 runs ask for the precision tf32, which needs a CUDA GPU"
    )
    assert err.count("--recipe precision=fp32") == 1
    assert not (own_data / "runs").exists()
    small = ("--model", "small-cnn", "--epochs", 1, "--recipe", "precision=fp32", "--jobs", 1)
    code, _, err = run(*arguments, "--votes", 5, *small)
    assert code == 0, err


def test_options_of_the_data_are_those_of_a_plan(run, own_data):
    rows = (own_data / "labels.csv").read_text().replace("item,annotator,label", "task_id,worker,answer")
    for letter, rating in zip("abc", "123", strict=True):
        rows = rows.replace(f",{letter}\n", f",{rating}\n")
    (own_data / "labels.csv").write_text(rows)
    named = ("--option", "item=task_id", "--option", "label=answer", "--option", "ordered=true")
    arguments = ("--method", "soft", "--epochs", 1, "--json")
    code, out, err = run("train", *OWN, *named, *arguments)
    assert code == 0, err
    about = json.loads((own_data / json.loads(out)["path"] / "about.json").read_text())
    assert about["source"]["options"] == {"item": "task_id", "label": "answer", "ordered": True}
    for wrong, word in (("lable=answer", "did you mean 'label'"), ("label", "KEY=VALUE"), ("item=task_id", "twice")):
        code, _, err = run("train", *OWN, *named, "--option", wrong, *arguments)
        assert code == 2
        assert word in err


@pytest.mark.parametrize(
    ("command", "extras"),
    [("demo", "train,report"), ("compare", "train,report"), ("train", "train"), ("report", "report")],
)
def test_all_that_a_command_needs_is_named_before_it_starts(run, tmp_path, monkeypatch, command, extras):
    monkeypatch.setattr("dissensus.cli.find_spec", lambda module: None)
    code, _, err = run(command)
    assert code == 2
    assert err.startswith("MissingExtra: ")
    assert f'pip install "dissensus[{extras}]"' in err
    assert not list(tmp_path.iterdir())


def test_a_narrow_terminal_cuts_nothing_off(run, own_data, monkeypatch):
    told = json.loads(run("train", *OWN, "--epochs", 2, "--json")[1])
    monkeypatch.setattr(cli.out, "width", 60)
    lines = run("runs", "list")[1].splitlines()
    assert max(map(len, lines)) <= 60
    assert "…" not in "".join(lines)
    assert told["run"] in "".join(line.split()[0] for line in lines[1:] if not line.startswith(" "))
    (row,) = json.loads(run("runs", "list", "--json")[1])
    scores = {(r["metric"], r["checkpoint"], r["tempered"], r["against"]): r["value"] for r in told["records"]}
    assert row["soft_nll"] == pytest.approx(scores["soft_nll", "best", False, "human"], rel=1e-6)


MISTAKES = {
    "unknown column": ("labels.csv", b"task,who,what\n1,2,3\n", ["--label", "wat"], ["wat", "what"]),
    "ragged": ("labels.csv", b"item,annotator,label\na,b,c\na,b,c,d,e\n", [], ["labels.csv", "line 3"]),
    "empty": ("labels.csv", b"", [], ["labels.csv", "empty"]),
    "header only": ("labels.csv", b"item,annotator,label\n", [], ["labels.csv"]),
    "binary": ("labels.csv", bytes(range(256)) * 8, [], ["labels.csv"]),
    "latin-1": ("labels.csv", "item,annotator,label\na,b,caf\u00e9\n".encode("latin-1"), [], ["labels.csv", "UTF-8"]),
    "not in classes": ("labels.csv", b"item,annotator,label\na,p,cat\na,q,cow\n", ["--classes", "cat,dog"], ["cow"]),
    "fraction": ("counts.csv", b"item,cat,dog\na,1,2\nb,1.5,0\n", ["--layout", "counts"], ["counts.csv", "1.5"]),
    "negative": ("counts.csv", b"item,cat,dog\na,1,2\nb,-1,0\n", ["--layout", "counts"], ["counts.csv", "-1"]),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_bad_votes_file_gets_one_clear_sentence(run, tmp_path, mistake):
    name, content, options, words = MISTAKES[mistake]
    (tmp_path / name).write_bytes(content)
    code, out, err = run("votes", name, *options, "--save", "kept.parquet")
    assert code == 2
    assert out == ""
    assert err.startswith("InputError: ")
    assert "Traceback" not in err
    for word in words:
        assert word in err
    assert not (tmp_path / "kept.parquet").exists()


@pytest.mark.parametrize("kind", ["directory", "missing"])
def test_what_is_no_file_is_named(run, tmp_path, kind):
    if kind == "directory":
        (tmp_path / "labels.csv").mkdir()
    code, _, err = run("votes", "labels.csv")
    assert code == 2
    assert "directory" in err if kind == "directory" else "does not exist" in err


def test_counts_with_nan_name_their_cell(run, tmp_path):
    np.save(tmp_path / "counts.npy", np.array([[1.0, np.nan], [2.0, 1.0]]))
    code, _, err = run("votes", "counts.npy")
    assert code == 2
    assert "row 0, column 1" in err


def test_sets_that_are_brought_by_hand_say_where_they_come_from(run, tmp_path, monkeypatch):
    monkeypatch.setenv("DISSENSUS_DATA", str(tmp_path / "sets"))
    code, out, err = run("data", "list")
    assert code == 0
    assert re.search(r"popquorn-offensiveness .* 1,500 +by hand .* no", out)
    folder = tmp_path / "sets" / "lewidi2023"
    assert "hs-brexit: get HS-Brexit_train.json, HS-Brexit_dev.json, HS-Brexit_test.json from https://" in err
    assert f"into {folder}" in err
    homes = {row["name"]: row["home"] for row in json.loads(run("data", "list", "--json")[1])}
    code, _, err = run("data", "get", "hs-brexit")
    assert code == 2
    assert homes["hs-brexit"] in err
    assert str(folder / "HS-Brexit_train.json") in err
    assert homes["cifar10h"] is None


COMPARE_MISTAKES = {
    "no data": ([], "--data NAME"),
    "unknown set": (["--data", "glyfs"], "did you mean 'glyphs'"),
    "unknown method": ([*OWN, "--methods", "sotf"], "did you mean 'soft'"),
    "half of the data": (["--votes", "labels.csv"], "votes and inputs, or votes and texts"),
    "no texts there": (["--votes", "labels.csv", "--texts", "texts.csv"], "a table of texts was expected"),
    "no texts in it": (["--votes", "labels.csv", "--texts", "labels.csv"], "has no column 'text'"),
    "inputs and texts": ([*OWN, "--texts", "labels.csv"], "votes and inputs, or votes and texts"),
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


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_store_that_cannot_be_written_ends_it(run, own_data, jobs):
    (own_data / "runs").write_text("a file stands where the store should be")
    code, _, err = run("compare", *OWN, "--methods", "soft,majority", "--seeds", 1, "--epochs", 1, "--jobs", jobs)
    assert code == 2
    assert "StoreError: cannot write to the run store runs: Not a directory." in err
    assert "Traceback" not in err
    assert not (own_data / "report").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_comparison_goes_on_where_it_was(run, own_data, number, code):
    # one job: that workers stop, too, is shown in tests/experiment/test_sweep.py, and each takes seconds to start
    arguments = ["compare", *OWN, "--methods", "soft", "--seeds", "3", "--epochs", "150", "--jobs", "1"]
    command = [sys.executable, "-m", "dissensus.cli", *arguments]
    heeded = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)  # who starts tests in the background has it ignored
    with subprocess.Popen(command, cwd=own_data, stderr=subprocess.PIPE, text=True, preexec_fn=heeded) as process:
        assert process.stderr is not None
        before = list(takewhile(lambda line: not line.startswith("1/3"), process.stderr))
        process.send_signal(number)
        rest = process.stderr.read()
        assert process.wait(30) == code, "".join(before) + rest
    assert "Traceback" not in rest
    assert "stopping at the end of the epoch, so that it is kept" in rest
    assert "Stopped. What is done is kept" in rest
    done = sorted(path.name for path in (own_data / "runs").iterdir() if not path.name.startswith("."))
    assert 1 <= len(done) < 3
    made = {name: (own_data / "runs" / name / "predictions.npz").stat().st_mtime_ns for name in done}
    code, _, err = run(*arguments)
    assert code == 0, err
    for name, when in made.items():
        assert (own_data / "runs" / name / "predictions.npz").stat().st_mtime_ns == when
    assert err.count("skipped") == len(done)


# --- runs that are handed over ----------------------------------------------------------------------------------------


@pytest.fixture
def made(run, own_data):
    """A store with four runs, made by training."""
    for method in ("majority", "soft"):
        for seed in (0, 1):
            code, _, err = run("train", *OWN, "--method", method, "--seed", seed, "--epochs", 1)
            assert code == 0, err
    return own_data / "runs"


def test_packed_and_merged_runs_give_the_same_report(run, made):
    from dissensus.records import RunStore
    from dissensus.report import collect, to_json

    code, out, err = run("runs", "pack", "-o", "packed")
    assert (code, err) == (0, "")
    (archive,) = (made.parent / "packed").iterdir()
    assert f"packed/{archive.name}" in out
    assert out.endswith("4 runs in 1 archive.\n")
    before = archive.read_bytes()
    (told,) = json.loads(run("runs", "pack", "--json")[1])
    assert (told["path"], told["size"], len(told["runs"])) == (f"packed/{archive.name}", len(before), 4)
    assert [path.read_bytes() for path in (made.parent / "packed").iterdir()] == [before]
    code, out, err = run("runs", "merge", f"packed/{archive.name}", "--store", "elsewhere")
    assert (code, out, err) == (0, "4 new, 0 already here.\n", "")
    assert run("runs", "merge", "packed", "runs", "--store", "elsewhere")[:2] == (0, "0 new, 4 already here.\n")
    stores = [RunStore("runs"), RunStore("elsewhere")]
    told = [to_json(collect([store.read(name) for name in store])) for store in stores]
    assert told[0] == told[1]
    listed = [json.loads(run("runs", "list", "--store", store, "--json")[1]) for store in ("runs", "elsewhere")]
    assert listed[0] == listed[1]


def test_merging_tells_what_it_kept_and_what_it_did_not_take(run, made):
    first, second, third, fourth = sorted(path.name for path in made.iterdir() if not path.name.startswith("."))
    run("runs", "pack", first[:8], second[:8], "-o", "good")
    run("runs", "pack", third, "-o", "bad")
    (bad,) = (made.parent / "bad").iterdir()
    bad.write_bytes(bad.read_bytes()[:-500])
    run("runs", "rm", first, third, fourth)
    with np.load(made / second / "predictions.npz") as arrays:
        other = dict(arrays) | {"best_logits": arrays["best_logits"] + 1}
    np.savez(made / second / "predictions.npz", **other)
    code, out, err = run("runs", "merge", "bad", "missing.zip", "good")
    assert (code, out) == (2, "1 new, 1 already here.\n")
    assert "Note: 1 of those already here have other numbers; what is here is kept." in err
    assert f"Not merged: bad/{bad.name} is not a whole archive of runs: " in err
    assert "Not merged: missing.zip does not exist" in err
    assert "Traceback" not in err
    code, out, _ = run("runs", "merge", "bad", "good", "--json")
    told = json.loads(out)
    assert code == 2
    assert (told["new"], told["here"], told["other"]) == ([], [first, second], [second])
    assert len(told["problems"]) == 1


def test_a_run_with_the_plan_of_another_is_not_merged(run, made):
    names = sorted(path.name for path in made.iterdir() if not path.name.startswith("."))
    (made / names[0]).rename(made / ("f" * 16))
    plan = made / names[1] / "plan.json"
    plan.write_text(plan.read_text().replace('"method": "', '"method": "no-'))
    code, out, err = run("runs", "merge", "runs", "--store", "elsewhere")
    assert (code, out) == (2, "2 new, 0 already here.\n")
    assert f"Not merged: run {'f' * 16} of runs is not taken: its plan is that of run {names[0]}." in err
    assert f"Not merged: run {names[1]} of runs is not taken: this plan has" in err
    assert "unknown method 'no-" in err


def test_features_that_do_not_fit_are_told(run, made, monkeypatch):
    from dissensus.records import pack

    monkeypatch.setattr("dissensus.records.pack", lambda *arguments: pack(*arguments, most=20_000))
    name = min(path.name for path in made.iterdir() if not path.name.startswith("."))
    with np.load(made / name / "predictions.npz") as arrays:
        features = np.random.default_rng(0).normal(size=(len(arrays["ids"]), 5000)).astype(np.float32)
        np.savez(made / name / "predictions.npz", **arrays, best_features=features)
    code, _, err = run("runs", "pack")
    assert code == 0
    assert f"Note: run {name} is packed without its features, which do not fit into one archive." in err
    assert f"copy its folder: runs/{name}" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["pack"], "InputError: runs holds no finished runs to pack."),
        (["pack", "3f2a"], "InputError: no run starts with '3f2a' in runs; it holds none."),
        (["merge"], "Missing argument 'FROM'"),
        (["merge", "."], "Not merged: . holds neither runs nor archives of runs."),
    ],
)
def test_nothing_to_hand_over_is_told(run, tmp_path, arguments, message):
    code, _, err = run("runs", *arguments)
    assert code == 2
    assert message in err
    assert not list(tmp_path.iterdir())


def test_unfinished_runs_are_counted_and_can_be_removed(run, tmp_path):
    from dissensus.records import RunStore

    store = RunStore("runs")
    for digit in "ab":
        with store.claim(digit * 16):
            (store.unfinished(digit * 16) / "checkpoint.safetensors").touch()
    code, out, _ = run("runs", "list")
    assert code == 0
    assert out.splitlines() == [
        "No runs in runs.",
        f"Unfinished: 2 ({'a' * 16}, {'b' * 16}). The command that began a run goes on where it was.",
    ]
    assert json.loads(run("runs", "list", "--json")[1]) == []
    assert run("runs", "rm", "aaaa")[:2] == (0, f"Removed {'a' * 16}\n")
    assert store.unfinished_names() == ["b" * 16]


def test_a_damaged_run_keeps_no_other_from_being_listed(run, own_data):
    run("compare", *OWN, "--methods", "majority,soft,sls", "--seeds", 1, "--epochs", 2, "--jobs", 1, "-q")
    torn, odd, whole = (row["run"] for row in json.loads(run("runs", "list", "--json")[1]))
    (own_data / "runs" / torn / "plan.json").unlink()
    (own_data / "runs" / odd / "history.csv").write_text("epoch,lr\n0,0.1\n")
    code, out, err = run("runs", "list")
    assert code == 2
    assert whole in out
    assert f"Damaged: run {torn} is damaged: plan.json is missing" in err
    assert f"Damaged: run {odd} is damaged: history.csv cannot be read (it has no soft_nll)" in err
    assert [row["run"] for row in json.loads(run("runs", "list", "--json")[1])] == [whole]


@pytest.mark.parametrize("votes", ["", "five", "labels.csv"])
def test_votes_beside_a_named_set_are_numbers(run, votes):
    code, _, err = run("compare", "--data", "glyphs", "--votes", votes)
    assert code == 2
    assert f"such as 5,10,all, but {votes!r} was given" in err


def test_train_makes_one_run(run):
    code, _, err = run("train", "--data", "glyphs", "--votes", "5,10")
    assert code == 2
    assert "train makes one run, with one number of votes an item, but 5,10 was given" in err


def test_models_are_looked_into_and_the_page_shows_it(run, own_data):
    few = (
        "--methods",
        "soft,sls",
        "--seeds",
        "2",
        "--votes",
        "labels.csv",
        "--inputs",
        "features.npy",
        "--epochs",
        "2",
    )
    code, _, err = run("compare", *few, "--diagnose", "--save-model", "--features", "--jobs", "1", "-q")
    assert code == 0, err
    page = (own_data / "report" / "index.html").read_text()
    assert '<section id="basin">' in page
    assert "λmax" in page
    assert "barrier" not in page
    code, out, err = run("diagnose")
    assert code == 0, err
    assert "Looking inside" in err
    assert "λmax, most disputed items" in out
    assert "barrier" in out
    assert "dissensus report runs" in out
    run("report", "runs", "-q")
    assert "barrier" in (own_data / "report" / "index.html").read_text()
    name = json.loads(run("runs", "list", "--json")[1])[0]["run"]
    (told,) = json.loads(run("diagnose", name[:6], "--json", "-q")[1])
    assert told["run"] == name
    assert {"best_epoch", "trace", "gradient_variance"} <= {one["name"] for one in told["diagnostics"]}


def test_without_weights_it_is_told_what_is_missing(run, own_data):
    run("train", *OWN, "--method", "soft", "--epochs", "2", "-q")
    code, out, err = run("diagnose", "-q")
    assert code == 0
    assert "best epoch" in out
    assert "kept its weights or its features" in err
    code, _, err = run("train", *OWN, "--method", "soft", "--epochs", "2", "--diagnose", "-q")
    assert code == 2
    assert "done already, without its diagnostics" in err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["diagnose"], "runs holds no runs"),
        (["diagnose", "3f2a"], "no run starts with '3f2a'"),
        (["diagnose", "."], ". is a folder, and names of runs were expected; say --store ."),
        (["train", "--data", "glyphs", "--ood", "svhn"], "give both"),
        (["train", "--data", "glyphs", "--diagnose", "--ood", "svnh"], "did you mean 'svhn'"),
    ],
)
def test_nothing_to_look_at_is_told(run, arguments, message):
    code, _, err = run(*arguments)
    assert code == 2
    assert message in err
