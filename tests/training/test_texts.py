"""A transformer through the ordinary loop: tokens in, labels by the delivery, the same promises."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

from dissensus.base.streams import key, permutation
from dissensus.datasets import Texts
from dissensus.delivery import Multipass, Soft
from dissensus.evaluation.predict import predict
from dissensus.models.text import FineTuned, FineTuning, find_encoder, tokens
from dissensus.training import Checkpoint, Engine, Fitted, Job, Recipe, Stopped, fit, fit_many, graphs, held_out, lane
from dissensus.training.graphs import Graphed
from dissensus.training.inputs import cut
from dissensus.training.learner import PlainLearner
from dissensus.votes import Votes

WHO, WHAT, WHERE = ("a man", "the dog", "a cat", "somebody"), ("sleeps", "runs", "eats"), ("", "outside", "in the park")
FIRST = [f"{who} {what} {where} ." for who in WHO for what in WHAT for where in WHERE]  # 36
SECOND = ["somebody rests ."] * 18 + ["the woman is not outside in the park ."] * 18
RECIPE = Recipe(
    epochs=4, batch_size=8, lr=5e-3, weight_decay=0.01, optimizer="adamw", schedule="linear", warmup=0.1
)  # fmt: skip


@pytest.fixture(scope="module")
def make(tiny_encoder: Path) -> FineTuning:
    return FineTuning(find_encoder(tiny_encoder), 3)


@pytest.fixture(scope="module")
def x(tiny_encoder: Path) -> np.ndarray:
    return tokens(Texts(FIRST, SECOND), find_encoder(tiny_encoder))


@pytest.fixture(scope="module")
def votes() -> Votes:
    """What is said is decided by the verb and, for one in three, divided."""
    counts = np.zeros((36, 3), np.int64)
    for item, text in enumerate(FIRST):
        verb = next(number for number, word in enumerate(WHAT) if word in text)
        counts[item, verb] = 4
        counts[item, (verb + 1) % 3] = 2 * (item % 3 == 0)
    return Votes.from_counts(counts)


def run(make, x, deliver, recipe: Recipe = RECIPE, **options) -> Fitted:
    human = options.pop("human", np.full((36, 3), 1 / 3))
    return fit(make, x, deliver, recipe, seed=options.pop("seed", 5), held_out=(x, human), **options)


def test_it_learns_what_people_say(make, x, votes) -> None:
    fitted = run(make, x, Soft(votes), Recipe(**{**vars(RECIPE), "epochs": 50}), human=votes.frequencies(), seed=0)
    assert fitted.history[0]["kl"] > 0.9
    assert fitted.history[-1]["kl"] < 0.2
    assert fitted.history[-1]["accuracy"] == 1


@pytest.fixture(scope="module")
def still(tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory) -> FineTuning:
    """The same without dropout."""
    folder = Path(shutil.copytree(tiny_encoder, tmp_path_factory.mktemp("encoders") / "still"))
    config = json.loads((folder / "config.json").read_text())
    quiet = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    (folder / "config.json").write_text(json.dumps(config | quiet))
    return FineTuning(find_encoder(folder), 3)


def padded(make: FineTuning) -> Callable[[], FineTuned]:
    """The same models, as if they could not take texts end to end."""

    def made() -> FineTuned:
        model = make()
        model.packs = False
        return model

    return made


def assert_by_hand(fitted: Fitted, model: FineTuned, x: np.ndarray, deliver: Soft) -> None:
    """Two epochs of AdamW on padded batches: rows of floats are cross-entropy to these rows, never binary."""
    groups = [
        {"params": [p for p in model.parameters() if p.ndim > 1], "weight_decay": 0.01},
        {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=1.0)
    tokens_, step = torch.from_numpy(x), 0
    for epoch in range(2):
        torch.manual_seed(key(5, "layers", epoch))
        for i in np.split(permutation(36, 5, "order", epoch), [8, 16, 24, 32]):
            for group in optimizer.param_groups:
                group["lr"] = 5e-3 * (step if step < 1 else (10 - step) / 9)
            batch = cut(tokens_[i], int((tokens_[i, 0] >= 0).sum(1).max()))
            loss = F.cross_entropy(model(batch), torch.from_numpy(deliver(epoch, i)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
    for name, value in model.state_dict().items():
        if not name.endswith("key.bias"):  # whose gradient is 0 but for rounding, which Adam makes as large as any
            torch.testing.assert_close(fitted.model.state_dict()[name], value, rtol=1e-3, atol=1e-5)


def test_it_is_adamw_on_the_batches_it_says_with_the_dropout_it_says(make, x, votes) -> None:
    fitted = fit(padded(make), x, Soft(votes), Recipe(**{**vars(RECIPE), "epochs": 2}), seed=5)
    torch.manual_seed(key(5, "init"))
    assert_by_hand(fitted, make().train(), x, Soft(votes))


def test_it_is_the_same_on_texts_end_to_end(still, x, votes) -> None:
    assert still.packs
    fitted = fit(still, x, Soft(votes), Recipe(**{**vars(RECIPE), "epochs": 2}), seed=5)
    torch.manual_seed(key(5, "init"))
    assert_by_hand(fitted, still().train(), x, Soft(votes))


@pytest.mark.parametrize("packs", [True, False])
def test_it_is_given_no_more_places_than_it_needs(still, x, votes, packs) -> None:
    widths: list[tuple[int, ...]] = []

    def made() -> FineTuned:
        model = still() if packs else padded(still)()
        model.register_forward_pre_hook(lambda m, given: widths.append(tuple(given[0].shape)) if m.training else None)
        return model

    fit(made, np.concatenate([x, np.full((36, 2, 32), -1, np.int32)], 2), Soft(votes), Recipe(epochs=1, batch_size=8))
    assert widths == ([(8, 3, 16)] * 4 + [(4, 3, 16)] if packs else [(8, 2, 32)] * 4 + [(4, 2, 16)])


class Replayed:
    """A recording that records nothing, but reads from and writes to memory of its own, as a CUDA graph does."""

    shapes: ClassVar[list[tuple[int, ...]]] = []

    def __init__(self, function: Callable[..., Tensor], arguments: tuple[Tensor | None, ...], pool: object) -> None:
        self.function, self.inputs = function, [None if value is None else value.clone() for value in arguments]
        self.shapes.append(tuple(self.inputs[0].shape))
        for _ in range(graphs.WARM_UP):
            self.output = function(*self.inputs)

    def __call__(self, *arguments: Tensor | None) -> Tensor:
        for ours, given in zip(self.inputs, arguments, strict=True):
            if ours is not None:
                ours.copy_(given)
        return self.output.copy_(self.function(*self.inputs))


def test_steps_of_many_lengths_are_replayed_as_they_are_taken(still, x, votes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches of several shapes in turn, each recorded when it first comes, in the midst of an epoch."""
    ragged, deliver, recipe = x.copy(), Soft(votes), Recipe(**{**vars(RECIPE), "batch_size": 3, "epochs": 3})
    for item in range(36):
        ragged[item, :, 2 + item * 5 % 17 :] = -1
    plain = run(still, ragged, deliver, recipe)
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    monkeypatch.setattr(graphs, "Recording", Replayed)
    monkeypatch.setattr(Replayed, "shapes", [])
    monkeypatch.setattr(lane, "learner_for", lambda *given: Graphed(PlainLearner(*given)))
    replayed = run(still, ragged, deliver, recipe)
    np.testing.assert_allclose(replayed.last.logits, plain.last.logits, atol=1e-5)
    losses = [[row["train_loss"] for row in found.history] for found in (replayed, plain)]
    np.testing.assert_allclose(*losses, rtol=1e-6)
    steps, looks = ([shape for shape in Replayed.shapes if shape[1] == rows] for rows in (3, 2))
    assert len(steps) == len(set(steps)) > 1
    assert len(looks) == len(set(looks)) == 1


