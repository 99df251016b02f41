from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dissensus.base.errors import InputError, PlanError
from dissensus.datasets import Dataset
from dissensus.experiment import DEMO, Comparison
from dissensus.experiment.defaults import CIFAR_PRECISION
from dissensus.votes import Votes

FILES = '[data]\nvotes = "labels.csv"\ninputs = "features.npy"\n'


@pytest.fixture
def write(tmp_path):
    def write(text):
        path = tmp_path / "compare.toml"
        path.write_text(text)
        return path

    return write


def made(counts, **changes):
    """A data set of these counts, and a comparison on it."""
    votes = Votes.from_counts(counts, classes=[f"c{k}" for k in range(len(counts[0]))])
    data = Dataset("made", np.zeros((len(counts), 2), np.float32), votes)
    return data, Comparison(**({"data": {"name": "glyphs"}, "methods": ["soft"], "seeds": 1} | changes))


def test_a_file_becomes_a_plan_a_run(folder, tmp_path):
    path = folder / "compare.toml"
    path.write_text(f'methods = ["soft", "sls"]\nseeds = 2\nvotes = [3, "all"]\n{FILES}[recipe]\nepochs = 4\n')
    comparison = Comparison.read(path)
    plans = comparison.plans(comparison.data.load())
    cells = [(plan.seeds.init, plan.votes, plan.method) for plan in plans]
    assert cells == [(s, k, m) for s in (0, 1) for k in (3, "all") for m in ("soft", "sls")]
    assert len({plan.name for plan in plans}) == 8
    assert {plan.recipe.epochs for plan in plans} == {4}


def test_defaults_depend_on_the_data_and_are_spelt_out(data):
    comparison = Comparison(data={"name": "glyphs"}, recipe={"lr": 0.02})
    features = comparison.plans(data)[0]
    assert (features.model.name, features.recipe.lr) == ("mlp", 0.02)
    assert features.recipe.epochs < 200  # a recipe for small data
    images = Dataset("images", np.zeros((len(data), 3, 8, 8), np.uint8), data.votes)
    assert comparison.plans(images)[0].model.name == "small-cnn"


@pytest.fixture(scope="module")
def colour():
    """Forty images of the kind that CIFAR-10 has, with six votes each."""
    votes = Votes.from_counts([[6, 0], [2, 4]] * 20, classes=["cat", "dog"])
    return Dataset("colour", np.zeros((40, 3, 32, 32), np.uint8), votes)


@pytest.mark.parametrize("name", ["cifar10h", "cifar10n"])
def test_cifar_comes_with_the_published_model_and_recipe(colour, name):
    """The protocol: SGD .1, momentum .9, weight decay 5e-4, cosine over 200 epochs, batches of 128, crop and flip."""
    (plan,) = Comparison(data={"name": name}, votes=5).only().plans(colour)
    assert (plan.model.name, plan.model.options) == ("resnet18", {})
    assert plan.recipe.model_dump() == {
        "epochs": 200,
        "batch_size": 128,
        "lr": 0.1,
        "momentum": 0.9,
        "weight_decay": 5e-4,
        "nesterov": False,
        "schedule": "cosine",
        "crop": 4,
        "flip": True,
        "mixup": 0.0,
        "precision": CIFAR_PRECISION,
        "mean": (0.4914, 0.4822, 0.4465),
        "std": (0.2470, 0.2435, 0.2616),
        "optimizer": "sgd",
        "warmup": 0.0,
    }
    assert (plan.split.test, plan.votes) == (0.2, 5)


def test_what_is_said_changes_that_and_nothing_else(colour):
    published = Comparison(data={"name": "cifar10h"}).only().plans(colour)[0]
    small = Comparison(data={"name": "cifar10h"}, model={"name": "small-cnn"}, recipe={"epochs": 2, "crop": 0}).only()
    (changed,) = small.plans(colour)
    assert changed.model.name == "small-cnn"
    assert changed.recipe.model_dump() == published.recipe.model_dump() | {"epochs": 2, "crop": 0}


def test_own_files_that_are_called_like_a_named_set_get_nothing_of_it(colour):
    own = Comparison(data={"votes": "cifar10h.csv", "inputs": "cifar10h.npy"})
    (plan,) = own.only().plans(replace(colour, name="cifar10h"))
    assert (plan.model.name, plan.recipe.epochs, plan.recipe.precision) == ("small-cnn", 30, "fp32")


