"""``dissensus predict``: from training to a table of predictions, and what is said when that cannot be."""

import csv
import json
import shlex
import subprocess
import sys
from io import StringIO
from pathlib import Path

import numpy as np
import polars as pl
import pytest

OWN = ("--votes", "labels.csv", "--inputs", "features.npy")
FAST = ("--epochs", 2, "--json", "--quiet")


@pytest.fixture
def train(run):
    """Train and keep the model; returns the name of the run."""

    def call(*arguments):
        code, out, err = run("train", *arguments, "--save-model", *FAST)
        assert code == 0, err
        return json.loads(out)["run"]

    return call


def stored(name, store="runs"):
    with np.load(Path(store) / name / "predictions.npz") as arrays:
        return dict(arrays)


def softmax(logits, temperature=1.0):
    shares = np.exp(logits.astype(float) / temperature)
    return shares / shares.sum(1, keepdims=True)


def probs_of(rows, classes="abc"):
    return np.array([[float(row[f"p_{name}"]) for name in classes] for row in rows])


def read(text):
    return list(csv.DictReader(StringIO(text)))


def test_what_train_prints_last_is_the_next_command(run, own_data):
    code, out, err = run("train", *OWN, "--epochs", 1, "--save-model", "--store", "my runs")
    assert code == 0, err
    (name,) = (path.name for path in (own_data / "my runs").iterdir() if not path.name.startswith("."))
    line = out.strip().splitlines()[-1]
    assert line == f"dissensus predict {name} --store 'my runs' --inputs NEW -o predictions.csv"
    assert "dissensus predict" not in run("train", *OWN, "--epochs", 1, "--store", "without")[1]
    code, out, err = run("predict", name, "--store", "my runs", "--inputs", "features.npy", "-o", "predictions.csv")
    assert code == 0, err
    assert "The predictions: predictions.csv" in out


def test_compare_that_keeps_models_names_the_next_command_too(run, own_data):
    how = ("--methods", "soft,majority", "--seeds", 2, "--epochs", 1, "--store", "my runs", "--save-model")
    code, out, err = run("compare", *OWN, *how)
    assert code == 0, err
    told = "A model does: soft, seed 0, or another that dissensus runs list --store 'my runs' names:"
    assert told in " ".join(out.split())
    line = out.strip().splitlines()[-1]
    assert line.endswith(" --store 'my runs' --inputs NEW -o predictions.csv")
    code, out, err = run(*shlex.split(line)[1:-3], "features.npy", "--quiet")
    assert code == 0, err
    assert len(read(out)) == len(np.load("features.npy"))
    assert "--inputs NEW" not in run("compare", *OWN, *how[:-1])[1]
    assert isinstance(json.loads(run("compare", *OWN, *how, "--json", "--quiet")[1]), dict)


def test_own_items_come_back_with_what_was_said_of_them(run, own_data, train):
    name = train(*OWN)
    arrays = stored(name)
    wanted = [int(item) for item in arrays["ids"]]
    np.savez("new.npz", inputs=np.load("features.npy")[wanted], ids=[f"new {item}" for item in wanted])
    code, out, err = run("predict", name[:5], "--inputs", "new.npz", "-o", "p.csv")
    assert code == 0, err
    rows = read(Path("p.csv").read_text())
    assert list(rows[0]) == ["item", "predicted", "entropy", "p_a", "p_b", "p_c"]
    assert [row["item"] for row in rows] == [f"new {item}" for item in wanted]
    probs = probs_of(rows)
    np.testing.assert_allclose(probs, softmax(arrays["best_logits"]), atol=1e-6)
    assert [row["predicted"] for row in rows] == ["abc"[best] for best in probs.argmax(1)]
    entropy = -(probs * np.log(probs)).sum(1)
    np.testing.assert_allclose([float(row["entropy"]) for row in rows], entropy, atol=1e-9)
    assert f"12 items by run {name} (multipass, seed 0)" in out
    assert f"the mean entropy is {entropy.mean():.3f} nats (0: sure, 1.099: all classes alike)" in out
    shown = out.partition("Most disputed items")[2]
    assert shown.index(rows[int(np.argsort(-entropy)[0])]["item"]) < shown.index(
        rows[int(np.argsort(-entropy)[4])]["item"]
    )
    assert rows[int(entropy.argmin())]["item"] not in shown


