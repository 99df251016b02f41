"""Making what is left of studies: each seed is kept when it is done."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from dissensus.base.errors import InputError
from dissensus.base.words import listed, many
from dissensus.experiment.papers import Cell
from dissensus.experiment.studies.score import Score
from dissensus.experiment.studies.study import SEEDS, Given, Study
from dissensus.experiment.studies.together import Whole, together
from dissensus.experiment.studies.trial import Making
from dissensus.records import StoredRun

Say = Callable[[str], object]


@dataclass(frozen=True)
class Made:
    """How many seeds of studies were left before, and how many still are."""

    before: int
    left: int


def carry_out(
    studies: Collection[Study],
    folder: str | os.PathLike[str],
    command: str,
    seeds: Collection[int] = SEEDS,
    *,
    runs: Callable[[], Mapping[Cell, StoredRun]] = dict,
    encoder: str | None = None,
    width: int = 4,
    say: Say = lambda line: None,
    end: float | None = None,
    skip: bool = False,
) -> Made:
    """Make the seeds that are not in ``folder`` yet; killed, it can be called again.

    On a GPU ``width`` trainings go side by side, also those of several seeds, and of studies with the same model. None
    is begun that would not be done by ``end`` (:func:`~dissensus.experiment.studies.together.together`). ``runs`` are
    those of the paper that are there, for studies that train nothing. A folder holds scores by one ``encoder``. What
    this machine cannot train is an error, or with ``skip`` left as it is, with a word on it.
    """
    for study in studies:
        _refuse_other_encoders(study, folder, called(encoder))
    here = _Here(folder, command, runs, encoder, say, {study.name: study.left(folder, seeds) for study in studies})
    if skip:
        here.leave_out([study for study in studies if here.seeds[study.name] and _lacks_gpu(study)])
    before = here.left()
    for _, several in groupby(studies, key=lambda study: study.model):
        waiting = [study for study in several if here.seeds[study.name]]
        if not waiting or (end is not None and time.monotonic() >= end):
            continue
        if _lacks_gpu(waiting[0]):
            raise InputError(
                f"{waiting[0].name} trains whole encoders, which needs a CUDA GPU, and this machine has none. "
                f"With a frozen encoder it needs none: --only {waiting[0].name.removesuffix('-fine-tuned')}"
            )
        together(_seeds(waiting, here, width), width, say=say, end=end)
    return Made(before, here.left())


@dataclass(frozen=True)
class _Here:
    """Where scores go, what they are made from, and which seeds are left."""

    folder: str | os.PathLike[str]
    command: str
    runs: Callable[[], Mapping[Cell, StoredRun]]
    encoder: str | None
    say: Say
    seeds: dict[str, list[int]]  # by study

    def left(self) -> int:
        return sum(map(len, self.seeds.values()))

    def leave_out(self, studies: Sequence[Study]) -> None:
        for study in studies:
            self.seeds[study.name] = []
        if studies:
            names = listed([study.name for study in studies])
            self.say(f"Not made here, since whole encoders are trained on a CUDA GPU alone: {names}.")


def _seeds(studies: Sequence[Study], here: _Here, width: int) -> Iterator[_Seed]:
    """The data of a study are read when its first seed is looked at."""
    for study in studies:
        one_seed = study.make(Given(study.model, here.runs, here.encoder))
        for seed in tuple(here.seeds[study.name]):
            yield _Seed(study, seed, one_seed(seed), here, width)


class _Seed(Whole):
    """A seed of a study."""

    def __init__(self, study: Study, seed: int, makings: Sequence[Making], here: _Here, width: int) -> None:
        super().__init__(makings)
        self.study, self.seed, self.here, self.width = study, seed, here, width

    def begun(self) -> None:
        if self.trainings:
            beside = f", up to {self.width} side by side" if self.width > 1 and _on_gpu() else ""
            self.here.say(
                f"{self.study.name}: seed {self.seed} begins, {many(len(self.trainings), 'training')}{beside}"
            )

    def over(self, rows: list[Score]) -> None:
        left = self.here.seeds[self.study.name]
        if rows:
            self.study.keep(rows, self.here.folder, self.here.command, called(self.here.encoder))
        left.remove(self.seed)
        told = "is done" if rows else "has no runs here to be read from"
        if rows or self.seed not in self.study.seeds_in(self.here.folder):  # else results tell of it, and go on to
            self.here.say(f"{self.study.name}: seed {self.seed} {told}, {len(left)} left")

    def failed(self, error: Exception) -> None:
        self.here.say(
            f"{self.study.name}: seed {self.seed} failed; no other is begun, and those under way are finished"
        )


def called(encoder: str | None) -> str | None:
    """The name of an encoder, wherever it lies.

    >>> called("owner/bert"), called("models/bert/"), called(None)
    ('bert', 'bert', None)
    """
    return None if encoder is None else Path(encoder).name


def _refuse_other_encoders(study: Study, folder: str | os.PathLike[str], encoder: str | None) -> None:
    """Scores that are judged together are those of one encoder."""
    if study.trains and (others := study.encoders(folder) - {encoder}):
        names = listed(sorted(name or "the default encoder" for name in others))
        raise InputError(
            f"{folder} holds seeds of {study.name} that were made with {names}, and not with "
            f"{encoder or 'the default encoder'}. Scores of two would be judged as one: give another --out."
        )


def _lacks_gpu(study: Study) -> bool:
    return study.model == "fine-tuned" and not _on_gpu()


def _on_gpu() -> bool:
    from dissensus.experiment import machine

    return machine.device() == "cuda"
