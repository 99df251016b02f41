"""Texts through plans, runs and the store: by an encoder that plans know by its content."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import huggingface_hub
import numpy as np
import pytest

pytest.importorskip("transformers")

from dissensus.base.errors import InputError, PlanError
from dissensus.datasets import Texts
from dissensus.experiment import Comparison, Event, Plan, Source, carry_out, compare, look_inside
from dissensus.experiment import seen as seeing
from dissensus.experiment.seen import is_place, model_part, seen
from dissensus.models.text import FineTuned, Frozen, find_encoder
from dissensus.records import RunStore
from dissensus.training import Stopped

WHO = ("a man", "the dog", "a cat", "somebody", "the woman", "the man")
WHAT = ("sleeps", "runs", "eats", "is not outside")
FAST = {"frozen": {"epochs": 3}, "fine-tuned": {"epochs": 2, "batch_size": 16}}


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISSENSUS_DATA", str(tmp_path / "data"))
    return tmp_path / "data" / "cache"


@pytest.fixture(scope="module")
def texts_source(tmp_path_factory: pytest.TempPathFactory, tiny_encoder: Path) -> dict[str, str]:
    """48 pairs with five votes each, as a user has them."""
    folder = tmp_path_factory.mktemp("texts")
    chance = np.random.default_rng(0)
    votes, texts = ["item,annotator,label"], ["id,text,text_pair"]
    pairs = [
        (f"{who} {what} .", after) for who in WHO for what in WHAT for after in ("somebody rests .", "a cat runs .")
    ]
    for item, (first, second) in enumerate(pairs):
        texts.append(f"i{item},{first},{second}")
        yes = 0.8 if "sleeps" in first else 0.3
        votes += [f"i{item},a{who},{'yes' if chance.random() < yes else 'no'}" for who in range(5)]
    (folder / "votes.csv").write_text("\n".join(votes) + "\n")
    (folder / "texts.csv").write_text("\n".join(texts) + "\n")
    return {
        "votes": str(folder / "votes.csv"), "texts": str(folder / "texts.csv"), "encoder": str(tiny_encoder),
    }  # fmt: skip


@pytest.fixture(params=["frozen", "fine-tuned"])
def comparison(request: pytest.FixtureRequest, texts_source: dict[str, str]) -> Comparison:
    name = request.param
    return Comparison(data=texts_source, methods=["majority", "soft"], seeds=2, model={"name": name}, recipe=FAST[name])


def test_a_sweep_over_texts(comparison: Comparison, tmp_path: Path, own_cache: Path) -> None:
    data = comparison.data.load()
    plans = comparison.plans(data)
    store = RunStore(tmp_path / "runs")
    # frozen in processes of their own, which are told where the encoder lies
    events: list[Event] = []
    jobs = 2 if plans[0].model.name == "frozen" else 1
    outcome = compare(plans, comparison.data, store, jobs, events.append)
    assert len(outcome.done) == 4
    assert {event.items for event in events if event.rate} == {"texts"}  # whatever the model makes of them
    run = store.read(plans[0].name)
    assert run.predictions["best_logits"].shape == (10, 2)
    assert np.isfinite(run.history["soft_nll"]).all()
    assert run.about["source"]["encoder"] == comparison.data.encoder
    assert own_cache.exists() == (plans[0].model.name == "frozen")
    assert compare(plans, comparison.data, store).skipped  # done is done


def test_it_is_the_same_run_in_this_process(comparison: Comparison, tmp_path: Path) -> None:
    data = comparison.data.load()
    plan = comparison.plans(data)[1]
    source = comparison.data.model_dump(exclude_defaults=True)
    logits = []
    for place in ("one", "two"):
        store = RunStore(tmp_path / place)
        logits.append(store.read(carry_out(plan, data, store, source=source)).predictions["last_logits"])
    np.testing.assert_array_equal(*logits)


def test_a_run_that_was_stopped_goes_on(comparison: Comparison, tmp_path: Path) -> None:
    data = comparison.data.load()
    plan = comparison.plans(data)[0]
    whole, parted = RunStore(tmp_path / "whole"), RunStore(tmp_path / "parted")
    given = {"source": comparison.data.model_dump(exclude_defaults=True)}
    carry_out(plan, data, whole, **given)
    with pytest.raises(Stopped):
        carry_out(plan, data, parted, stop=lambda: True, **given)
    assert not parted.names()
    carry_out(plan, data, parted, **given)
    runs = [store.read(plan.name) for store in (whole, parted)]
    assert runs[1].about["resumed_at"] == 1
    np.testing.assert_array_equal(*(run.predictions["last_logits"] for run in runs))


def test_models_of_texts_are_looked_into(comparison: Comparison, tmp_path: Path) -> None:
    data, store = comparison.data.load(), RunStore(tmp_path / "runs")
    plan = comparison.plans(data)[0]
    carry_out(plan, data, store, source=comparison.data.model_dump(exclude_defaults=True), diagnose=look_inside)
    found = {one.name: one.value for one in store.read(plan.name).diagnostics() if one.slice == "all"}
    assert found["top_eigenvalue"] > 0
    assert np.isfinite(found["trace"])


def test_a_plan_knows_an_encoder_by_content(comparison: Comparison, tmp_path: Path, tiny_encoder: Path) -> None:
    data = comparison.data.load()
    (plan, *_) = comparison.plans(data)
    assert plan.model.encoder == "tiny-bert"
    assert plan.model.options["encoder"] == find_encoder(tiny_encoder).digest
    assert str(tiny_encoder.parent) not in json.dumps(plan.to_dict())
    elsewhere = shutil.copytree(tiny_encoder, tmp_path / "other-name")
    moved = comparison.model_copy(update={"data": comparison.data.model_copy(update={"encoder": str(elsewhere)})})
    assert [one.name for one in moved.plans(data)] == [one.name for one in comparison.plans(data)]
    (elsewhere / "vocab.txt").write_text("other\n")
    assert not {one.name for one in moved.plans(data)} & {one.name for one in comparison.plans(data)}
    with pytest.raises(PlanError, match=r"the plan is about the encoder tiny-bert \(.{12}\), but .* other-name"):
        seen(plan.model, data, str(elsewhere))


def test_what_shapes_the_features_is_in_the_name(texts_source: dict[str, str]) -> None:
    data = Source(**texts_source).load()

    def name(model: str = "frozen", **options: object) -> str:
        return Comparison(data=texts_source, model={"name": model, "options": options}).only().plans(data)[0].name

    others = [name(), name(pooling="cls"), name(unit=True), name(length=32), name(layers=2), name("fine-tuned")]
    assert len(set(others)) == 6
    assert name() == name(pooling="mean", length=64)  # what the encoder says, said by the user


def test_plans_are_read_back(comparison: Comparison) -> None:
    plan = comparison.plans(comparison.data.load())[0]
    again = Plan.from_dict(json.loads(json.dumps(plan.to_dict())))
    assert again == plan
    assert again.name == plan.name


def test_each_model_of_texts_has_its_recipe(comparison: Comparison) -> None:
    data = comparison.data.load()
    recipe = comparison.plans(data)[0].recipe
    assert recipe.optimizer == "adamw"
    assert (recipe.schedule, recipe.warmup) == (("linear", 0.1) if recipe.epochs == 2 else ("cosine", 0.0))
    assert (
        Comparison(data=comparison.data.model_dump(exclude_defaults=True)).only().plans(data)[0].model.name == "frozen"
    )


def test_what_models_see(texts_source: dict[str, str]) -> None:
    source = Source(**texts_source)
    data = source.load()
    assert isinstance(data.inputs, Texts)
    kinds = {"frozen": ((48, 64), np.float32, Frozen), "fine-tuned": ((48, 2, 16), np.int32, FineTuned)}
    for name, (shape, dtype, kind) in kinds.items():
        model = model_part(name, {}, data, source.encoder)
        found = seen(model, data, source.encoder)
        assert (found.array.shape, found.array.dtype) == (shape, dtype)
        assert found.votes is data.votes
        assert seen(model, data, source.encoder) is found  # remembered
        assert isinstance(seeing.factory(model, found, source.encoder)(), kind)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"name": "mlp"}, "mlp is no model of texts, which the inputs are. Choose one of: frozen, fine-tuned"),
        ({"name": "frozn"}, "unknown model 'frozn'; did you mean 'frozen'? Choose one of: frozen, fine-tuned; or give"),
        ({"name": "./nowhere"}, "there is no folder ./nowhere"),
        (
            {"name": "frozen", "options": {"poling": "cls"}},
            "unknown option of frozen 'poling'; did you mean 'pooling'?",
        ),
    ],
)
def test_mistakes_are_told_with_the_others(texts_source: dict[str, str], model: dict, message: str) -> None:
    comparison = Comparison(data=texts_source, model=model, votes=9)
    with pytest.raises(PlanError) as told:
        comparison.plans(comparison.data.load())
    assert "has 2 mistakes" in str(told.value)
    assert message in str(told.value)


def test_texts_are_not_mixed_and_their_features_are(texts_source: dict[str, str]) -> None:
    data = Source(**texts_source).load()
    asked = Comparison(
        data=texts_source, model={"name": "fine-tuned"}, methods=["soft", "mixup"], recipe={"mixup": 0.1}
    )
    with pytest.raises(PlanError) as told:
        asked.plans(data)
    assert "recipe.mixup mixes features, but fine-tuned takes texts" in str(told.value)
    assert "methods: mixup mixes features" in str(told.value)
    assert len(Comparison(data=texts_source, methods=["soft", "mixup"], seeds=1).plans(data)) == 2


def test_models_of_texts_are_for_texts(source: Source, data) -> None:
    for model in ({"name": "frozen"}, {"name": "owner/name"}):
        asked = Comparison(data=source.model_dump(exclude_defaults=True), model=model)
        with pytest.raises(PlanError, match="is no model of features, which the inputs are"):
            asked.plans(data)
    with pytest.raises(InputError, match="an encoder is for texts, but the inputs are features"):
        model_part("mlp", {}, data, "owner/name")


def test_a_model_that_is_a_place_is_fine_tuned(texts_source: dict[str, str], tiny_encoder: Path) -> None:
    named = {name: path for name, path in texts_source.items() if name != "encoder"}
    asked = Comparison(data=named, model={"name": str(tiny_encoder)})
    assert asked.model is not None
    assert (asked.model.name, asked.data.encoder) == ("fine-tuned", str(tiny_encoder))
    asked = Comparison(data=named, model={"name": "frozen", "encoder": "owner/name"})
    assert asked.model is not None
    assert (asked.model.name, asked.model.encoder, asked.data.encoder) == ("frozen", None, "owner/name")


def test_a_model_on_the_hub_may_be_called_by_its_name_alone(
    texts_source: dict[str, str], tiny_encoder: Path, source: Source, data, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = {name: path for name, path in texts_source.items() if name != "encoder"}
    asked = Comparison(data=named, model={"name": "roberta-base"}, methods=["soft"], seeds=1)
    assert asked.model is not None
    assert (asked.model.name, asked.data.encoder) == ("fine-tuned", "roberta-base")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, **options: str(tiny_encoder))
    (plan,) = asked.plans(asked.data.load())
    assert (plan.model.name, plan.model.encoder) == ("fine-tuned", "roberta-base")
    images = Comparison(data=source.model_dump(exclude_defaults=True), model={"name": "roberta-base"})
    with pytest.raises(PlanError, match="roberta-base is no model of features, which the inputs are"):
        images.plans(data)


def test_without_a_network_it_is_named_with_what_to_do(
    texts_source: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def snapshot_download(name: str, **options: object) -> str:
        raise OSError("no route to host")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    asked = Comparison(data=texts_source, model={"name": "roberta-base"})
    with pytest.raises(PlanError, match="'roberta-base' is no folder here, and could not be had") as told:
        asked.plans(asked.data.load())
    assert "Download it where there is a network and give its folder" in str(told.value)


def test_a_folder_that_is_called_like_a_model_is_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlp").mkdir()
    (tmp_path / "mine").mkdir()
    assert not is_place("mlp")
    assert is_place("./mlp")
    assert is_place("mine")
    assert is_place("roberta-base")
    assert not is_place("my bert")
    assert not is_place("finetuned")  # more likely misspelt
    assert not is_place(None)


def test_a_file_names_an_encoder_beside_it(tmp_path: Path, tiny_encoder: Path, texts_source: dict[str, str]) -> None:
    shutil.copytree(tiny_encoder, tmp_path / "here")
    for part in ("votes", "texts"):
        shutil.copy(texts_source[part], tmp_path / f"{part}.csv")
    file = tmp_path / "compare.toml"
    start = '[data]\nvotes = "votes.csv"\ntexts = "texts.csv"\n[model]\n'
    file.write_text(f'{start}name = "frozen"\nencoder = "here"\n')
    assert Comparison.read(file).data.encoder == str(tmp_path / "here")
    file.write_text(f'{start}name = "frozen"\nencoder = "owner/name"\n')
    assert Comparison.read(file).data.encoder == "owner/name"


def test_the_names_of_our_models_are_told_without_torch() -> None:
    from dissensus.models import MODELS
    from dissensus.models.text import TEXT_MODELS

    assert set(seeing.OURS) == {*MODELS, *TEXT_MODELS}
