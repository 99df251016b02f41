from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dissensus import metrics
from dissensus.base.errors import InputError
from dissensus.base.streams import permutation
from dissensus.delivery import DELIVERIES, METHODS
from dissensus.evaluation.predict import predict
from dissensus.models import make
from dissensus.training import Diverged, Engine, Fitted, Recipe, Seeds, fit
from dissensus.votes import Votes

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (50, 3, 12, 12), np.uint8)
SOFT = RNG.dirichlet([1, 1, 1, 1], 50).astype(np.float32)
HARD = SOFT.argmax(1)
SMALL = make("small-cnn", (3, 12, 12), 4, width=4)
QUICK = Recipe(epochs=3, batch_size=16, crop=2, flip=True)


def soft(epoch: int) -> np.ndarray:
    return SOFT.copy()


def hard(epoch: int) -> np.ndarray:
    return HARD.copy()


def digest(fitted: Fitted) -> str:
    sha = hashlib.sha256()
    for name, value in fitted.model.state_dict().items():
        sha.update(name.encode() + value.numpy().tobytes())
    return sha.hexdigest()


class Watching(nn.Module):
    """A linear model that remembers what it was shown in training."""

    def __init__(self, shown: list[torch.Tensor]) -> None:
        super().__init__()
        self.shown, self.head, self.drop = shown, nn.Linear(3 * 12 * 12, 4), nn.Dropout(0.5)
        self.initial = self.head.weight.detach().clone()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.drop(x.flatten(1))
        if self.training:
            self.shown.append(x.clone())
        return self.head(x)


# What it learns


def test_soft_labels_bring_back_the_conditional_distribution() -> None:
    truth = np.array([[0.6, 0.3, 0.1], [0.1, 0.1, 0.8], [0.25, 0.5, 0.25]])
    kind = RNG.integers(0, 3, 300)
    x = np.eye(3, dtype=np.float32)[kind]
    recipe = Recipe(epochs=20, batch_size=32, lr=0.2, weight_decay=0)
    fitted = fit(make("mlp", (3,), 3), x, lambda epoch: truth[kind], recipe, held_out=(np.eye(3), truth))
    np.testing.assert_allclose(fitted.last.probs, truth, atol=0.01)
    assert fitted.history[-1]["kl"] < 1e-3


def test_hard_labels_drawn_from_it_do_so_too() -> None:
    truth = np.array([[0.6, 0.3, 0.1], [0.1, 0.1, 0.8]])
    kind = np.arange(2000) % 2
    x = np.eye(2, dtype=np.float32)[kind]

    def draw(epoch: int) -> np.ndarray:
        u = np.random.default_rng(epoch).random(2000)
        return (u[:, None] > truth.cumsum(1)[kind]).sum(1)

    fitted = fit(make("mlp", (2,), 3), x, draw, Recipe(epochs=10, lr=0.1), held_out=(np.eye(2), truth))
    np.testing.assert_allclose(fitted.last.probs, truth, atol=0.04)


def test_multilabel_deliveries_learn_the_share_of_each_class() -> None:
    truth = np.array([[0.9, 0.8, 0.0], [0.1, 0.5, 1.0]])
    kind = np.arange(200) % 2

    class Deliver:
        multilabel, n_classes = True, 3

        def __call__(self, epoch: int) -> np.ndarray:
            return truth[kind].astype(np.float32)

    x = np.eye(2, dtype=np.float32)[kind]
    recipe = Recipe(epochs=40, batch_size=32, lr=0.5, weight_decay=0)
    fitted = fit(make("mlp", (2,), 3), x, Deliver(), recipe, held_out=(np.eye(2), truth))
    np.testing.assert_allclose(1 / (1 + np.exp(-fitted.last.logits)), truth, atol=0.05)
    assert fitted.history[-1]["accuracy"] >= 5 / 6


def test_the_loop_is_plain_sgd_on_the_batches_it_says() -> None:
    x = RNG.normal(size=(50, 5)).astype(np.float32)
    recipe = Recipe(epochs=3, batch_size=16, lr=0.1, mean=[0.0] * 5, std=[1.0] * 5, nesterov=True)
    fitted = fit(make("mlp", (5,), 4), x, soft, recipe, seed=7)
    model = fit_nothing(make("mlp", (5,), 4), x, seed=7)
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9, weight_decay=5e-4, nesterov=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 3)
    for epoch in range(3):
        losses = []
        for i in np.split(permutation(50, 7, "order", epoch), [16, 32, 48]):
            loss = F.cross_entropy(model(torch.from_numpy(x[i])), torch.from_numpy(SOFT[i]))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses += [loss.item()] * len(i)
        schedule.step()
        assert fitted.history[epoch]["train_loss"] == pytest.approx(np.mean(losses), rel=1e-5)
    for name, value in model.state_dict().items():
        torch.testing.assert_close(fitted.model.state_dict()[name], value, rtol=1e-4, atol=1e-6)