def test_without_a_file_standard_output_is_csv_and_nothing_else(run, own_data, train):
    name = train(*OWN)
    code, out, err = run("predict", f"runs/{name}", "--inputs", "features.npy")
    assert code == 0
    assert [row["item"] for row in read(out)] == [str(item) for item in range(60)]
    assert "60 items by run" in err
    code, quiet, err = run("predict", f"runs/{name}/", "--inputs", "features.npy", "--quiet")
    assert (code, quiet, err) == (0, out, "")


def test_who_reads_may_stop(own_data, train):
    name = train(*OWN)
    np.save("many.npy", np.tile(np.load("features.npy"), (500, 1)))
    command = f"{sys.executable} -m dissensus predict {name} --inputs many.npy | head -n 1"
    ended = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout) == (0, "item,predicted,entropy,p_a,p_b,p_c\n"), ended.stderr
    assert "Error" not in ended.stderr


def test_json_has_the_predictions_or_says_where_they_are(run, own_data, train):
    name = train(*OWN)
    arguments = ("predict", name, "--inputs", "features.npy", "--json", "--quiet")
    code, out, err = run(*arguments)
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert (told["run"], told["items"], told["temperature"], told["file"]) == (name, 60, None, None)
    probs = probs_of(told["predictions"])
    np.testing.assert_allclose([told["shares"][one] for one in "abc"], probs.mean(0))
    assert told["most_disputed"] == [
        told["predictions"][place]["item"] for place in np.argsort([-row["entropy"] for row in told["predictions"]])[:5]
    ]
    written = json.loads(run(*arguments, "-o", "deeper/p.csv")[1])
    assert (written["file"], written["predictions"]) == ("deeper/p.csv", None)
    assert {**written, "file": None, "predictions": None} == {**told, "file": None, "predictions": None}


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_tables_of_every_kind_hold_the_same(ending, run, own_data, train):
    name = train(*OWN)
    readers = {"tsv": lambda path: pl.read_csv(path, separator="\t"), "jsonl": pl.read_ndjson}
    reader = readers.get(ending, getattr(pl, f"read_{ending}", None))
    assert run("predict", name, "--inputs", "features.npy", "-o", f"p.{ending}")[0] == 0
    table = reader(own_data / f"p.{ending}")
    told = json.loads(run("predict", name, "--inputs", "features.npy", "--json")[1])["predictions"]
    assert table.with_columns(pl.col("item").cast(pl.String)).to_dicts() == told


def test_a_temperature_is_that_of_the_selection_items(run, own_data, train):
    from dissensus.metrics import fit_temperature

    name = train(*OWN)
    arrays = stored(name)
    temperature = fit_temperature(arrays["select_best_logits"], arrays["select_target"])
    code, out, err = run("predict", name, "--inputs", "features.npy", "--temperature", "--json")
    assert code == 0, err
    told = json.loads(out)
    assert told["temperature"] == pytest.approx(temperature)
    probs = probs_of(told["predictions"])[arrays["ids"].astype(int)]
    np.testing.assert_allclose(probs, softmax(arrays["best_logits"], temperature), atol=1e-5)
    err = run("predict", name, "--inputs", "features.npy", "--temperature")[2]
    assert f"after a temperature of {temperature:.3f}" in err


def test_a_run_without_selection_items_has_no_temperature(run, own_data, train):
    name = train(*OWN, "--select", 0)
    code, _, err = run("predict", name, "--inputs", "features.npy", "--temperature")
    assert code == 2
    assert f"run {name} set no selection items aside (--select 0), so there are no votes to fit a temperature to" in err