# What a comparison that names neither model nor recipe asked for in the first release: see test_names_never_change.
@pytest.mark.parametrize(("kind", "name"), [("features", "21b6f12cce5f83f8"), ("images", "ae4c4d2956f1fcf4")])
def test_small_defaults_never_change(colour, kind, name):
    inputs = colour.inputs if kind == "images" else np.zeros((40, 5), np.float32)
    assert Comparison(data={"name": "glyphs"}).plans(replace(colour, inputs=inputs))[0].name == name


def test_explicit_settings_win_even_where_they_equal_the_first_default(data):
    plan = Comparison(data={"name": "glyphs"}, recipe={"epochs": 200}).plans(data)[0]
    assert plan.recipe.epochs == 200


def test_names_depend_on_content_and_not_on_paths(folder, tmp_path, data, tiny):
    elsewhere = tmp_path / "renamed"
    elsewhere.mkdir()
    (elsewhere / "votes-of-mine.csv").write_bytes((folder / "labels.csv").read_bytes())
    (elsewhere / "x.npy").write_bytes((folder / "features.npy").read_bytes())
    (elsewhere / "compare.toml").write_text('[data]\nvotes = "votes-of-mine.csv"\ninputs = "x.npy"\n')
    moved = Comparison.read(elsewhere / "compare.toml").data.load()
    assert [plan.name for plan in tiny.plans(moved)] == [plan.name for plan in tiny.plans(data)]

    lines = (folder / "labels.csv").read_text().splitlines()
    lines[1] = lines[1].rsplit(",", 1)[0] + (",no" if lines[1].endswith("yes") else ",yes")
    (elsewhere / "votes-of-mine.csv").write_text("\n".join(lines) + "\n")
    other = Comparison.read(elsewhere / "compare.toml").data.load()
    assert not {plan.name for plan in tiny.plans(other)} & {plan.name for plan in tiny.plans(data)}


def test_a_mistake_of_an_option_is_not_blamed_on_the_file(write):
    """The file says soft in its first line, and nothing is wrong with that."""
    path = write(f'methods = ["soft"]\nseeds = 0\n{FILES}')
    with pytest.raises(PlanError) as error:
        Comparison.read(path, methods=["sotf"])
    assert [line.strip().partition(";")[0] for line in str(error.value).splitlines()[1:]] == [
        "methods: unknown method 'sotf'",
        "line 2: seeds must be a whole number of at least 1 (how many), or a list of seeds, but is 0.",
    ]


def test_what_an_option_leaves_of_a_recipe_is_the_file_s(write):
    path = write(f'{FILES}[recipe]\nepochs = 0\nlr = "high"\n')
    with pytest.raises(PlanError) as error:
        Comparison.read(path, recipe={"lr": -1.0})
    lines = [line.strip().partition(" must")[0] for line in str(error.value).splitlines()[1:]]
    assert lines == ["recipe.lr", f"line {FILES.count(chr(10)) + 2}: recipe.epochs"]