def test_adamw_is_that_of_torch_with_decay_on_matrices_only() -> None:
    x = RNG.normal(size=(50, 5)).astype(np.float32)
    recipe = Recipe(
        epochs=3, batch_size=16, lr=0.01, mean=[0.0] * 5, std=[1.0] * 5,
        optimizer="adamw", weight_decay=0.1, momentum=0.8, schedule="linear", warmup=0.25,
    )  # fmt: skip
    fitted = fit(make("mlp", (5,), 4), x, soft, recipe, seed=7)
    model = fit_nothing(make("mlp", (5,), 4), x, seed=7)
    biases = [value for name, value in model.named_parameters() if name.endswith("bias")]
    weights = [value for name, value in model.named_parameters() if name.endswith("weight")]
    groups = [{"params": biases, "weight_decay": 0.0}, {"params": weights, "weight_decay": 0.1}]
    optimizer = torch.optim.AdamW(groups, lr=0.01, betas=(0.8, 0.999), foreach=False, fused=False)
    step = 0
    for epoch in range(3):
        for i in np.split(permutation(50, 7, "order", epoch), [16, 32, 48]):
            for group in optimizer.param_groups:
                group["lr"] = 0.01 * (step / 3 if step < 3 else (12 - step) / 9)
            optimizer.zero_grad()
            F.cross_entropy(model(torch.from_numpy(x[i])), torch.from_numpy(SOFT[i])).backward()
            optimizer.step()
            step += 1
    for name, value in model.state_dict().items():
        torch.testing.assert_close(fitted.model.state_dict()[name], value, rtol=1e-4, atol=1e-6)


def fit_nothing(make_model, x: np.ndarray, seed: int) -> nn.Module:
    """The initial weights of a seed: a rate so small that float32 weights do not move."""
    return fit(make_model, x, soft, Recipe(epochs=1, lr=1e-30), seed=seed).model


def test_mixup_trains() -> None:
    recipe = Recipe(epochs=3, batch_size=16, mixup=1.0)
    assert digest(fit(SMALL, IMAGES, hard, recipe)) != digest(fit(SMALL, IMAGES, hard, Recipe(epochs=3, batch_size=16)))


def test_bf16_trains_close_to_fp32() -> None:
    x, recipe = RNG.normal(size=(50, 5)), {"epochs": 3, "batch_size": 16, "lr": 0.01}
    a = fit(make("mlp", (5,), 4), x, soft, Recipe(**recipe), held_out=(x, SOFT))
    b = fit(make("mlp", (5,), 4), x, soft, Recipe(**recipe, precision="bf16"), held_out=(x, SOFT))
    assert a.history[-1]["soft_nll"] == pytest.approx(b.history[-1]["soft_nll"], abs=0.01)
    assert all(p.dtype == torch.float32 for p in b.model.parameters())


# Chance


def test_the_same_arguments_give_the_same_weights_in_another_process_too() -> None:
    ours = digest(fit(SMALL, IMAGES, soft, QUICK, seed=3))
    assert ours == digest(fit(SMALL, IMAGES, soft, QUICK, seed=3))
    assert ours != digest(fit(SMALL, IMAGES, soft, QUICK, seed=4))
    code = (
        "import importlib.util, sys, torch; torch.set_num_threads(1); torch.manual_seed(99); torch.rand(7)\n"
        "spec = importlib.util.spec_from_file_location('t', sys.argv[1]); t = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(t); print(t.digest(t.fit(t.SMALL, t.IMAGES, t.soft, t.QUICK, seed=3)))"
    )
    told = subprocess.run(
        [sys.executable, "-c", code, __file__], capture_output=True, text=True, check=True, env=os.environ
    )
    assert told.stdout.strip() == ours


def test_methods_of_one_seed_are_paired() -> None:
    shown: dict[str, list[torch.Tensor]] = {"soft": [], "hard": []}
    models = {
        name: fit(lambda name=name: Watching(shown[name]), IMAGES, deliver, QUICK, seed=3).model
        for name, deliver in (("soft", soft), ("hard", hard))
    }
    assert torch.equal(models["soft"].initial, models["hard"].initial)
    assert len(shown["soft"]) == 3 * 4
    assert all(torch.equal(a, b) for a, b in zip(shown["soft"], shown["hard"], strict=True))  # dropout included
    assert not torch.equal(shown["soft"][0], shown["soft"][4])  # another epoch, another order and augmentation


