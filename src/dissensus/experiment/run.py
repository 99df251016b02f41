"""One plan carried out: from votes to a run in the store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import PlanError
from dissensus.datasets import Dataset, inputs_in_words
from dissensus.delivery import DELIVERIES, METHODS
from dissensus.evaluation.predictions import Predictions
from dissensus.experiment.about import about, own_method
from dissensus.experiment.again import taken_over
from dissensus.experiment.budget import epochs_saved
from dissensus.experiment.clock import Clock
from dissensus.experiment.machine import device, device_name, one_thread, refuse_other_machine
from dissensus.experiment.parts import Parts, aim_of, given_votes, parts, reference_labels
from dissensus.experiment.plan import Plan, described, refuse_other_versions
from dissensus.experiment.seen import factory, seen
from dissensus.experiment.subject import Diagnose, Kept, Subject, dynamics_of
from dissensus.experiment.trained import save_weights
from dissensus.records import Diagnosis, RunStore, StoredRun, Weights, write_diagnostics, write_run
from dissensus.records.run import WEIGHTS
from dissensus.training import Engine, Seeds
from dissensus.votes import Votes

if TYPE_CHECKING:  # torch takes two seconds to import, and only carrying out needs it
    from dissensus.training import Diverged, Fitted, Job

CHECKPOINT = "checkpoint.safetensors"  # in the folder of an unfinished run

Row = Mapping[str, Any]


@dataclass(frozen=True)
class How:
    """How runs are carried out; no part of what they are."""

    engine: Engine = field(default_factory=Engine)
    width: int = 1  # runs side by side on one device
    features: bool = False  # keep what enters the last layer
    keep_model: bool = False  # keep the weights of the best epoch
    every: float = 60.0  # seconds between checkpoints
    diagnose: Diagnose | Mapping[str, Diagnose] | None = None  # what to look for in a model before it is gone
    keep_diverged: bool = False  # a run that diverged is an outcome like any other, kept without numbers

    def look(self, run: str) -> Diagnose | None:
        """What to look for in this run: the same in every one, or what stands under its name."""
        return self.diagnose.get(run) if isinstance(self.diagnose, Mapping) else self.diagnose


@dataclass(frozen=True)
class Looked:
    """What came of looking inside a model: arrays to keep with its predictions, or what went wrong."""

    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    seconds: float = 0.0
    error: Exception | None = None


def carry_out(
    plan: Plan,
    data: Dataset,
    store: RunStore,
    progress: Callable[[Row], Any] | None = None,
    source: Mapping[str, Any] | None = None,
    keep_model: bool = False,
    features: bool = False,
    *,
    engine: Engine = Engine(),  # noqa: B008 (frozen)
    every: float = 60.0,
    stop: Callable[[], bool] | None = None,
    diagnose: Diagnose | None = None,
) -> str:
    """Train and evaluate as the plan says, and leave the run and its records in the store; returns the run's name.

    A run that is done, or that another live process is making, is left alone; one that lacks what the ``store`` is told
    to want is made again, and replaced when that is done. One that was killed goes on from its last
    checkpoint, which is written ``every`` so many seconds; the numbers are those of a run that was not. When ``stop``,
    asked after every epoch, says True, a checkpoint is written and :class:`~dissensus.training.Stopped` is raised.

    ``progress`` is given each row of the history; ``source`` says where the data came from and is recorded beside the
    run, as is ``engine``. With ``keep_model`` the weights of the best epoch are kept there too, as
    ``model.safetensors``, for :func:`~dissensus.experiment.predict_with`; with ``features`` its predictions hold what
    enters the last layer for every item, at the best and at the last epoch. ``diagnose`` is given the model with the
    weights of either, and what it returns is kept as ``diagnostics.csv``, so that no weights need be; ``look_inside``
    is one. If it fails, the run is kept all the same.
    """
    from dissensus.evaluation import records_of
    from dissensus.training import side_by_side

    refuse_other_machine([plan])
    how = How(engine, features=features, keep_model=keep_model, every=every, diagnose=diagnose)
    begun = begin(plan, data, store, how, source)
    if begun is None:
        return plan.name
    with begun.claim, one_thread():
        (ended,) = side_by_side([begun.job(progress)], engine=engine, stop=stop_after_the_first(stop))
        fitted = ended.result()
        looked = begun.diagnose(fitted)
        write_run(begun.staging, **begun.content(fitted, looked))
    records_of(store.read(plan.name))  # derived from what is on disk by now: a metric that fails loses no run
    if looked.error is not None:
        raise looked.error
    return plan.name


def stop_after_the_first(stop: Callable[[], bool] | None) -> Callable[[], bool]:
    """Ask from the second time on: the first is before anything has begun."""
    times = count()
    return lambda: next(times) > 0 and stop is not None and stop()


@dataclass(frozen=True)
class Begun:
    """A run under way: its name is claimed, and what it is made of lies ready.

    Whoever has it closes the ``claim`` when the files are in ``staging``, which makes them the run; closed before that,
    or with an error, there is none.
    """

    plan: Plan
    takes: str  # what its inputs are, in words
    data: Dataset  # as the model sees them
    split: Parts
    train: Votes
    select: Votes
    how: How
    source: Mapping[str, Any] | None
    claim: ExitStack
    staging: Path
    checkpoint: Path
    resumed_at: int  # epochs that were done before
    clock: Clock
    started: float  # by that clock
    before: StoredRun | None = None  # the run of this name that lacks something, and whose place this one takes

    def job(self, progress: Callable[[Row], Any] | None = None, tag: Any = None) -> Job:
        from dissensus.training import Checkpoint

        job = job_of(self.plan, self.data, self.split, self.train, self.select, _encoder(self.source))
        checkpoint = Checkpoint(self.checkpoint, self.how.every)
        return replace(job, progress=progress, checkpoint=checkpoint, features=self.how.features, tag=tag)

    def diagnose(self, fitted: Fitted) -> Looked:
        """Look inside the model while it is here, and leave the numbers that are found in ``staging``.

        Only a disk that cannot be written is raised: it fails the run as well.
        """
        look = self.how.look(self.plan.name)
        if look is None:
            return Looked()
        with self.clock.standing() as seconds:
            try:
                inside = list(self._found_inside(fitted, look))
                numbers = [one for one in inside if isinstance(one, Diagnosis)]
                found = [*dynamics_of(fitted.history, len(self.split.evaluation)), *numbers]
            except Exception as error:
                return Looked(error=error)
            write_diagnostics(self.staging / "diagnostics.csv", found)
            arrays = {f"{one.weights}_{one.name}": one.array for one in inside if isinstance(one, Kept)}
            return Looked(arrays, seconds())

    def _found_inside(self, fitted: Fitted, look: Diagnose) -> Iterator[Diagnosis | Kept]:
        """At the best and at the last epoch; once where they are the same."""
        assert fitted.best is not None
        assert fitted.last is not None
        assert fitted.best_state is not None
        subject = Subject.of(deepcopy(fitted.model), fitted.prepare, self.data, self.split)
        stages: list[tuple[tuple[Weights, ...], Any]] = [
            (("best",), fitted.best_state),
            (("last",), fitted.model.state_dict()),
        ]
        if fitted.best.epoch == fitted.last.epoch:
            stages = [(("best", "last"), fitted.best_state)]
        for whose, state in stages:
            subject.model.load_state_dict(state)
            for one in look(replace(subject, weights=whose)):
                yield from [one] if one.weights else (replace(one, weights=weights) for weights in whose)

    def content(self, fitted: Fitted, looked: Looked = Looked()) -> dict[str, Any]:  # noqa: B008 (frozen)
        """What is written of the run, as :func:`~dissensus.records.write_run` takes it; weights are written here."""
        if self.how.keep_model:
            save_weights(self.staging / WEIGHTS, fitted, self.takes)
        assert fitted.best is not None
        assert fitted.last is not None
        said = {"best": fitted.best, "last": fitted.last}
        if fitted.select_best is not None and fitted.select_last is not None:
            said |= {"select_best": fitted.select_best, "select_last": fitted.select_last}
        return self._content(fitted.history, said, looked)

    def content_diverged(self, error: Diverged) -> dict[str, Any]:
        """What is written of a run that diverged: in which epoch, its history, and predictions that are no numbers."""
        items = {"best": self.split.evaluation, "last": self.split.evaluation}
        if len(self.split.select):
            items |= {"select_best": self.split.select, "select_last": self.split.select}
        nothing = {
            name: Predictions(np.full((len(index), self.data.votes.n_classes), np.nan, np.float32), error.epoch)
            for name, index in items.items()
        }
        content = self._content(error.history, nothing, Looked())
        return content | {"about": content["about"] | {"diverged": error.epoch}}

    def _content(self, history: Sequence[Row], said: Mapping[str, Predictions], looked: Looked) -> dict[str, Any]:
        seconds = self.clock() - self.started + looked.seconds
        beside = about(seconds, device_name(), self.source, self.data) | {
            "looking": round(looked.seconds, 3),  # of the seconds, those spent inside the model
            "engine": asdict(self.how.engine),
            "width": self.how.width,
            "resumed_at": self.resumed_at or None,
        }
        if (made_of := own_method(self.plan.method)) is not None:
            beside["method"] = made_of
        predictions = _predictions(self.data, self.split, self.select, said) | dict(looked.arrays)
        if self.before is not None:
            predictions = taken_over(self.before, self.staging, predictions)
        return {"plan": self.plan.to_dict(), "about": beside, "history": history, "predictions": predictions}


def begin(
    plan: Plan,
    data: Dataset,
    store: RunStore,
    how: How,
    source: Mapping[str, Any] | None = None,
    clock: Clock | None = None,
) -> Begun | None:
    """Claim a run and lay out what it takes; None if it is done, or if another live process is making it."""
    clock = clock or Clock()
    started = clock()
    refuse_other_meaning(plan, data)
    own_method(plan.method)  # its code is read now, and not when somebody has edited it
    takes, data = inputs_in_words(data.inputs), seen(plan.model, data, _encoder(source))
    with ExitStack() as claim:
        staging = claim.enter_context(store.claim(plan.name))
        if staging is None:
            return None
        split = parts(data, plan.split.test, plan.split.select, plan.seeds.split)
        train, select = given_votes(data.votes, split, plan.votes, plan.draw, plan.seeds.split)
        checkpoint = store.unfinished(plan.name) / CHECKPOINT
        done, before = epochs_saved(checkpoint), store.incomplete(plan.name)
        if before is not None:  # what it had, the one that takes its place has as well
            features, weights = how.features or before.has_features, how.keep_model or before.has_weights
            how = replace(how, features=features, keep_model=weights)
        mine = claim.pop_all()
    parts_of = (split, train, select)
    return Begun(plan, takes, data, *parts_of, how, source, mine, staging, checkpoint, done, clock, started, before)


def refuse_other_meaning(plan: Plan, data: Dataset) -> None:
    """The plan's names must mean what they meant when it was made, and its data must be these."""
    given = described(data)
    for part in ("votes", "inputs", "version"):
        if given[part] != getattr(plan.data, part):
            raise PlanError(
                f"the plan {plan.name} is about other data: its {part} are {getattr(plan.data, part)!s:.12}, "
                f"but those of {data.name} are {given[part]!s:.12}. Make the plan anew."
            )
    refuse_other_versions(plan, "delivery", "model", "recipe")


