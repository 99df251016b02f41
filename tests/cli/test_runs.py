"""``dissensus runs``: listing, removing, and runs that are handed over."""

import json

import numpy as np
import pytest

from dissensus.cli import telling

OWN = ("--votes", "labels.csv", "--inputs", "features.npy")


@pytest.fixture
def made(run, own_data):
    """A store with four runs, made by training."""
    for method in ("majority", "soft"):
        for seed in (0, 1):
            code, _, err = run("train", *OWN, "--method", method, "--seed", seed, "--epochs", 1)
            assert code == 0, err
    return own_data / "runs"


def test_a_narrow_terminal_cuts_nothing_off(run, own_data, monkeypatch):
    told = json.loads(run("train", *OWN, "--epochs", 2, "--json")[1])
    monkeypatch.setattr(telling.out, "width", 60)
    lines = run("runs", "list")[1].splitlines()
    assert max(map(len, lines)) <= 60
    assert "…" not in "".join(lines)
    assert told["run"] in "".join(line.split()[0] for line in lines[1:] if not line.startswith(" "))
    (row,) = json.loads(run("runs", "list", "--json")[1])
    scores = {(r["metric"], r["checkpoint"], r["tempered"], r["against"]): r["value"] for r in told["records"]}
    assert row["soft_nll"] == pytest.approx(scores["soft_nll", "best", False, "human"], rel=1e-6)


@pytest.mark.parametrize(("width", "spared"), [(100, ""), (80, "epochs (1) and model (mlp)")])
def test_words_of_a_list_stay_whole(run, own_data, monkeypatch, width, spared):
    """Of 92 columns; those go first that are the same in all rows."""
    (own_data / "labels.csv").rename(own_data / "clean-label.csv")
    how = ("--inputs", "features.npy", "--methods", "soft,deterministic-control", "--epochs", 1, "--seeds", 2)
    assert run("compare", "--votes", "clean-label.csv", *how)[0] == 0
    monkeypatch.setattr(telling.out, "width", width)
    head, *lines = run("runs", "list")[1].splitlines()
    rows = [line.split() for line in lines]
    assert [row[1:3] for row in rows[:2]] == [["clean-label.csv", "deterministic-control"]] * 2
    assert max(map(len, lines)) <= width
    names = ["run", "data", "method", "votes", "seed", "model", "epochs", "soft", "NLL"]
    assert head.split() == [name for name in names if f"{name} (" not in spared]
    assert (f"No room here for {spared}; --json tells all." in " ".join(" ".join(lines).split())) == bool(spared)


def test_a_store_is_named_as_in_report(run, made):
    there = run("runs", "list")[1]
    made.rename(made.with_name("looked"))
    assert run("runs", "list", "looked")[1] == run("runs", "list", "--store", "looked")[1] == there
    code, _, err = run("runs", "list", "looked", "--store", "others")
    assert code == 2
    assert "looked and --store others do not go together" in err


def test_runs_of_ones_own_files_are_listed_by_file_and_method(run, made):
    head, *lines = run("runs", "list")[1].splitlines()
    assert head.split()[:3] == ["run", "data", "method"]
    assert [line.split()[1:3] for line in lines] == [["labels.csv", name] for name in ["majority"] * 2 + ["soft"] * 2]
    assert {(row["data"], row["file"]) for row in json.loads(run("runs", "list", "--json")[1])} == {
        ("own", "labels.csv")
    }


def test_runs_are_listed_by_their_number_of_votes_and_seed(run, own_data):
    for votes, seed in (("all", 0), (10, 0), (5, 2), (5, 1), (5, 10)):
        code, _, err = run("train", *OWN, "--per-item", votes, "--seed", seed, "--draw", "resample", "--epochs", 1)
        assert code == 0, err
    head, *lines = run("runs", "list")[1].splitlines()
    for name, told in {"votes": ["5", "5", "5", "10", "all"], "seed": ["1", "2", "10", "0", "0"]}.items():
        assert [line.split()[head.split().index(name)] for line in lines] == told


def test_runs_that_kept_their_weights_are_marked(run, own_data):
    for seed, options in ((0, []), (1, ["--save-model"])):
        assert run("train", *OWN, "--seed", seed, "--epochs", 1, *options)[0] == 0
        head, *lines = run("runs", "list")[1].splitlines()
        assert ("weights" in head) == (seed == 1)
    assert [line.split()[-1] == "kept" for line in lines] == [False, True]
    assert [row["weights"] for row in json.loads(run("runs", "list", "--json")[1])].count("kept") == 1


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
    assert "take their places with --replace" in " ".join(err.split())
    assert run("runs", "merge", "good", "--replace")[:2] == (0, "0 new, 1 already here, 1 replaced.\n")
    assert run("runs", "merge", "good", "--replace")[:2] == (0, "0 new, 2 already here.\n")


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