def test_all_mistakes_of_a_file_are_told_with_their_lines(write):
    path = write(
        'methods = ["soft", "multipas"]\n'
        "seeds = 0\n"
        'votes = [5, "al"]\n'
        "epochs = 3\n"
        "\n"
        "[data]\n"
        'name = "glyph"\n'
        "[recipe]\n"
        "epochs = -3\n"
        'lr = "0.1"\n'
        "[split]\n"
        "test = 20\n"
    )
    with pytest.raises(PlanError) as error:
        Comparison.read(path)
    message = str(error.value)
    assert message.startswith(f"{path} has 8 mistakes:\n")
    for sentence in (
        "line 1: methods: unknown method 'multipas'; did you mean 'multipass'? Choose one of: ",
        "line 2: seeds must be a whole number of at least 1 (how many), or a list of seeds, but is 0.",
        "line 3: votes must be \"all\", a whole number of at least 1, or a list of these, but is [5, 'al'].",
        "line 4: unknown key 'epochs'. Choose one of: data, methods, ",
        "line 7: data.name: unknown data set 'glyph'; did you mean 'glyphs'? Choose one of: ",
        "line 9: recipe.epochs must be a whole number of at least 1, but is -3.",
        "line 10: recipe.lr must be a number above 0, but is '0.1'.",
        "line 12: split.test must be a share above 0 and below 1, but is 20.",
    ):
        assert f"\n  {sentence}" in message, sentence


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("seeds = 2\n", "data is missing; it must be a table of name, votes, inputs, texts, encoder, options."),
        ("[data]\n", "line 1: data: give a name (one of: glyphs"),
        ('[data]\nvotes = "labels.csv"\n', "or two files: votes and inputs, or votes and texts. Given: votes."),
        ('[data]\nname = "glyphs"\nvotes = "labels.csv"\n', "line 1: data: give a name (one of: glyphs"),
        ('[data]\nname = "glyphs"\noptions.item = 5\n', "unknown option of glyphs 'item'; did you mean 'items'?"),
        (f'methods = ["soft", "soft"]\n{FILES}', "line 1: methods: 'soft' stands there 2 times; once is enough."),
        (f"methods = []\n{FILES}", "line 1: methods must be a list of methods, but is []."),
        (f"seeds = [1, 1]\n{FILES}", "line 1: seeds: 1 stands there 2 times; once is enough."),
        (f"seeds = [1, -1]\n{FILES}", "line 1: seeds must be a whole number of at least 1 (how many), or a list of"),
        (f"seeds = 20240101\n{FILES}", "if the one seed 20240101 is meant, write seeds = [20240101]."),
        (f"seeds = 2.5\n{FILES}", "line 1: seeds must be a whole number of at least 1 (how many), or a list of"),
        (f"{FILES}[model]\n", "line 4: model.name is missing; it must be a name."),
    ],
)
def test_a_mistake_of_a_file(write, text, sentence):
    with pytest.raises(PlanError) as error:
        Comparison.read(write(text))
    assert sentence in str(error.value)


def test_a_file_can_be_changed_on_the_way_in(folder):
    path = folder / "changed.toml"
    path.write_text(f"{FILES}[recipe]\nepochs = 4\nlr = 0.3\n")
    comparison = Comparison.read(path, recipe={"epochs": 9}, methods=["sls"])
    assert (comparison.recipe.epochs, comparison.recipe.lr, comparison.methods) == (9, 0.3, ("sls",))
    assert comparison.data.load().votes.n_items == 60
    assert Comparison.read(path, data={"name": "glyphs"}).data.name == "glyphs"
    with pytest.raises(PlanError, match=r"changed\.toml has a mistake:\n  methods: unknown method 'sl'"):
        Comparison.read(path, methods=["sl"])


def test_the_split_of_a_file_is_changed_field_by_field(folder):
    path = folder / "split.toml"
    path.write_text(f"{FILES}[split]\ntest = 0.3\n")
    assert Comparison.read(path, split={"select": 0.0}).split.model_dump() == {"test": 0.3, "select": 0.0}


def test_paths_of_a_file_are_beside_it_and_those_of_an_option_are_where_the_user_is(write):
    path = write('[data]\nvotes = "a.csv"\ninputs = "b.npy"\n')
    assert Comparison.read(path).data.votes == str(path.parent / "a.csv")
    assert Comparison.read(path, data={"votes": "c.csv", "inputs": "d.npy"}).data.votes == "c.csv"


def test_all_votes_need_no_draw_and_have_one_name(data, tiny):
    names = {
        draw: [plan.name for plan in tiny.model_copy(update={"draw": draw, "votes": (3, "all")}).only().plans(data)]
        + [plan.name for plan in tiny.model_copy(update={"draw": draw}).plans(data)]
        for draw in ("subsample", "resample")
    }
    assert names["subsample"][0] != names["resample"][0]
    assert names["subsample"][1:] == names["resample"][1:]


def test_files_that_are_no_toml(tmp_path, write):
    with pytest.raises(PlanError, match=r"compare\.toml is not valid TOML: .*line 2"):
        Comparison.read(write("seeds = 2\nmethods = soft\n"))
    with pytest.raises(InputError, match="does not exist; a comparison file"):
        Comparison.read(tmp_path / "nothing.toml")
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(PlanError, match="is not text in UTF-8"):
        Comparison.read(tmp_path / "binary.toml")