@pytest.mark.parametrize("name", METHODS)
def test_every_method_trains_from_the_same_start_in_the_same_order(name: str) -> None:
    method = METHODS[name]
    votes = Votes.from_counts(RNG.multinomial(5, [0.4, 0.3, 0.2, 0.1], 50))
    deliver = DELIVERIES[method.delivery](votes, seed=0)
    orders: list[torch.Tensor] = []

    class Seen(nn.Linear):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if self.training:
                orders.append(x.clone())
            return super().forward(x)

    # One feature, the position of the item, and batches of one: mixup with oneself changes nothing that is shown.
    recipe = replace(Recipe(epochs=1, batch_size=1, lr=0.001, mean=[0.0], std=[1.0]), **method.recipe)
    fitted = fit(lambda: Seen(1, 4), np.arange(50.0)[:, None], deliver, recipe, seed=3)
    assert torch.cat(orders).flatten().round().int().tolist() == permutation(50, 3, "order", 0).tolist()
    assert np.isfinite(fitted.history[0]["train_loss"])


def test_the_two_seeds_do_what_they_say() -> None:
    def run(seeds: Seeds) -> tuple[torch.Tensor, torch.Tensor]:
        shown: list[torch.Tensor] = []
        return fit(lambda: Watching(shown), IMAGES, soft, Recipe(epochs=1), seed=seeds).model.initial, shown[0]

    (weights, batch), (other_weights, same_batch) = run(Seeds(0, 1)), run(Seeds(5, 1))
    assert not torch.equal(weights, other_weights)
    assert torch.equal(batch, same_batch)
    (same_weights, other_batch) = run(Seeds(0, 2))
    assert torch.equal(weights, same_weights)
    assert not torch.equal(batch, other_batch)


def test_the_caller_s_random_state_is_neither_used_nor_changed() -> None:
    torch.manual_seed(1)
    before, numbers = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    first = digest(fit(lambda: Watching([]), IMAGES, soft, QUICK, progress=lambda row: torch.rand(3)))
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(np.random.get_state()[1], numbers)  # noqa: NPY002
    torch.manual_seed(2)
    assert first == digest(fit(lambda: Watching([]), IMAGES, soft, QUICK))


def test_inputs_are_not_changed() -> None:
    before = IMAGES.copy()
    fit(SMALL, IMAGES, soft, QUICK)
    np.testing.assert_array_equal(IMAGES, before)


# What it gives


@pytest.fixture(scope="module")
def fitted() -> Fitted:
    # The held-out people say something else than the training ones, so the best epoch is not the last.
    held_out = (IMAGES[:20], SOFT[20:40])
    return fit(
        SMALL, IMAGES, soft, Recipe(epochs=6, batch_size=16), held_out=held_out, select_on=(IMAGES[:30], SOFT[10:40])
    )


def test_history_has_a_row_an_epoch(fitted: Fitted) -> None:
    assert [row["epoch"] for row in fitted.history] == list(range(6))
    columns = ["epoch", "lr", "train_loss", "soft_nll", "kl", "accuracy", "select_nll", "seconds"]
    assert all(list(row) == columns for row in fitted.history)
    assert [row["lr"] for row in fitted.history] == [Recipe(epochs=6).rate(epoch) for epoch in range(6)]


def test_best_is_picked_by_the_items_that_select_and_last_is_last(fitted: Fitted) -> None:
    assert (
        fitted.best.epoch == fitted.select_best.epoch == int(np.argmin([row["select_nll"] for row in fitted.history]))
    )
    assert fitted.last.epoch == fitted.select_last.epoch == 5
    assert fitted.best.logits.shape == (20, 4)
    assert fitted.select_best.logits.shape == (30, 4)
    for predictions in (fitted.best, fitted.last):
        nll = metrics.soft_nll(predictions.probs, SOFT[20:40].astype(np.float64)).mean()
        assert fitted.history[predictions.epoch]["soft_nll"] == pytest.approx(nll, rel=1e-6)
    nll = metrics.soft_nll(fitted.select_best.probs, SOFT[10:40]).mean()
    assert fitted.history[fitted.best.epoch]["select_nll"] == pytest.approx(nll, rel=1e-6)