def job_of(plan: Plan, data: Dataset, split: Parts, train: Votes, select: Votes, encoder: str | None = None) -> Job:
    """The plan's training on these parts of the data, as its model sees them, with the votes that it may look at."""
    from dissensus.training import Job

    method = METHODS[plan.method]
    make = factory(plan.model, data, encoder)
    return Job(
        lambda: make().to(device()),
        data.array[split.train],
        DELIVERIES[method.delivery](aim_of(train, plan.target), seed=plan.seeds.delivery, hold=plan.hold),
        replace(plan.recipe.as_recipe(), **method.recipe),
        seed=Seeds(init=plan.seeds.init, order=plan.seeds.order),
        held_out=(data.array[split.evaluation], data.votes.take(split.evaluation).frequencies()),
        select_on=(data.array[split.select], select.frequencies()) if len(split.select) else None,
    )


def _encoder(source: Mapping[str, Any] | None) -> str | None:
    """Where the encoder lies, if it is not the default one."""
    return (source or {}).get("encoder")


def _predictions(
    data: Dataset, split: Parts, select: Votes, said: Mapping[str, Predictions]
) -> dict[str, NDArray[Any]]:
    """What everything after training is computed from."""
    evaluated = data.votes.take(split.evaluation)
    arrays: dict[str, Any] = {
        "ids": evaluated.items.astype(str),
        "counts": evaluated.counts().astype(np.int32),
        "labels": reference_labels(data)[split.evaluation],
        "best_epoch": said["best"].epoch,
        "last_epoch": said["last"].epoch,
    }
    if data.truth is not None:
        arrays["truth"] = data.truth[split.evaluation].astype(np.float32)
    if "select_best" in said:
        arrays |= {
            "select_ids": select.items.astype(str),
            "select_target": select.frequencies().astype(np.float32),
        }
    for name, one in said.items():
        arrays[f"{name}_logits"] = one.logits
        if one.features is not None:
            arrays[f"{name}_features"] = one.features.astype(np.float32, copy=False)
    return arrays