def test_more_votes_than_an_item_has():
    data, comparison = made([[5, 5]] * 5 + [[2, 1]] + [[1, 6]] * 6, votes=[3, 4, "all"])
    with pytest.raises(
        PlanError, match=r"votes: 4 are asked for, but item 5 has 3 \(1 of 12 items have fewer than 4\)"
    ):
        comparison.plans(data)
    _, resampled = made([[1, 1]], votes=50, draw="resample")
    assert resampled.plans(data)


def test_multilabel_votes_are_refused():
    votes = Votes.from_records(items=[0, 0, 1, 2], labels=[{"a"}, {"a", "b"}, {"b"}, {"a"}])
    data = Dataset("tags", np.zeros((3, 2), np.float32), votes)
    with pytest.raises(PlanError, match=r"need one class a vote\. dissensus\.fit trains on such votes"):
        Comparison(data={"name": "glyphs"}).plans(data)


@pytest.mark.parametrize(
    ("counts", "sentence"),
    [
        ([[3, 0, 0, 0], [0, 3, 0, 0]], "data: 2 items are too few for 4 classes"),
        (
            [[3, 0]] * 9 + [[1, 2]],
            "'c1' is the class of one item only (9), which cannot be both trained on and evaluated",
        ),
        ([[3, 0]] * 9, "all votes name the class 'c0', so there is nothing to learn"),
        ([[3, 0]] * 8 + [[0, 0]], "item 8 has no votes"),
        ([[3, 0]] * 2 + [[0, 3]] * 2, "split: a test share of 0.1 leaves a part of the 3 items empty"),
    ],
)
def test_data_that_cannot_be_compared(counts, sentence):
    data, comparison = made(counts)
    with pytest.raises(PlanError) as error:
        comparison.plans(data)
    assert sentence in str(error.value)


def test_what_does_not_fit_the_data_is_told_at_once(data):
    comparison = Comparison(
        data={"name": "glyphs"},
        methods=["soft", "multipass"],
        target="smoothed",
        votes=8,
        model={"name": "small-cnn"},
        recipe={"crop": 4, "mean": [0.5], "std": [0.5]},
    )
    with pytest.raises(PlanError) as error:
        comparison.plans(data)
    message = str(error.value)
    for start in (
        "votes: 8 are",
        "methods: multipass with",
        "recipe.crop is for images",
        "recipe.mean has 1",
        "model: ",
    ):
        assert f"\n  {start}" in message, start
    assert "methods: soft" not in message


def test_labels_that_never_change_cannot_be_held(data):
    with pytest.raises(PlanError, match="methods: soft with the target 'shares' and hold = 5"):
        Comparison(data={"name": "glyphs"}, methods=["soft", "sls"], hold=5).plans(data)


def test_a_target_that_these_votes_cannot_give():
    data, comparison = made([[3, 1]] * 6 + [[1, 3]] * 6, methods=["soft", "sls"], target="dawid-skene")
    with pytest.raises(PlanError, match=r"has a mistake:\n  target: dawid_skene needs to know who cast each vote"):
        comparison.plans(data)


def test_an_unknown_model(data):
    with pytest.raises(PlanError, match="model: unknown model 'mpl'; did you mean 'mlp'"):
        Comparison(data={"name": "glyphs"}, model={"name": "mpl"}).plans(data)


def test_few_seeds_are_worth_a_note():
    assert Comparison(data={"name": "glyphs"}, seeds=8).notes() == []
    (note,) = Comparison(data={"name": "glyphs"}, seeds=3).notes()
    assert "3 seeds can never show a difference" in note
    assert Comparison(data={"name": "glyphs"}, seeds=1, methods=["soft"]).notes() == []


def test_one_run_of_a_comparison(data, tiny):
    (first,) = tiny.only().plans(data)
    assert (first.method, first.seeds.split) == ("soft", 0)
    assert first == tiny.plans(data)[0]


def test_the_demo_can_reject():
    assert DEMO.notes() == []
    assert DEMO.methods == ("majority", "soft", "sls", "multipass")


def test_labels_of_the_data_set_stratify(data):
    lone = np.zeros(len(data), np.int64)
    lone[7] = 1
    with pytest.raises(PlanError, match=r"'no' is the class of one item only \(7\)"):
        Comparison(data={"name": "glyphs"}).plans(replace(data, labels=lone))
