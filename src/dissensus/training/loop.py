"""The training loop, in one place."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from time import monotonic
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from dissensus.base.errors import DissensusError, InputError
from dissensus.evaluation.predict import Prepare, device_of, penultimate
from dissensus.evaluation.predictions import Predictions
from dissensus.training.augment import Augment
from dissensus.training.batches import Batches
from dissensus.training.best import Best
from dissensus.training.checkpoint import Checkpoint, Saved, identity, load, save
from dissensus.training.checks import check_classes, check_finite, finite
from dissensus.training.engine import Engine
from dissensus.training.graphs import NotRecorded
from dissensus.training.held_out import Logits, Watch
from dissensus.training.inputs import checked, is_tokens, lengths_of, placed, prepare_by
from dissensus.training.job import Inputs, Job, Row
from dissensus.training.labels import Deliver, Labels, as_targets
from dissensus.training.lane import Lane
from dissensus.training.learner import State, evaluation_precision, lay_out
from dissensus.training.mixup import Loss
from dissensus.training.precision import arithmetic
from dissensus.training.randomness import Reseed
from dissensus.training.readings import Moment, Reading
from dissensus.training.recipe import Recipe, Seeds

STEPS_A_TURN = 8  # on a GPU


class Stopped(DissensusError):
    """The run was asked to stop before its end."""


@dataclass(frozen=True)
class Fitted:
    """What training gives.

    ``best`` is the epoch with the lowest soft NLL on the items that select (the first one, if several are equal),
    ``last`` the last epoch: predictions on the held-out items. ``select_best`` and ``select_last`` are those on the
    ``select_on`` items. What was not asked for is None.
    """

    model: nn.Module  # with its last weights
    prepare: Prepare  # normalises inputs for the model: predict(fitted.model, inputs, fitted.prepare)
    history: list[Row]
    best: Predictions | None
    last: Predictions | None
    select_best: Predictions | None
    select_last: Predictions | None
    best_state: State | None  # the weights of the best epoch: model.load_state_dict(best_state)


def fit(
    make_model: Callable[[], nn.Module],
    inputs: Inputs,
    deliver: Deliver,
    recipe: Recipe = Recipe(),  # noqa: B008 (frozen)
    *,
    seed: int | Seeds = 0,
    held_out: tuple[Inputs, ArrayLike] | None = None,
    select_on: tuple[Inputs, ArrayLike] | None = None,
    progress: Callable[[Row], Any] | None = None,
    engine: Engine = Engine(),  # noqa: B008 (frozen)
    checkpoint: Checkpoint | None = None,
    features: bool = False,
    stop: Callable[[], bool] | None = None,
) -> Fitted:
    """Train a fresh model on what ``deliver(epoch)`` gives, epoch by epoch.

    ``inputs`` are uint8 or float images (items, channels, height, width), features (items, features), or tokens of
    texts (items, 2, length): numbers in a vocabulary, and which of two texts they are in, -1 where it is over.
    ``held_out`` is ``(inputs, human)``: items that are predicted after every epoch. ``select_on`` is another such pair,
    whose soft NLL picks the best epoch; without it the held-out items do. ``progress`` is called with every row of the
    history.

    The model trains on the device that ``make_model`` puts it on, with the number of threads that torch is set to;
    ``engine`` says by which techniques. With ``checkpoint`` the run leaves its state in a file every so often, and goes
    on from that file where it exists. ``stop`` is asked after every epoch: when it says True, the state is written and
    :class:`Stopped` is raised. With ``features`` the predictions hold what enters the last layer, too.

    A run is a function of its arguments. Initial weights, batch order, augmentation, mixup and dropout come from the
    seed and know nothing of the delivery, so two deliveries with one seed are paired. The caller's random state is
    neither used nor changed. On one type of CPU, build of torch and number of threads the weights are the same
    bit for bit, also where the run was interrupted.

    >>> from dissensus.models import make
    >>> x = np.eye(3, dtype=np.float32)
    >>> p = np.array([[0.7, 0.3], [0.5, 0.5], [0.1, 0.9]], np.float32)
    >>> fitted = fit(make("mlp", (3,), 2), x, lambda epoch: p, Recipe(epochs=60, lr=0.3), held_out=(x, p))
    >>> fitted.last.probs.round(1)
    array([[0.7, 0.3],
           [0.5, 0.5],
           [0.1, 0.9]])
    """
    job = Job(make_model, inputs, deliver, recipe, seed, held_out, select_on, progress, checkpoint, features)
    try:
        return _fit(job, engine, stop)
    except NotRecorded as error:
        warnings.warn(str(error), stacklevel=2)
    return _fit(job, replace(engine, graph=False), stop)


def _fit(job: Job, engine: Engine, stop: Callable[[], bool] | None) -> Fitted:
    run = Run(job, engine, Lane())
    for over in run.epochs():
        if over and stop is not None and stop():
            raise run.stop()
    return run.fitted()


class Run:
    """One training run under way, from its job to what it gives. ``epochs`` is the loop."""

    def __init__(self, job: Job, engine: Engine, lane: Lane) -> None:
        if not isinstance(engine, Engine):
            raise InputError(f"engine must be an Engine, such as Engine(graph=False), but is {engine!r}.")
        self.job, self.recipe, self.engine, self.lane = job, job.recipe, engine, lane
        self.seeds = Seeds.of(job.seed)
        with lane.turn() as reseed:
            reseed(self.seeds.init, "init")
            self.model = job.make_model()
        self.device = device_of(self.model)
        lane.check(self.device)
        with self.turn():
            inputs = checked("inputs", job.inputs)
            self.prepare = prepare_by(self.recipe, inputs).to(self.device)
            self.watch = Watch.check(
                job.held_out, job.select_on, inputs, is_multilabel(job.deliver), self.device, engine
            )
            labels = as_targets(job.deliver(0), len(inputs), 0)
            example = self.prepare(inputs[:1].to(self.device))
            n_classes = check_classes(self.model, example, labels, job.deliver, self.watch)
            if job.features:
                penultimate(self.model, example)  # an error now, if the model has none
            data = placed(inputs, self.device, engine)
            augment = Augment(data, self.recipe.crop, self.recipe.flip, self.seeds.order)
            given = Labels(job.deliver, len(data), n_classes, self.recipe.epochs, self.device)
            lengths = lengths_of(inputs) if is_tokens(inputs) else None
            packed = lengths is not None and getattr(self.model, "packs", False)
            self.batches = Batches(data, given, augment, self.recipe, self.seeds.order, self.device, lengths, packed)

            saved = None
            if job.checkpoint is not None:
                job.checkpoint.tidy()
                self.identity = identity(self.recipe, self.seeds, self.model, inputs, labels, self.watch)
                saved = load(job.checkpoint.path, self.identity)
            if saved is not None:
                self.model.load_state_dict(saved.part("model"))
            self.learner = lane.learner(self.model, self.prepare, loss_for(job.deliver), self.recipe, engine)
            self.best = Best(self.learner.model, self.watch, n_classes) if self.watch.sets else None
            if saved is not None:
                saved.into(self.tensors())
                self.learner.refresh()
        self.history: list[Row] = [] if saved is None else saved.history
        self.readings: deque[Reading] = deque()
        self.saved_at = monotonic(), len(self.history)

    def epochs(self) -> Iterator[bool]:
        """Train, turn by turn, so that other runs have theirs in between; True is the end of an epoch, but the last.

        On a CPU a turn is an epoch. On a GPU it is a few steps, so that no stream runs dry while this thread fills
        another: enqueued epoch by epoch, four runs took 17.5 s each where their steps alone take 15.8.
        """
        rates = rates_of(self.recipe, len(self.batches), self.device)
        a_turn = STEPS_A_TURN if self.device.type == "cuda" else len(self.batches)
        # On a GPU the numbers of an epoch are read at the end of the next one, so it never waits for Python.
        behind = 1 if self.device.type == "cuda" else 0
        for epoch in range(len(self.history), self.recipe.epochs):
            with self.turn():
                started = Moment(self.device)
                total = torch.zeros((), device=self.device)  # to read the loss in every step would wait for the device
                batches = self.batches(epoch)
            for first in range(0, len(self.batches), a_turn):
                with self.turn() as reseed:
                    # dropout, and whatever else a model draws
                    reseed(self.seeds.order, "layers", epoch, *([first] if first else []))
                    turn = zip(rates[epoch, first : first + a_turn], islice(batches, a_turn), strict=True)
                    for rate, (x, y, share, partner) in turn:
                        total += self.learner.step(x, y, rate, share, partner) * len(y)
                if first + a_turn < len(self.batches):
                    yield False

            with self.turn():
                self.logits = self.watch.logits(self.learner.logits)
                scores = self.watch.scores(self.logits)
                if self.best is not None:
                    nll = scores["select_nll" if "select_nll" in scores else "soft_nll"]
                    self.best.consider(epoch, nll, self.learner.model, self.logits)
                loss = total.double() / len(self.batches.inputs)
                numbers = {"train_loss": loss, **scores, "finite": finite(loss, self.logits)}
                self.readings.append(Reading(numbers, started))
                self.read(behind)
            if epoch + 1 < self.recipe.epochs:
                self.save_if_due(epoch + 1)
                yield True
        with self.turn():
            self.read(0)

    @contextmanager
    def turn(self) -> Iterator[Reseed]:
        """What a run does, it does on its lane and in its precision."""
        with self.lane.turn() as reseed, arithmetic(self.recipe.precision, self.device, self.engine):
            yield reseed

    def read(self, behind: int) -> None:
        """Write the history up to the last ``behind`` epochs, which may still be under way."""
        while len(self.readings) > behind:
            found, epoch = self.readings.popleft().read(), len(self.history)
            row = {"epoch": epoch, "lr": self.recipe.rate(epoch, len(self.batches)), **found}
            check_finite(row, self.recipe, self.history)
            self.history.append(row)
            if self.job.progress is not None:
                self.job.progress(dict(row))

    def tensors(self) -> State:
        """All that an epoch changes, by name; what the optimizer keeps by its place."""
        found = {f"model.{name}": value for name, value in self.learner.model.state_dict().items()}
        found |= {f"momentum.{place}": value for place, value in enumerate(self.learner.momentum)}
        return found | ({} if self.best is None else {f"best.{n}": value for n, value in self.best.tensors().items()})

    def save_if_due(self, epochs: int) -> None:
        since, before = self.saved_at
        if self.job.checkpoint is not None and self.job.checkpoint.due(epochs - before, monotonic() - since):
            self.save()

    def save(self) -> None:
        """Write the state at the end of the epoch that was the last to begin."""
        if self.job.checkpoint is not None:
            with self.turn():
                self.read(0)  # waits; and a run that diverged ends here, not in a file
                save(self.job.checkpoint.path, Saved(self.identity, self.history, self.tensors()))
            self.saved_at = monotonic(), len(self.history)

    def stop(self) -> Stopped:
        """Leave a checkpoint, where the job has one; the error that says so."""
        with self.turn():
            self.read(0)
        self.save()
        where = "nothing was kept" if self.job.checkpoint is None else f"its state is in {self.job.checkpoint.path}"
        return Stopped(f"the run was stopped after {len(self.history)} of {self.recipe.epochs} epochs; {where}.")

    def fitted(self) -> Fitted:
        """What the run gives, when its epochs are over."""
        with self.turn():
            last_state, last_epoch = copy_of(self.learner.model.state_dict()), self.recipe.epochs - 1
            lay_out(self.model, torch.contiguous_format)
            best_state, best = None, dict[str, Predictions]()
            if self.best is not None:
                best_state = copy_of(self.best.state)
                best = self.predictions(int(self.best.epoch), self.best.logits, best_state)
            last = self.predictions(last_epoch, self.logits, last_state)
            self.model.load_state_dict(last_state)
            if self.device.type == "cuda":
                torch.cuda.current_stream().synchronize()
        return Fitted(
            model=self.model,
            prepare=self.prepare,
            history=self.history,
            best=best.get("held_out"),
            last=last.get("held_out"),
            select_best=best.get("select_on"),
            select_last=last.get("select_on"),
            best_state=best_state,
        )

    def predictions(self, epoch: int, logits: Logits, state: State) -> dict[str, Predictions]:
        """What the model said of each set at an epoch, with its features there where they were asked for."""
        features: dict[str, NDArray[np.float32]] = {}
        if self.job.features:
            self.model.load_state_dict(state)
            with evaluation_precision(self.recipe.precision, self.device):
                for name, items in self.watch.sets.items():
                    features[name] = penultimate(self.model, items.inputs, self.prepare)
        return {name: Predictions(z.cpu().numpy(), epoch, features.get(name)) for name, z in logits.items()}


def is_multilabel(deliver: Deliver) -> bool:
    return bool(getattr(deliver, "multilabel", False))


def loss_for(deliver: Deliver) -> Loss:
    """Cross-entropy; for classes that are chosen independently, of each class by itself."""
    return F.binary_cross_entropy_with_logits if is_multilabel(deliver) else F.cross_entropy


def rates_of(recipe: Recipe, steps: int, device: torch.device) -> Tensor:
    """The learning rate of every step, (epochs, steps), on the device, in the precision that the fused SGD takes."""
    exact = torch.float32 if device.type == "cuda" else torch.float64
    return torch.tensor([recipe.rates(epoch, steps) for epoch in range(recipe.epochs)], dtype=exact, device=device)


def copy_of(state: State) -> State:
    """The weights as they are now, in the plain memory layout that files want."""
    return {name: value.detach().clone(memory_format=torch.contiguous_format) for name, value in state.items()}
