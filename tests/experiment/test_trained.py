"""A model that a run kept says of items what it said of them in training; of others, what they are not is told."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from dissensus.base.errors import InputError, PlanError, StoreError
from dissensus.datasets import Dataset, Texts, load
from dissensus.experiment import Comparison, Source, carry_out, predict_with
from dissensus.experiment import trained as module
from dissensus.experiment.parts import parts
from dissensus.records import RunStore, StoredRun
from dissensus.votes import Votes

TINY_MLP = {"name": "mlp", "options": {"width": 8, "layers": 1}}
WHO = ("a man", "the dog", "a cat", "somebody", "the woman", "the man in the park")
WHAT = ("sleeps", "runs", "eats", "is not outside")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISSENSUS_DATA", str(tmp_path / "data"))


def votes_on(items: int, classes: int = 2) -> Votes:
    counts = np.random.default_rng(0).multinomial(5, np.ones(classes) / classes, size=items)
    return Votes.from_counts(counts, classes=["no", "yes", "who knows"][:classes])


def features() -> Dataset:
    """Far from mean 0 and variance 1, each in its own way: who scales them otherwise says something else."""
    drawn = np.random.default_rng(1).normal(size=(60, 3)) * [1, 1000, 0.01] + [0, 5000, -7]
    return Dataset("mine", drawn.astype(np.float32), votes_on(60, 3))


def pairs() -> Dataset:
    said = [
        (f"{who} {what} .", after) for who in WHO for what in WHAT for after in ("somebody rests .", "a cat runs .")
    ]
    return Dataset("mine", Texts(*zip(*said, strict=True)), votes_on(len(said)))


def texts() -> Dataset:
    whole = pairs()
    return Dataset("mine", Texts(whole.inputs.first), whole.votes)


def kept(data: Dataset, folder: Path, encoder: Path | None = None, **settings) -> StoredRun:
    """A run of two epochs that kept its model."""
    asked = Comparison(
        data={"name": "glyphs"} | ({} if encoder is None else {"encoder": str(encoder)}),
        methods=["soft"], seeds=[0], **{"recipe": {"epochs": 2, "batch_size": 16}} | settings,
    )  # fmt: skip
    (plan,) = asked.plans(data)
    store = RunStore(folder)
    source = None if encoder is None else {"encoder": str(encoder)}
    return store.read(carry_out(plan, data, store, source=source, keep_model=True))


CASES = {
    "features": (features, {"model": TINY_MLP}),
    "images": (lambda: load("glyphs", items=80), {"model": {"name": "small-cnn", "options": {"width": 4}}}),
    "scaled by the recipe": (
        lambda: load("glyphs", items=80),
        {"model": TINY_MLP, "recipe": {"epochs": 1, "mean": [0.4, 0.5, 0.6], "std": [0.2, 0.3, 0.1]}},
    ),
    "frozen": (texts, {"model": {"name": "frozen"}}),
    "frozen, pairs, cut short": (pairs, {"model": {"name": "frozen", "options": {"length": 8, "pooling": "cls"}}}),
    "fine-tuned": (texts, {"model": {"name": "fine-tuned"}}),
    "fine-tuned, pairs, cut short": (pairs, {"model": {"name": "fine-tuned", "options": {"length": 8}}}),
}


@pytest.mark.parametrize("case", CASES)
def test_it_says_of_its_own_items_what_it_said_in_training(case, tmp_path, request, monkeypatch):
    make, settings = CASES[case]
    data = make()
    encoder = request.getfixturevalue("tiny_encoder") if data.texts else None
    run = kept(data, tmp_path / "runs", encoder, **settings)
    split = parts(data, run.plan["split"]["test"], run.plan["split"]["select"], seed=0)
    monkeypatch.setattr(module, "TEXTS", 5)  # several batches
    elsewhere = shutil.move(run.path, tmp_path / "copied")
    for index, stored in ((split.evaluation, "best"), (split.select, "select_best")):
        backwards = index[::-1]
        found = predict_with(elsewhere, data.inputs[backwards])
        np.testing.assert_allclose(found.logits, run_logits(elsewhere, stored)[::-1], atol=2e-6)
        assert found.epoch == StoredRun.at(elsewhere).predictions["best_epoch"]
        np.testing.assert_allclose(found.probs.sum(1), 1)
    assert run_logits(elsewhere, "best").std(0).max() > 1e-3  # or there is nothing to get wrong


def test_whoever_may_read_a_run_may_read_its_model(tmp_path):
    run = kept(features(), tmp_path / "runs", model=TINY_MLP)
    rights = {path.name: oct(path.stat().st_mode) for path in run.path.iterdir()}
    assert rights["model.safetensors"] == rights["plan.json"]
    assert len(set(rights.values())) == 1, rights


def run_logits(folder: str | Path, name: str) -> np.ndarray:
    return StoredRun.at(folder).predictions[f"{name}_logits"]


def test_the_scaling_is_that_of_the_training_and_not_of_the_new_items(tmp_path):
    data = features()
    run = kept(data, tmp_path / "runs", model=TINY_MLP)
    all_at_once = predict_with(run, data.inputs).logits
    one_by_one = np.concatenate([predict_with(run, data.inputs[[row]]).logits for row in range(5)])
    np.testing.assert_allclose(one_by_one, all_at_once[:5], atol=1e-6)


def test_grey_images_are_taken_where_it_was_trained_in_colour(tmp_path):
    data = load("glyphs", items=80)
    run = kept(data, tmp_path / "runs", model=TINY_MLP)
    grey = data.inputs[:4, :1]
    np.testing.assert_array_equal(predict_with(run, grey).logits, predict_with(run, np.repeat(grey, 3, axis=1)).logits)
    four = np.repeat(grey, 4, axis=1)
    with pytest.raises(
        InputError, match=r"trained with images \(3, 20, 20\), but these are .*\. Bring them to 3 channels, too\.$"
    ):
        predict_with(run, four)
    with pytest.raises(
        InputError, match=r"images \(3, 8, 8\)\. Bring .* to that height and width with size=\[20,20\]$"
    ):
        predict_with(run, np.zeros((2, 3, 8, 8), np.uint8))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.zeros((2, 4), np.float32), r"was trained with features \(3,\), but these are features \(4,\)\."),
        (np.zeros((2, 3)), "features, float32 .*, but are float64"),
        (np.full((2, 3), np.nan, np.float32), "inputs must be finite"),
        (np.zeros((2, 3, 8, 8), np.uint8), r"trained with features \(3,\), but these are images \(3, 8, 8\)"),
        (Texts(["a man"]), r"was trained with features \(3,\), but these are texts\. Give it items of the same kind"),
        (["a man"], "inputs must be a NumPy array or Texts, but are of type list"),
    ],
)
def test_inputs_of_another_kind_are_refused(inputs, message, tmp_path):
    run = kept(features(), tmp_path, model=TINY_MLP)
    with pytest.raises(InputError, match=message):
        predict_with(run, inputs)


@pytest.mark.parametrize("model", ["frozen", "fine-tuned"])
def test_one_text_is_no_pair(model, tmp_path, tiny_encoder):
    run = kept(pairs(), tmp_path / "pairs", tiny_encoder, model={"name": model})
    with pytest.raises(
        InputError, match=r"trained with pairs of texts, but these are texts\. .* with text_pair=\.\.\."
    ):
        predict_with(run, Texts(["a man"]))
    run = kept(texts(), tmp_path / "texts", tiny_encoder, model={"name": model})
    with pytest.raises(InputError, match=r"but these are pairs of texts\. Leave the column text_pair out"):
        predict_with(run, Texts(["a man"], ["a dog"]))


@pytest.mark.parametrize("model", ["frozen", "fine-tuned"])
def test_an_encoder_that_moved_is_found_where_it_is_said_to_be(model, tmp_path, tiny_encoder):
    data = texts()
    there = shutil.copytree(tiny_encoder, tmp_path / "there")
    run = kept(data, tmp_path / "runs", there, model={"name": model})
    before = predict_with(run, data.inputs).logits
    moved = shutil.move(there, tmp_path / "moved")
    with pytest.raises(
        InputError, match=r"reads texts by the encoder there, which cannot be had: there is no folder .*"
    ):
        predict_with(run, Texts(["a man"]))
    np.testing.assert_allclose(predict_with(run, data.inputs, encoder=str(moved)).logits, before, atol=1e-6)
    Path(moved, "vocab.txt").write_text("other\n")
    with pytest.raises(PlanError, match=r"is another\. Say where the former lies: --encoder FOLDER"):
        predict_with(run, Texts(["a man"]), encoder=str(moved))


def test_texts_that_are_read_are_counted(tmp_path, tiny_encoder, monkeypatch):
    monkeypatch.setattr(module, "TEXTS", 20)
    data, told = texts(), []
    run = kept(data, tmp_path / "runs", tiny_encoder, model={"name": "fine-tuned"})
    predict_with(run, data.inputs, progress=lambda done, of: told.append((done, of)))
    assert told == [(20, 48), (40, 48), (48, 48)]


def test_a_run_without_a_model_says_how_to_have_one(data, tiny, tmp_path):
    plan = tiny.plans(data)[0]
    store = RunStore(tmp_path / "runs")
    run = store.read(carry_out(plan, data, store))
    with pytest.raises(InputError) as told:
        predict_with(run, data.inputs)
    assert f"run {plan.name} did not keep its model" in str(told.value)
    assert "Give the command that made it again, with --save-model: it is trained again" in str(told.value)
    about = run.path / "about.json"
    about.write_text(json.dumps(json.loads(about.read_text()) | {"diverged": 3}))
    with pytest.raises(InputError, match="diverged in epoch 3, so there is no model"):
        predict_with(run.path, data.inputs)


def test_what_is_no_run_is_told(tmp_path):
    with pytest.raises(InputError, match=r"is not the folder of a run: it holds no plan\.json"):
        predict_with(tmp_path, np.zeros((2, 3), np.float32))


def test_weights_that_do_not_say_how_to_scale_are_refused(data, tiny, tmp_path):
    from safetensors.torch import load_file, save_file

    plan = tiny.plans(data)[0]
    store = RunStore(tmp_path)
    weights = tmp_path / carry_out(plan, data, store, keep_model=True) / "model.safetensors"
    save_file(load_file(weights), weights)
    with pytest.raises(InputError, match="kept its weights by an earlier version, without how inputs are scaled"):
        predict_with(weights.parent, data.inputs)
    weights.write_bytes(weights.read_bytes()[:20])
    with pytest.raises(StoreError, match=r"is damaged: model\.safetensors cannot be read"):
        predict_with(weights.parent, data.inputs)


def test_a_model_of_another_version_is_another_model(data, tiny, tmp_path, monkeypatch):
    from dissensus.models import MLP

    store = RunStore(tmp_path)
    run = store.read(carry_out(tiny.plans(data)[0], data, store, keep_model=True))
    monkeypatch.setattr(MLP, "version", 2)
    with pytest.raises(PlanError, match="is about version 1 of its model, but this release has version 2"):
        predict_with(run, data.inputs)


def test_neither_votes_nor_inputs_of_the_training_are_needed(folder, tmp_path, tiny):
    for file in ("labels.csv", "features.npy"):
        shutil.copy(folder / file, tmp_path / file)
    source = Source(votes=str(tmp_path / "labels.csv"), inputs=str(tmp_path / "features.npy"))
    data, store = source.load(), RunStore(tmp_path / "runs")
    name = carry_out(tiny.plans(data)[0], data, store, source=source.model_dump(exclude_defaults=True), keep_model=True)
    for file in ("labels.csv", "features.npy"):
        (tmp_path / file).unlink()
    assert predict_with(store.path / name, data.inputs).probs.shape == (60, 3)
