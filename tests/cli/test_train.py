"""``dissensus train``: what it prints, what it leaves, and its exit codes."""

import io
import json

import numpy as np
import pytest

OWN = ("--votes", "labels.csv", "--inputs", "features.npy")


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


def test_a_score_that_is_no_number_is_null(run, own_data):
    """Where nobody disagrees, no entropy can be correlated with theirs."""
    rows = [f"{item},{who},{'cat' if item % 2 else 'dog'}" for item in range(60) for who in "abc"]
    (own_data / "labels.csv").write_text("\n".join(["item,annotator,label", *rows]) + "\n")
    np.save(own_data / "features.npy", np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32))
    code, out, err = run("train", *OWN, "--epochs", 1, "--json")
    assert code == 0, err
    values = {record["metric"]: record["value"] for record in json.loads(out)["records"]}
    assert values["entropy_correlation"] is None
    assert values["accuracy"] is not None


def test_train_keeps_features_on_request(run, own_data):
    arguments = ("train", *OWN, "--method", "soft", "--epochs", 1, "--json")
    code, out, err = run(*arguments, "--features")
    assert code == 0, err
    with np.load(own_data / json.loads(out)["path"] / "predictions.npz") as arrays:
        assert arrays["best_features"].shape[0] == len(arrays["ids"])


def test_a_run_without_its_weights_is_made_again_for_them(run, own_data):
    arguments = ("train", *OWN, "--method", "soft", "--epochs", 2, "--json")
    before = json.loads(run(*arguments, "--diagnose")[1])
    folder = own_data / before["path"]
    found = (folder / "diagnostics.csv").read_text()
    predictions = (folder / "predictions.npz").read_bytes()
    code, out, err = run(*arguments, "--save-model")
    assert code == 0, err
    note = f"run {before['run']} was made without its weights: it is trained again, and replaced when that is done."
    assert err.count(note) == 1
    assert json.loads(out) == before  # the same numbers
    assert (folder / "predictions.npz").read_bytes() == predictions
    assert (folder / "diagnostics.csv").read_text() == found
    assert run("predict", before["run"], "--inputs", "features.npy", "-o", "predictions.csv")[0] == 0
    code, _, err = run(*arguments, "--save-model")
    assert (code, "trained again" in err, "done before" in err) == (0, False, True)
    code, _, err = run(*arguments, "--features")
    assert code == 0
    assert "without its features" in err
    assert (folder / "model.safetensors").exists()  # what it had it still has


def test_a_run_stays_until_the_one_that_takes_its_place_is_done(run, own_data):
    arguments = ("train", *OWN, "--method", "soft", "--epochs", 700)
    assert run(*arguments)[0] == 0
    (path,) = (own_data / "runs").glob("*/predictions.npz")
    before = path.read_bytes()
    seconds, code = 0.6, 3
    while code == 3:
        assert path.read_bytes() == before
        assert not (path.parent / "model.safetensors").exists()
        code, *_ = run(*arguments, "--save-model", "--budget", f"{seconds}s")
        seconds *= 1.5
    assert code == 0
    assert (path.parent / "model.safetensors").exists()
    with np.load(path) as now, np.load(io.BytesIO(before)) as then:
        assert np.array_equal(now["last_logits"], then["last_logits"])


def test_damaged_features_are_computed_again_with_a_line(run, own_texts, tiny_encoder):
    arguments = ("train", "--votes", "labels.csv", "--texts", "texts.csv", "--encoder", tiny_encoder, "--epochs", 1)
    assert run(*arguments, "--seed", 0)[0] == 0
    (kept,) = (own_texts / "data" / "cache").iterdir()
    kept.write_bytes(b"")
    code, _, err = run(*arguments, "--seed", 1)
    assert code == 0
    assert "is damaged" in " ".join(err.split())
    assert "the features of the texts are computed again" in " ".join(err.split())  # wherever the line is broken


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


def test_quiet_is_quiet(run, own_data):
    code, out, err = run("train", *OWN, "--epochs", 2, "--quiet", "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["run"]


def test_a_recipe_is_changed_field_by_field(run, own_data):
    fields = ("--recipe", "lr=.02", "--recipe", "batch_size=16", "--epochs", 1, "--select", 0)
    code, out, err = run("train", *OWN, *fields, "--json")
    assert code == 0, err
    plan = json.loads((own_data / json.loads(out)["path"] / "plan.json").read_text())
    assert [plan["recipe"][field] for field in ("lr", "batch_size", "epochs", "momentum")] == [0.02, 16, 1, 0.9]
    assert plan["split"] == {"test": 0.2, "select": 0.0}


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


def test_train_makes_one_run(run):
    code, _, err = run("train", "--data", "glyphs", "--votes", "5,10")
    assert code == 2
    assert "train makes one run, with one number of votes an item, but 5,10 was given" in err


@pytest.mark.parametrize(("select", "told"), [("0.1", "on the selection items"), ("0", "on the evaluation items")])
def test_the_scores_of_a_run_say_what_they_are(run, own_data, select, told):
    code, out, err = run("train", *OWN, "--epochs", 1, "--select", select)
    assert code == 0, err
    shown = " ".join(out.split())
    assert "KL ↓" in shown
    assert "accuracy ↑" in shown
    assert told in shown