def test_images_are_read_as_the_run_read_them(run, own_data, train):
    from PIL import Image

    drawn = np.random.default_rng(0)
    for folder, ids in (("images", range(60)), ("new", ["x", "y", 3])):
        (own_data / folder).mkdir()
        for item in ids:
            pixels = drawn.integers(0, 256, (12, 10, 3), np.uint8)
            Image.fromarray(pixels).save(own_data / folder / f"{item}.png")
    name = train("--votes", "labels.csv", "--inputs", "images", "--option", "size=[10,8]")
    arrays = stored(name)
    code, out, err = run("predict", name, "--inputs", "images", "--json")
    assert code == 0, err
    rows = {row["item"]: row for row in json.loads(out)["predictions"]}
    said = probs_of([rows[item] for item in arrays["ids"]])
    np.testing.assert_allclose(said, softmax(arrays["best_logits"]), atol=1e-6)
    assert [row["item"] for row in read(run("predict", name, "--inputs", "new")[1])] == ["3", "x", "y"]
    code, _, err = run("predict", name, "--inputs", "new", "--option", "size=[12,10]")
    assert code == 2
    assert "trained with images (3, 10, 8), but these are images (3, 12, 10)." in err
    assert "with --option size=[10,8]" in err


def test_ids_of_images_have_endings_where_those_of_the_run_have(run, own_data, train):
    from PIL import Image

    (own_data / "images").mkdir()
    for item in range(60):
        Image.fromarray(np.full((8, 8), 4 * item, np.uint8)).save(own_data / "images" / f"{item}.png")
    rows = [line.split(",", 1) for line in (own_data / "labels.csv").read_text().splitlines()[1:]]
    lines = ["item,annotator,label", *(f"{item}.png,{rest}" for item, rest in rows)]
    (own_data / "labels.csv").write_text("\n".join(lines) + "\n")
    name = train("--votes", "labels.csv", "--inputs", "images")
    rows = read(run("predict", name, "--inputs", "images")[1])
    assert [row["item"] for row in rows] == sorted(f"{item}.png" for item in range(60))


def test_more_images_than_votes_in_folders_inside_and_some_that_are_lost(run, own_data, train):
    """The way of someone who annotated a part of a folder, from a comparison to predictions on all of it."""
    from PIL import Image

    rows = [line.split(",") for line in (own_data / "labels.csv").read_text().splitlines()[1:]]
    lines = ["item,annotator,label", *(f"photos/{'ab'[int(item) % 2]}/{item},{who},{it}" for item, who, it in rows)]
    (own_data / "labels.csv").write_text("\n".join(lines) + "\n")
    for item in range(2, 70):  # 0 and 1 are lost, and nobody voted on the last ten
        (own_data / "photos" / "ab"[item % 2]).mkdir(parents=True, exist_ok=True)
        pixels = np.full((8, 8), 3 * item, np.uint8)
        Image.fromarray(pixels).save(own_data / "photos" / "ab"[item % 2] / f"{item}.png")
    images = ("--votes", "labels.csv", "--inputs", "photos")
    compare = ("compare", *images, "--methods", "soft", "--seeds", 1, "--epochs", 1, "--jobs", 1)
    code, _, err = run(*compare)
    assert code == 2
    assert "2 items ('photos/a/0', 'photos/b/1') have votes but no input in photos." in err
    assert err.endswith('or leave those votes out with --option others="drop"\n')
    code, out, err = run(*compare, "--option", *shlex.split(err.split()[-1]))
    assert code == 0, err
    assert "Note: Items without inputs are left out: 2 of 60 (first: 'photos/a/0')." in err
    assert "Note: Inputs without votes are left out: 10 of 68 (first: 'photos/a/60')." in err
    assert "--option others=drop --epochs 1 --method" in out

    name = train(*images, "--option", "others=drop", "--method", "soft")
    rows = read(run("predict", name, "--inputs", "photos")[1])
    assert {row["item"] for row in rows} == {f"photos/{'ab'[item % 2]}/{item}" for item in range(2, 70)}
    (own_data / "photos" / "new").mkdir()
    (own_data / "photos" / "a" / "2.png").rename(own_data / "photos" / "new" / "2.png")
    (own_data / "photos" / "a" / "68.png").unlink()
    rows = read(run("predict", name, "--inputs", "photos/new")[1])
    assert [row["item"] for row in rows] == ["2"]


