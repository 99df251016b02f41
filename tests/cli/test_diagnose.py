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
    assert "The page: report/index.html" in out
    page = (own_data / "report" / "index.html").read_text()
    assert '<section id="basin">' in page
    assert "barrier" in page
    name = json.loads(run("runs", "list", "--json")[1])[0]["run"]
    (told,) = json.loads(run("diagnose", name[:6], "--json", "-q")[1])
    assert told["run"] == name
    assert "dissensus report runs" in run("diagnose", name, "-q")[1]  # the page of all is not taken by that of one
    assert (own_data / "report" / "index.html").read_text() == page
    assert "The page: one/index.html" in run("diagnose", name, "--out", "one", "-q")[1]
    assert '<section id="basin">' in (own_data / "one" / "index.html").read_text()
    assert {"best_epoch", "trace", "gradient_variance"} <= {one["name"] for one in told["diagnostics"]}


def test_many_runs_are_told_by_method_and_named_ones_one_by_one(run, own_data):
    few = ("--methods", "soft,sls", "--seeds", "3", "--epochs", "2", "--jobs", "1", "-q")
    assert run("compare", *OWN, *few)[0] == 0
    code, out, err = run("diagnose", "-q")
    assert code == 0, err
    assert "Inside the models, at the best epoch" in out
    assert "Means over 3 seeds" in out
    assert "run " not in out
    names = [one["run"] for one in json.loads(run("runs", "list", "--json")[1])]
    _, out, _ = run("diagnose", *names, "-q")
    assert out.count(": run ") == 6
    run("train", "--data", "glyphs", "--option", "items=60", "--method", "soft", "--epochs", "1", "-q")
    code, out, err = run("diagnose", "-q")
    assert code == 0
    assert "told run by run, and on no page, since" in err
    assert out.count(": run ") == 7
    assert "The page" not in out  # two sets of data have none in common


def test_a_store_of_two_comparisons_is_told_by_choosing_one(run, own_data):
    few = ("--methods", "soft,sls", "--seeds", "3", "--epochs", "1", "--jobs", "1", "-q")
    assert run("compare", *OWN, *few)[0] == 0
    run("train", "--data", "glyphs", "--option", "items=60", "--method", "soft", "--epochs", "1", "-q")
    before = (own_data / "report" / "index.html").read_text()
    code, out, err = run("diagnose", "--where", "data.name=glyphs", "-q")
    assert code == 0, err
    assert out.count(": run ") == 1
    assert "report/index.html is another page" in err
    assert "The page: report-2/index.html" in out
    assert (own_data / "report" / "index.html").read_text() == before
    code, out, err = run("diagnose", "--where", "data.name=own", "-q")
    assert code == 0, err
    assert "The page: report/index.html" in out
    assert '<section id="basin">' in (own_data / "report" / "index.html").read_text()
    _, out, err = run("diagnose", "--where", "method=sls", "--json", "-q")
    assert len(json.loads(out)) == 3
    assert "this one is report-3" in err  # of fewer methods than the first page
    code, _, err = run("diagnose", "--out", "both", "-q")
    assert code == 2
    assert "as in --where data.name=" in err
    assert not (own_data / "both").exists()


def test_what_was_found_is_told_where_no_page_can_be_written(run, own_data):
    assert run("train", *OWN, "--epochs", "1", "-q")[0] == 0
    (own_data / "report").write_text("a file")
    code, out, err = run("diagnose", "-q")
    assert code == 0, err
    assert "best epoch" in out
    assert "the page was not written: cannot write the page to report" in err
    code, _, err = run("diagnose", "--out", "report", "-q")
    assert code == 2
    assert "cannot write the page to report" in err


def test_without_weights_it_is_told_what_is_missing(run, own_data):
    few = ("--method", "soft", "--epochs", "2", "--per-item", "1", "-q")
    run("train", *OWN, *few)
    code, out, err = run("diagnose", "-q")
    assert code == 0
    assert "soft, 1 vote, seed 0: run " in out
    assert "best epoch" in out
    assert "kept its weights or its features" in err
    assert f"trained again: dissensus train {' '.join(OWN)} --method soft ... --diagnose" in err
    run("compare", *OWN, "--methods", "soft", "--seeds", 2, "--epochs", 1, "--store", "two", "--jobs", 1, "-q")
    assert f"dissensus compare {' '.join(OWN)} --store two ... --diagnose" in run("diagnose", "--store", "two", "-q")[2]
    code, _, err = run("train", *OWN, *few, "--diagnose")
    assert code == 0
    assert "was made without its diagnostics: it is trained again" in err
    assert "kept its weights" not in run("diagnose", "-q")[2]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["diagnose"], "runs holds no runs"),
        (["diagnose", "3f2a"], "no run starts with '3f2a'"),
        (["diagnose", "3f2a", "--where", "method=sls"], "--where and names of runs do not go together"),
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
