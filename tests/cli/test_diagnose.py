"""``dissensus diagnose``, and ``--diagnose`` of the others."""

import json

import numpy as np
import pytest

OWN = ("--votes", "labels.csv", "--inputs", "features.npy")


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


def test_many_runs_are_told_by_method_and_named_ones_one_by_one(run, own_data):
    few = ("--methods", "soft,sls", "--seeds", "3", "--epochs", "2", "--jobs", "1", "-q")
    assert run("compare", *OWN, *few)[0] == 0
    code, out, err = run("diagnose", "-q")
    assert code == 0, err
    assert "Inside the models, at the best epoch" in out
    assert "Means over 3 seeds" in out
    assert "run " not in out
    assert out.endswith("The page shows them, too: dissensus report runs\n")
    names = [one["run"] for one in json.loads(run("runs", "list", "--json")[1])]
    _, out, _ = run("diagnose", *names, "-q")
    assert out.count(": run ") == 6
    run("train", "--data", "glyphs", "--option", "items=60", "--method", "soft", "--epochs", "1", "-q")
    code, out, err = run("diagnose", "-q")
    assert code == 0
    assert "told run by run, since" in err
    assert out.count(": run ") == 7
    assert out.endswith("dissensus report runs --where KEY=VALUE\n")
    assert run("report", "runs", "-q")[0] == 2  # of two comparisons, one has to be chosen


def test_without_weights_it_is_told_what_is_missing(run, own_data):
    few = ("--method", "soft", "--epochs", "2", "--per-item", "1", "-q")
    run("train", *OWN, *few)
    code, out, err = run("diagnose", "-q")
    assert code == 0
    assert "soft, 1 vote, seed 0: run " in out
    assert "best epoch" in out
    assert "kept its weights or its features" in err
    code, _, err = run("train", *OWN, *few, "--diagnose")
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


def test_data_that_are_not_found_from_another_folder_are_told_as_they_were_given(run, own_data, monkeypatch):
    assert run("train", *OWN, "--epochs", "1", "--save-model", "-q")[0] == 0
    (own_data / "elsewhere").mkdir()
    monkeypatch.chdir(own_data / "elsewhere")
    code, _, err = run("diagnose", "--store", "../runs", "-q")
    assert code == 2
    assert "cannot be read again: labels.csv does not exist" in err
    assert "given as labels.csv and features.npy: give this command in the folder where the run was made" in err


@pytest.mark.parametrize("command", ["train", "compare"])
def test_images_that_the_model_cannot_take_are_told_before_the_training(run, own_data, monkeypatch, command):
    monkeypatch.setenv("DISSENSUS_DATA", str(own_data / "sets"))
    (own_data / "sets" / "ood").mkdir(parents=True)
    np.savez(own_data / "sets" / "ood" / "noise.npz", images=np.zeros((5, 32, 32, 3), np.uint8))
    code, _, err = run(command, "--data", "glyphs", "--option", "items=90", "--diagnose", "--ood", "noise")
    assert code == 2
    assert "noise has images of the shape (3, 32, 32), but the model takes (3, 20, 20)" in err
    assert not (own_data / "runs").exists()