def test_left_out_images_do_not_change_a_run_and_lost_ones_do(run, own_data, train):
    from PIL import Image

    (own_data / "images" / "more").mkdir(parents=True)
    for item in range(60):
        Image.fromarray(np.full((8, 8), 4 * item, np.uint8)).save(own_data / "images" / f"{item}.png")
    images = ("--votes", "labels.csv", "--inputs", "images", "--option", "others=drop")
    name = train(*images)
    Image.fromarray(np.full((9, 9, 3), 4, np.uint8)).save(own_data / "images" / "more" / "7.png")
    assert train(*images) == train(*images[:4]) == name
    (own_data / "images" / "8.png").rename(own_data / "8.png")
    assert train(*images) != name
    (own_data / "8.png").rename(own_data / "images" / "8.png")
    assert train(*images) == name


@pytest.mark.parametrize("model", ["frozen", "fine-tuned"])
def test_texts(model, run, own_texts, train, tiny_encoder):
    name = train("--votes", "labels.csv", "--texts", "texts.csv", "--model", model, "--encoder", tiny_encoder)
    arrays = stored(name)
    lines = (own_texts / "texts.csv").read_text().splitlines()[1:]
    (own_texts / "new.csv").write_text(
        "sentence;key\n" + "".join(f"{text};{key}\n" for key, text in (line.split(",") for line in lines))
    )
    named = ("--option", "text=sentence", "--option", "ids=key")
    code, out, err = run("predict", name, "--texts", "new.csv", *named)
    assert code == 0, err
    rows = read(out)
    assert [row["item"] for row in rows] == [str(item) for item in range(60)]
    probs = probs_of([rows[int(item)] for item in arrays["ids"]])
    np.testing.assert_allclose(probs, softmax(arrays["best_logits"]), atol=1e-6)
    assert "Encoding 60 texts ..." in err or model == "frozen"
    (own_texts / "column.csv").write_text("text\n" + "".join(line.split(",")[1] + "\n" for line in lines))
    code, out, err = run("predict", name, "--texts", "column.csv", "--quiet")
    assert code == 0, err
    assert [row["item"] for row in read(out)] == [str(item) for item in range(60)]
    np.testing.assert_allclose(probs_of(read(out)), probs_of(rows), atol=1e-6)
    code, _, err = run("predict", name, "--texts", "texts.csv", "--encoder", "./nowhere")
    assert code == 2
    assert "which cannot be had: there is no folder ./nowhere" in err
    (own_texts / "pairs.csv").write_text("id,text,text_pair\n1,a man,a dog\n")
    code, _, err = run("predict", name, "--texts", "pairs.csv")
    assert code == 2
    assert f"run {name} was trained with texts, but these are pairs of texts" in err


