"""What all commands have in common: help, version, what they need, and how they end."""

import signal
import subprocess
import sys
from functools import partial
from itertools import takewhile

import pytest

OWN = ("--votes", "labels.csv", "--inputs", "features.npy")


def test_help_teaches_with_an_example(run):
    for command in (
        ["demo"],
        ["votes"],
        ["train"],
        ["compare"],
        ["diagnose"],
        ["reproduce"],
        ["report"],
        ["runs", "list"],
        ["runs", "show"],
        ["runs", "rm"],
        ["runs", "pack"],
        ["runs", "merge"],
        ["data", "list"],
        ["data", "get"],
        ["data", "path"],
    ):
        code, out, _ = run(*command, "--help")
        assert code == 0
        assert "Example" in out
        assert f"dissensus {' '.join(command)}" in out


def test_help_says_where_a_tie_goes(run):
    words = " ".join(run("compare", "--help")[1].replace("│", " ").split())
    assert (
        "a tie goes to the data set's own label, if it has one and that is among the tied, else to the first" in words
    )


def test_help_says_what_is_trained_and_how_long_if_nobody_does(run):
    from dissensus.experiment.defaults import CIFAR, DEFAULTS, SMALL, TEXT

    epochs = {name: recipe["epochs"] for name, recipe in TEXT.items()}
    words = " ".join(run("compare", "--help")[1].replace("│", " ").split())
    for told in (
        f"{' and '.join(DEFAULTS)} bring the published ones ({CIFAR.model}, {CIFAR.recipe['epochs']} epochs, ",
        f"(frozen, {epochs.pop('frozen')} epochs; with --model fine-tuned {epochs.pop('fine-tuned')} epochs)",
        f"anything else a small model ({SMALL['epochs']} epochs)",
    ):
        assert told in words
    assert not epochs


def test_version(run):
    from dissensus import __version__

    assert run("--version")[:2] == (0, f"{__version__}\n")


@pytest.mark.parametrize(
    ("command", "extras"),
    [("demo", "train,report"), ("compare", "train,report"), ("train", "train"), ("report", "report")],
)
def test_all_that_a_command_needs_is_named_before_it_starts(run, tmp_path, monkeypatch, command, extras):
    monkeypatch.setattr("dissensus.cli.extras.find_spec", lambda module: None)
    code, _, err = run(command)
    assert code == 2
    assert err.startswith("MissingExtra: ")
    assert f'pip install "dissensus[{extras}]"' in err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_store_that_cannot_be_written_ends_it(run, own_data, jobs):
    (own_data / "runs").mkdir()
    (own_data / "runs" / ".claims").write_text("a file stands where the locks should be")
    code, _, err = run("compare", *OWN, "--methods", "soft,majority", "--seeds", 1, "--epochs", 1, "--jobs", jobs)
    assert code == 2
    assert "StoreError: cannot write to the run store runs: File exists." in err
    assert "Traceback" not in err
    assert not (own_data / "report").exists()


@pytest.mark.parametrize("command", ["train", "compare"])
def test_a_store_that_is_a_file_is_told_before_anything_is_read(run, own_data, command):
    (own_data / "runs").write_text("a file stands where the store should be")
    code, _, err = run(command, *OWN, "--epochs", 1)
    assert code == 2
    assert "StoreError: cannot write to the run store runs: runs is a file. Give a folder by --store." in err
    assert "Reading the data" not in err
    assert "Traceback" not in err
    assert not (own_data / "report").exists()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_comparison_goes_on_where_it_was(run, own_data, number, code):
    # one job: that workers stop, too, is shown in tests/experiment/test_sweep.py, and each takes seconds to start
    arguments = ["compare", *OWN, "--methods", "soft", "--seeds", "3", "--epochs", "150", "--jobs", "1"]
    command = [sys.executable, "-m", "dissensus", *arguments]
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
    assert err.count("done before") == len(done)