def test_the_model_has_the_last_weights_and_best_state_the_best_ones(fitted: Fitted) -> None:
    last = predict(fitted.model, IMAGES[:20], fitted.prepare)
    np.testing.assert_allclose(last, fitted.last.logits, rtol=1e-4, atol=1e-5)
    best = SMALL()
    best.load_state_dict(fitted.best_state)
    np.testing.assert_allclose(predict(best, IMAGES[:20], fitted.prepare), fitted.best.logits, rtol=1e-4, atol=1e-5)


def test_weights_are_in_the_plain_layout(fitted: Fitted) -> None:
    assert all(value.is_contiguous() for value in fitted.model.state_dict().values())
    assert all(value.is_contiguous() for value in fitted.best_state.values())
    assert fitted.model.training


def test_the_held_out_items_do_not_select_where_others_do() -> None:
    opposed = (IMAGES, SOFT[:, ::-1])  # the better the training items are learned, the worse these are
    fitted = fit(SMALL, IMAGES, soft, Recipe(epochs=6, batch_size=16), held_out=opposed, select_on=(IMAGES, SOFT))
    held_out, select = (int(np.argmin([row[name] for row in fitted.history])) for name in ("soft_nll", "select_nll"))
    assert fitted.best.epoch == select != held_out


def test_without_select_on_the_held_out_items_select() -> None:
    fitted = fit(SMALL, IMAGES, soft, QUICK, held_out=(IMAGES[:20], SOFT[20:40]))
    assert fitted.best.epoch == int(np.argmin([row["soft_nll"] for row in fitted.history]))
    assert fitted.select_best is fitted.select_last is None
    assert "select_nll" not in fitted.history[0]


def test_of_equally_good_epochs_the_first_is_best() -> None:
    still = Recipe(epochs=3, lr=1e-30)
    assert fit(make("mlp", (3, 12, 12), 4), IMAGES, soft, still, held_out=(IMAGES, SOFT)).best.epoch == 0


def test_nothing_needs_to_be_held_out() -> None:
    fitted = fit(SMALL, IMAGES, soft, QUICK)
    assert fitted.best is fitted.last is fitted.best_state is None
    assert list(fitted.history[0]) == ["epoch", "lr", "train_loss", "seconds"]


def test_evaluation_and_selection_do_not_change_training() -> None:
    watched = fit(lambda: Watching([]), IMAGES, soft, QUICK, held_out=(IMAGES, SOFT), select_on=(IMAGES, SOFT))
    assert digest(watched) == digest(fit(lambda: Watching([]), IMAGES, soft, QUICK))


def test_progress_is_told_every_row_and_cannot_change_it() -> None:
    told: list[dict[str, float]] = []

    def spoil(row: dict[str, float]) -> None:
        told.append(dict(row))
        row.clear()

    assert fit(SMALL, IMAGES, soft, QUICK, progress=spoil).history == told


def test_torch_inputs_and_floats_from_0_to_1_give_the_same() -> None:
    assert digest(fit(SMALL, torch.from_numpy(IMAGES), soft, QUICK)) == digest(fit(SMALL, IMAGES, soft, QUICK))
    kwargs = {"held_out": (IMAGES, SOFT), "recipe": Recipe(epochs=1)}
    a = fit(SMALL, IMAGES, soft, **kwargs)
    b = fit(SMALL, IMAGES / np.float32(255), soft, Recipe(epochs=1), held_out=(IMAGES / np.float32(255), SOFT))
    np.testing.assert_allclose(a.last.logits, b.last.logits, rtol=1e-2, atol=1e-3)


def test_features_are_what_enters_the_last_layer_at_the_best_and_the_last_epoch() -> None:
    sets = {"held_out": (IMAGES[:20], SOFT[20:40]), "select_on": (IMAGES[:30], SOFT[10:40])}
    fitted = fit(SMALL, IMAGES, soft, Recipe(epochs=6, batch_size=16), features=True, **sets)
    assert fitted.best.epoch != fitted.last.epoch
    best = SMALL()
    best.load_state_dict(fitted.best_state)
    for model, found in ((best, fitted.best), (fitted.model, fitted.last)):
        logits = model.head(torch.from_numpy(found.features)).detach().numpy()
        np.testing.assert_allclose(logits, found.logits, rtol=1e-4, atol=1e-4)
    assert fitted.select_last.features.shape == (30, 16)
    without = fit(SMALL, IMAGES, soft, Recipe(epochs=6, batch_size=16), **sets)
    assert without.last.features is None
    assert digest(without) == digest(fitted)


# How it is carried out