def test_from_an_export_with_its_texts_to_predictions_of_each(run, own_texts, train, tiny_encoder):
    lines = [
        {"text": f"a man sleeps {'outside ' * item}.", "_input_hash": 7 * item, "_task_hash": item, "answer": "accept"}
        | {"accept": ["ab"[(item + who) % 3 == 0]], "_session_id": f"s{who}"}
        for item in range(40)
        for who in range(3)
    ]
    (own_texts / "prodigy.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert "--votes prodigy.jsonl --texts prodigy.jsonl" in run("votes", "prodigy.jsonl")[1]
    name = train("--votes", "prodigy.jsonl", "--texts", "prodigy.jsonl", "--encoder", tiny_encoder)
    code, out, err = run("predict", name, "--texts", "prodigy.jsonl")
    assert code == 0, err
    assert [row["item"] for row in read(out)] == [str(7 * item) for item in range(40)]
    assert "Note: 80 of 120 rows in prodigy.jsonl repeat an id and its text; each is read once: 40 items." in err
    assert "unknown option of new items 'say'" in run("predict", name, "--texts", "x.csv", "--option", "say=a")[2]


@pytest.fixture
def export(own_texts):
    """Votes and texts in one file, none of whose columns has a usual name."""
    texts = dict(line.split(",") for line in (own_texts / "texts.csv").read_text().splitlines()[1:])
    rows = [line.split(",") for line in (own_texts / "labels.csv").read_text().splitlines()[1:]]
    lines = [f"u/{item};{who};{label};{texts[item]}" for item, who, label in rows]
    (own_texts / "export.csv").write_text("\n".join(["Post URL;Moderator;Severity;Comment text", *lines]) + "\n")
    return ("--item", "Post URL", "--label", "Severity", "--annotator", "Moderator", "--text", "Comment text")


def test_columns_are_named_as_in_training(run, own_texts, export, tiny_encoder):
    files = ("--votes", "export.csv", "--texts", "export.csv")
    code, out, err = run("train", *files, *export, "--encoder", tiny_encoder, "--epochs", 1, "--save-model")
    assert code == 0, err
    line = out.strip().splitlines()[-1]
    assert line.endswith("--texts NEW.csv --option 'item=Post URL' --option 'text=Comment text' -o predictions.csv")
    name = shlex.split(line)[2]
    (own_texts / "NEW.csv").write_text("Post URL;Comment text\nn/1;a man sleeps .\nn/2;\nn/3;the dog runs .\n")
    code, out, err = run(*shlex.split(line)[1:])
    assert code == 2
    assert err.endswith('NEW.csv, line 3: there is no text. Leave such items out with --option others="drop"\n')
    code, out, err = run("predict", name, "--texts", "NEW.csv", "--others", "drop", "--json", "--quiet")
    assert code == 0, err
    assert err.splitlines() == [
        "Note: Columns are named as in training: item='Post URL' and text='Comment text'.",
        "Note: Items without a text are left out: 1 of 3 (first: 'n/2').",
    ]
    said = json.loads(out)["predictions"]
    assert [row["item"] for row in said] == ["n/1", "n/3"]
    (own_texts / "usual.csv").write_text("id,text\nn/1,a man sleeps .\nn/3,the dog runs .\n")
    code, out, err = run("predict", name, "--texts", "usual.csv", "--json", "--quiet")
    assert (code, err, json.loads(out)["predictions"]) == (0, "", said)
    (own_texts / "url.csv").write_text("url,Comment text\nn/1,a man sleeps .\nn/3,the dog runs .\n")
    code, out, err = run("predict", name, "--texts", "url.csv", "--json", "--quiet")
    assert [row["item"] for row in json.loads(out)["predictions"]] == ["0", "1"]
    assert "Note: Rows of url.csv are numbered from 0: no column is called id, item or task." in err
    for named in (("--item", "url"), ("--option", "item=url"), ("--option", "ids=url")):
        code, out, err = run("predict", name, "--texts", "url.csv", *named, "--json", "--quiet")
        assert (code, json.loads(out)["predictions"]) == (0, said), err
    code, _, err = run("predict", name, "--texts", "url.csv", "--item", "url", "--ids", "url")
    assert (code, "item and ids both name the column of the ids; give one of them." in err) == (2, True)


def test_the_column_of_ids_of_features_is_that_of_training(run, own_data):
    features = np.load("features.npy")
    rows = [f"{row[0]:.4f},{item},{row[1]:.4f}" for item, row in enumerate(features)]
    Path("table.csv").write_text("\n".join(["a,key,b", *rows]) + "\n")
    given = ("--votes", "labels.csv", "--inputs", "table.csv", "--ids", "key", "--epochs", 1, "--save-model")
    code, out, err = run("train", *given)
    assert code == 0, err
    line = out.strip().splitlines()[-1]
    assert line.endswith("--inputs NEW --option item=key -o predictions.csv")
    code, out, err = run("predict", shlex.split(line)[2], "--inputs", "table.csv", "--quiet")
    assert code == 0, err
    assert [row["item"] for row in read(out)] == [str(item) for item in range(60)]
    assert err == "Note: Columns are named as in training: item='key'.\n"
    Path("table.csv").write_text("\n".join(["a,7,b", *rows]) + "\n")
    code, out, err = run("train", *given[:5], "7", "--epochs", 2, "--save-model")
    assert code == 0, err
    words = shlex.split(out.strip().splitlines()[-1].replace("NEW", "table.csv"))[1:]
    assert run(*words, "--quiet")[::2] == (0, "")
    code, _, err = run("predict", words[1], "--inputs", "table.csv", "--option", "item=7")
    assert (code, "option item must be a text, but is 7. As a text it is 'item=\"7\"'" in err) == (2, True)


def test_the_items_of_a_named_set(run, tmp_path, train):
    given = ("--data", "glyphs", "--option", "items=80")
    name = train(*given, "--model", "mlp")
    arrays = stored(name)
    code, out, err = run("predict", name, *given)
    assert code == 0, err
    rows = {row["item"]: row for row in read(out)}
    classes = json.loads(Path("runs", name, "plan.json").read_text())["data"]["classes"]
    probs = probs_of([rows[item] for item in arrays["ids"]], classes)
    np.testing.assert_allclose(probs, softmax(arrays["best_logits"]), atol=1e-6)


def test_what_is_wrong_is_told_in_a_sentence(run, own_data, train):
    name = train(*OWN)
    features = ("--inputs", "features.npy")
    np.save("wide.npy", np.zeros((3, 5)))
    (own_data / "bare.csv").write_text("a,b,c,d\n0.5,1,2,3\n")
    (own_data / "texts.csv").write_text("id,text\n1,a man\n")
    for arguments, message in [
        ((name,), "there are no items to predict: give --texts FILE, or --inputs FILE|FOLDER"),
        ((name, *features, "--data", "glyphs"), "--inputs and --data both name items; give one of them."),
        ((name, *features, "--option", "txt=a"), "unknown option of new items 'txt'; did you mean 'text'?"),
        ((name, *features, "--option", "size=[8,8]"), "is for folders of images, but features.npy is not a folder"),
        ((name, *features, "-o", "p.xlsx"), "unknown suffix of --out '.xlsx'. Choose one of: .csv, .tsv, .jsonl"),
        ((name, *features, "-o", "p"), "unknown suffix of --out ''"),
        ((name, "--texts", "texts.csv", "-o", "texts.csv"), "--out texts.csv would overwrite the file that is read"),
        ((name, "--inputs", "wide.npy"), "was trained with features (4,), but these are features (5,)."),
        ((name, "--inputs", "bare.csv"), "The first column of a table is read as its ids, if none is named; rows"),
        ((name, "--texts", "texts.csv"), "was trained with features (4,), but these are texts."),
        ((name, "--inputs", "nowhere.npy"), "nowhere.npy does not exist"),
        (("runs", *features), f"runs is a folder of runs; give one of them, such as runs/{name}."),
        ((f"{name[:3]}x", *features), f"no run starts with '{name[:3]}x' in runs; it holds {name}."),
        ((name, *features, "--store", "empty"), "in empty; it holds none."),
    ]:
        code, out, err = run("predict", *arguments)
        assert (code, out) == (2, ""), arguments
        assert message in err, arguments


def test_a_run_that_kept_no_model_says_how_to_keep_it(run, own_data):
    code, out, _ = run("train", *OWN, *FAST)
    name = json.loads(out)["run"]
    code, _, err = run("predict", name, "--inputs", "features.npy")
    assert code == 2
    assert f"run {name} did not keep its model" in err
    assert "Give the command that made it again, with --save-model" in " ".join(err.split())
    assert run("train", *OWN, *FAST, "--save-model")[0] == 0
    assert run("predict", name, "--inputs", "features.npy")[0] == 0


def test_a_place_that_cannot_be_written_is_told(run, own_data, train):
    name = train(*OWN)
    (own_data / "file").write_text("")
    code, _, err = run("predict", name, "--inputs", "features.npy", "-o", "file/p.csv")
    assert code == 2
    assert "cannot write file/p.csv" in err
