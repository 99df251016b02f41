"""The trainings of a study: each as a run of a plan is made, with votes that no plan could name.

What trains is imported when something is trained: scores are judged where there is neither torch nor pydantic.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dissensus.base.arrays import Labels, Simplex
from dissensus.datasets import Dataset
from dissensus.delivery import DELIVERIES, METHODS
from dissensus.experiment.defaults import defaults_for
from dissensus.experiment.parts import Parts, Positions, aim_of, parts, reference_labels
from dissensus.experiment.studies.finding import BEYOND_CLASS, BEYOND_SHARES
from dissensus.experiment.studies.score import Score
from dissensus.metrics import METRICS, fit_temperature, softmax
from dissensus.records import CHECKPOINTS
from dissensus.training import Recipe
from dissensus.votes import Votes

if TYPE_CHECKING:
    from torch import nn

    from dissensus.experiment.plan import ModelPart
    from dissensus.training import Fitted, Job

MEASURED = (
    "kl",
    "soft_nll",
    "js_distance",
    "entropy_correlation",
    "entropy_correlation_pearson",
    "entropy_gap",
    "accuracy",
)
# A quarter of the default's epochs, faster. On seeds 100 to 102 of ChaosNLI and HS-Brexit the best epoch scores the
# same (KL within .005, accuracy within .01) in a fifth of the time; the last one is less overfitted. Fine-tuning is for
# GPUs, and in TF32 as in the paper's own runs.
QUICK: dict[str, dict[str, Any]] = {
    "frozen": {"epochs": 15, "batch_size": 64, "lr": 3e-4},
    "fine-tuned": {"precision": "tf32"},
}
TEST, SELECT = 0.2, 0.1  # shares of the items, as in the audited protocol


@dataclass(frozen=True)
class TrialSetting:
    """The model and the recipe that all trainings of a study share."""

    model: ModelPart
    recipe: Recipe
    encoder: str | None = None

    def see(self, data: Dataset) -> Dataset:
        """The data as the model takes them: texts through its encoder, everything else as it is."""
        from dissensus.experiment.seen import seen

        return seen(self.model, data, self.encoder)

    def make(self, data: Dataset) -> Callable[[], nn.Module]:
        """A factory of fresh models for data that are seen so."""
        from dissensus.experiment.machine import device
        from dissensus.experiment.seen import factory

        make = factory(self.model, data, self.encoder)
        return lambda: make().to(device())


def setting(
    data: Dataset,
    model: str = "frozen",
    encoder: str | None = None,
    options: Mapping[str, Any] | None = None,
    **recipe: Any,
) -> TrialSetting:
    """A model of these data with the recipe that a comparison would give it, but for what is said here or quicker."""
    from dissensus.experiment.seen import model_part

    given = {**defaults_for(data.name, data, model).recipe, **QUICK.get(model, {}), **recipe}
    return TrialSetting(model_part(model, options or {}, data, encoder), Recipe(**given), encoder)


@dataclass(frozen=True)
class Trial:
    """What a trained model says of the evaluation and of the selection items, at both checkpoints."""

    split: Parts
    logits: Mapping[str, NDArray[np.floating]]  # by checkpoint
    select_logits: Mapping[str, NDArray[np.floating]]
    select_target: Simplex
    state: Mapping[str, Any]  # the weights of the best epoch, where another training begins with them

    def probs(self, checkpoint: str, tempered: bool) -> Simplex:
        """Probabilities of the evaluation items; a temperature is fitted to the votes of the selection items."""
        temperature = fit_temperature(self.select_logits[checkpoint], self.select_target) if tempered else 1.0
        return softmax(self.logits[checkpoint], temperature)


@dataclass(frozen=True)
class People:
    """By whom predictions are judged: what they say of every item, and which items they know."""

    name: str
    human: Simplex
    labels: Labels
    known: NDArray[np.bool_]

    @classmethod
    def of(cls, name: str, data: Dataset, votes: Votes | None = None) -> People:
        """Those who cast the ``votes``, or else those of the data; ties of labels as everywhere."""
        votes = data.votes if votes is None else votes
        known = votes.votes_per_item > 0
        human = votes.counts() / np.maximum(votes.votes_per_item, 1)[:, None]
        return cls(name, human, reference_labels(replace(data, votes=votes)), known)

    @classmethod
    def true(cls, name: str, truth: Simplex) -> People:
        """A distribution that is known."""
        return cls(name, truth, truth.argmax(1).astype(np.int64), np.ones(len(truth), bool))


@dataclass(frozen=True)
class After:
    """A training that has to be over first, and a factory of models that begin where it ended."""

    number: int  # its place among those that are asked for together
    carry: Callable[[Trial], Callable[[], nn.Module]]


@dataclass(frozen=True)
class Asked:
    """A training that is to be made: on ``votes`` of the data's training items, to predict its evaluation items.

    The split follows from the data and the seed alone, so that all arms of a seed share it. Items without a vote do
    not train. The model begins afresh, or ``after`` another training.
    """

    data: Dataset
    votes: Votes
    method: str
    seed: int
    how: TrialSetting
    target: str = "shares"
    after: After | None = None

    @cached_property
    def split(self) -> Parts:
        return parts(self.data, TEST, SELECT, self.seed)

    @cached_property
    def work(self) -> float:
        """How long it takes, in a unit that all trainings of a model share: items, of texts tokens, times epochs."""
        train = self.data.array[self.with_votes(self.split.train)]
        once = int((train[:, 1] >= 0).sum()) if train.ndim == 3 else len(train)
        return float(once * self.how.recipe.epochs)

    def with_votes(self, part: Positions) -> Positions:
        return part[self.votes.votes_per_item[part] > 0]

    def chosen_by(self) -> Simplex:
        """What is said of the selection items, by the votes that train."""
        return self.votes.take(self.with_votes(self.split.select)).frequencies()

    def job(self, before: Trial | None = None) -> Job:
        """The training itself; ``before`` is the one that it comes after."""
        from dissensus.training import Job

        split, arm = self.split, METHODS[self.method]
        train, select = self.with_votes(split.train), self.with_votes(split.select)
        return Job(
            self.how.make(self.data) if self.after is None or before is None else self.after.carry(before),
            self.data.array[train],
            DELIVERIES[arm.delivery](aim_of(self.votes.take(train), self.target), seed=self.seed),
            replace(self.how.recipe, **arm.recipe),
            seed=self.seed,
            held_out=(self.data.array[split.evaluation], self.data.votes.take(split.evaluation).frequencies()),
            select_on=(self.data.array[select], self.chosen_by()),
        )


@dataclass(frozen=True)
class Making:
    """Trainings of a seed, and the scores that follow from what they say, in the order of asking."""

    asked: Sequence[Asked]
    scores: Callable[[Sequence[Trial]], list[Score]]


def measured(said: Trial, people: People, **place: Any) -> list[Score]:
    """The scores of a trial, at both checkpoints, plain and tempered; ``place`` says what it was."""
    at = said.split.evaluation
    known = people.known[at]
    human, labels = people.human[at][known], people.labels[at][known]
    most_frequent = np.bincount(labels).max() / len(labels)
    shares = np.broadcast_to(people.human[people.known].mean(0), human.shape)
    knows_shares = METRICS["kl"](shares, human)
    rows = []
    for checkpoint in CHECKPOINTS:
        for tempered in (False, True):
            probs = said.probs(checkpoint, tempered)[known]
            values = {name: METRICS[name](probs, human, labels) for name in MEASURED}
            values[BEYOND_CLASS] = values["accuracy"] - most_frequent
            values[BEYOND_SHARES] = knows_shares - values["kl"]
            rows.append(
                Score(
                    **place, against=people.name, checkpoint=checkpoint, tempered=tempered, items=len(labels),
                    values=values,
                )
            )  # fmt: skip
    return rows


def trial_of(asked: Asked, fitted: Fitted, weights: bool) -> Trial:
    """What came of a training; with its ``weights`` where another begins with them."""
    assert fitted.best is not None
    assert fitted.last is not None
    assert fitted.select_best is not None
    assert fitted.select_last is not None
    assert fitted.best_state is not None
    return Trial(
        asked.split,
        {"best": fitted.best.logits, "last": fitted.last.logits},
        {"best": fitted.select_best.logits, "last": fitted.select_last.logits},
        asked.chosen_by(),
        {name: value.cpu() for name, value in fitted.best_state.items()} if weights else {},  # off the GPU
    )