def test_held_out_texts_are_told_in_their_own_order(make, x, votes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the parts in which they are predicted, those of like length together."""
    monkeypatch.setattr(held_out, "SMALL", 7)
    fitted = run(make, x, Soft(votes), human=votes.frequencies())
    np.testing.assert_allclose(fitted.last.logits, predict(fitted.model, x, fitted.prepare), atol=1e-5)


def test_two_deliveries_of_a_seed_are_paired(make, x, votes) -> None:
    """Initial weights and dropout know nothing of the delivery: with a rate of almost 0 the logits are the same."""
    recipe = Recipe(epochs=1, batch_size=8, lr=1e-30, optimizer="adamw")
    soft, hard = (run(make, x, deliver, recipe) for deliver in (Soft(votes), Multipass(votes, seed=5)))
    np.testing.assert_array_equal(soft.last.logits, hard.last.logits)
    assert soft.history[0]["train_loss"] != hard.history[0]["train_loss"]


def test_the_same_bit_for_bit_also_after_a_stop(make, x, votes, tmp_path: Path) -> None:
    deliver, whole = Multipass(votes, seed=0), Checkpoint(tmp_path / "checkpoint.safetensors")
    twice = [run(make, x, deliver) for _ in range(2)]
    left = iter([False, True])
    with pytest.raises(Stopped):
        run(make, x, deliver, checkpoint=whole, stop=lambda: next(left))
    resumed = run(make, x, deliver, checkpoint=whole)
    for found in (twice[1], resumed):
        np.testing.assert_array_equal(found.last.logits, twice[0].last.logits)
        np.testing.assert_array_equal(found.best.logits, twice[0].best.logits)
        assert [row["train_loss"] for row in found.history] == [row["train_loss"] for row in twice[0].history]


def test_features_are_kept_where_asked_for(make, x, votes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the texts whose logits stand beside them, in the order in which the texts were given."""
    monkeypatch.setattr(held_out, "SMALL", 7)
    some, human = np.arange(36)[::-3], votes.frequencies()
    others = x[some], np.eye(3)[[1] * 12]  # who say something else, so that the last epoch is not the best
    fitted = run(make, x, Soft(votes), human=human, features=True, select_on=others)
    assert fitted.best.epoch < fitted.last.epoch
    for state, *found in (
        (fitted.model.state_dict(), fitted.last, fitted.select_last),
        (fitted.best_state, fitted.best, fitted.select_best),
    ):
        weight, bias = (state[f"net.classifier.{name}"].numpy() for name in ("weight", "bias"))
        for predictions in found:
            expected = predictions.features @ weight.T + bias
            assert np.ptp(expected, 0).min() > 0.01
            np.testing.assert_allclose(predictions.logits, expected, atol=1e-5)
        np.testing.assert_allclose(found[1].logits, found[0].logits[some], atol=1e-5)


def test_held_out_texts_may_be_longer(make, x, votes) -> None:
    short = x[:, :, :16]
    longer = np.concatenate([x, np.full((36, 2, 5), -1, np.int32)], 2)
    fitted = fit(make, short, Soft(votes), Recipe(epochs=1), held_out=(longer, votes.frequencies()))
    assert fitted.last.logits.shape == (36, 3)


def test_bf16_trains_on_a_cpu_too(make, x, votes) -> None:
    fitted = run(make, x, Soft(votes), Recipe(**{**vars(RECIPE), "precision": "bf16"}))
    assert np.isfinite(fitted.last.logits).all()
    assert next(fitted.model.parameters()).dtype == torch.float32


GPU = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")]


@pytest.mark.parametrize("graph", [pytest.param(graph, marks=GPU) for graph in (False, True)])
@pytest.mark.parametrize("packs", [True, False])
def test_without_dropout_a_gpu_gives_what_a_cpu_gives(still, x, votes, graph, packs) -> None:
    cpu = run(still, x, Soft(votes))
    made = still if packs else padded(still)
    gpu = run(lambda: made().cuda(), x, Soft(votes), engine=Engine(graph=graph))
    np.testing.assert_allclose(gpu.last.logits, cpu.last.logits, atol=2e-2)


@pytest.mark.parametrize("graph", [pytest.param(graph, marks=GPU) for graph in (False, True)])
def test_a_gpu_records_large_batches_too(still, x, votes, graph) -> None:
    """Gradients of embeddings are another kernel from 3,072 tokens on."""
    many, human = np.tile(x, (6, 1, 1)), np.tile(votes.frequencies().astype(np.float32), (6, 1))
    cpu, gpu = (
        fit(made, many, Soft(human), Recipe(**{**vars(RECIPE), "batch_size": 200}), held_out=(many, human), engine=how)
        for made, how in ((still, Engine()), (lambda: still().cuda(), Engine(graph=graph)))
    )
    np.testing.assert_allclose(gpu.last.logits, cpu.last.logits, atol=2e-2)


@pytest.mark.parametrize("width", [pytest.param(width, marks=GPU) for width in (1, 3)])
def test_on_a_gpu_runs_with_dropout_are_the_same_alone_and_side_by_side(make, x, votes, width) -> None:
    def job(seed: int) -> Job:
        deliver = Multipass(votes, seed=seed)
        return Job(lambda: make().cuda(), x, deliver, RECIPE, seed, held_out=(x, votes.frequencies()))

    together = fit_many([job(seed) for seed in range(4)], width=width)
    for seed, found in enumerate(together):
        (alone,) = fit_many([job(seed)])
        np.testing.assert_allclose(found.last.logits, alone.last.logits, atol=2e-2)
