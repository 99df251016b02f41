"""Making what is left of studies: seed by seed, each kept when it is done."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from dissensus.base.errors import InputError
from dissensus.experiment.studies.study import SEEDS, Given, Study
from dissensus.records import StoredRun

Say = Callable[[str], object]


@dataclass(frozen=True)
class Made:
    """How many seeds of studies were left before, and how many still are."""

    before: int
    left: int


def carry_out_all(
    studies: Collection[Study],
    runs: Callable[[], Iterable[StoredRun]],
    folder: str | os.PathLike[str],
    command: str,
    seeds: Collection[int] = SEEDS,
    *,
    say: Say = lambda line: None,
    end: float | None = None,
) -> Made:
    """One study after the other, each with its own model; ``runs`` are those of the paper that are there."""
    before = sum(len(study.left(folder, seeds)) for study in studies)
    left = (carry_out(study, Given(study.model, runs), folder, command, seeds, say=say, end=end) for study in studies)
    return Made(before, sum(map(len, left)))


def carry_out(
    study: Study,
    given: Given,
    folder: str | os.PathLike[str],
    command: str,
    seeds: Iterable[int] = SEEDS,
    *,
    say: Say = lambda line: None,
    end: float | None = None,
) -> list[int]:
    """Make the seeds that are not in ``folder`` yet; killed, it can be called again.

    None is begun that would not be done by ``end``, by the monotonic clock, if it took as long as the longest so far.
    Returns the seeds that are left.
    """
    left = study.left(folder, seeds)
    if not left or (end is not None and time.monotonic() >= end):
        return left
    if study.model == "fine-tuned":
        _need_gpu(study)
    one_seed, longest = study.make(given), 0.0
    while left and (end is None or time.monotonic() + longest < end):
        began = time.monotonic()
        rows = one_seed(left[0])
        if rows:
            study.keep(rows, folder, command)
        longest = max(longest, time.monotonic() - began)
        say(f"{study.name}: seed {left.pop(0)} is done, {len(left)} left")
    return left


def _need_gpu(study: Study) -> None:
    from dissensus.experiment.machine import device

    if device() == "cpu":
        raise InputError(
            f"{study.name} trains whole encoders, which needs a CUDA GPU, and this machine has none. "
            f"With a frozen encoder it needs none: --only {study.name.removesuffix('-fine-tuned')}"
        )