@pytest.mark.parametrize("engine", [Engine(resident=False), Engine(graph=False), Engine(compile=True)])
def test_engines_do_not_change_a_run_on_a_cpu(engine: Engine) -> None:
    assert digest(fit(SMALL, IMAGES, soft, QUICK, engine=engine)) == digest(fit(SMALL, IMAGES, soft, QUICK))


@pytest.mark.parametrize("crop", [0, 2])
@pytest.mark.parametrize("last", [True, False])
def test_channels_last_is_on_or_off_everywhere(last: bool, crop: int) -> None:
    seen = set()

    class Seeing(nn.Conv2d):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if len(x) > 1:
                plain = tuple(tensor.is_contiguous() for tensor in (x, self.weight))
                seen.add(plain + tuple(t.is_contiguous(memory_format=torch.channels_last) for t in (x, self.weight)))
            return super().forward(x).mean((2, 3))

    recipe = Recipe(epochs=1, batch_size=16, crop=crop)
    fit(lambda: Seeing(3, 4, 3), IMAGES, soft, recipe, held_out=(IMAGES, SOFT), engine=Engine(channels_last=last))
    assert seen == {(not last, not last, last, last)}


def test_the_two_layouts_give_the_same_model() -> None:
    a, b = (
        fit(SMALL, IMAGES, soft, QUICK, held_out=(IMAGES, SOFT), engine=Engine(channels_last=last))
        for last in (True, False)
    )
    np.testing.assert_allclose(a.last.logits, b.last.logits, rtol=1e-3, atol=1e-3)


# Mistakes


def test_divergence_names_the_epoch_and_what_to_try() -> None:
    with pytest.raises(Diverged, match=r"diverged in epoch \d+: .*Try a lower lr \(it was 1e\+20\)"):
        fit(SMALL, IMAGES, soft, Recipe(epochs=5, lr=1e20), held_out=(IMAGES, SOFT))


def test_divergence_tells_the_history_up_to_its_end() -> None:
    with pytest.raises(Diverged) as told:
        fit(SMALL, IMAGES, soft, Recipe(epochs=5, lr=1e20), held_out=(IMAGES, SOFT))
    history = told.value.history
    assert [row["epoch"] for row in history] == list(range(told.value.epoch + 1))
    assert all("finite" not in row for row in history)
    assert not np.isfinite([history[-1]["train_loss"], history[-1]["soft_nll"]]).all()


def labels_of(*values: int) -> np.ndarray:
    return np.resize(np.array(values), 50)


class Named:
    n_classes = 9

    def __call__(self, epoch: int) -> np.ndarray:
        return HARD


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"deliver": lambda epoch: SOFT[:, :3]}, "the model gives 4 logits an item, but the delivery has 3 classes"),
        ({"deliver": Named()}, "the model gives 4 logits an item, but the delivery has 9 classes"),
        ({"deliver": lambda epoch: labels_of(0, 4)}, r"deliver\(0\) gives labels from 0 to 4, but the model gives 4"),
        ({"deliver": lambda epoch: labels_of(-1, 2)}, r"deliver\(0\) gives labels from -1 to 2"),
        ({"deliver": lambda epoch: HARD[:9]}, "one label or one row an item, 50 in all"),
        ({"held_out": (IMAGES, np.eye(5)[HARD])}, "4 logits an item, but the human of held_out has 5 classes"),
        ({"select_on": (IMAGES[:, :1], SOFT)}, r"select_on must have items of the shape \(3, 12, 12\)"),
        ({"inputs": IMAGES[0]}, "inputs must be images"),
        ({"make_model": lambda: nn.Conv2d(3, 4, 3)}, r"must give logits \(items, classes\)"),
        ({"recipe": Recipe(mean=[0.5], std=[0.5])}, "have 1 numbers, but the inputs have 3 channels"),
        ({"recipe": Recipe(precision="tf32")}, "tf32 is for CUDA devices"),
        ({"make_model": lambda: Watching([]), "features": True}, r"Watching has no features\(x\)"),
        ({"seed": "0"}, "the init seed must be a whole number, but is '0'"),
    ],
)
def test_mistakes_are_told_before_training(change: dict, message: str) -> None:
    arguments = {"make_model": SMALL, "inputs": IMAGES, "deliver": soft, "recipe": QUICK}
    with pytest.raises(InputError, match=message):
        fit(**arguments | change)


def test_an_engine_is_an_engine() -> None:
    with pytest.raises(InputError, match=r"engine must be an Engine, such as Engine\(graph=False\), but is 'fast'"):
        fit(make("mlp", (2,), 2), np.eye(2), lambda epoch: np.array([0, 1]), engine="fast")  # type: ignore[arg-type]
