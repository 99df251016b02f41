"""How much time there is, and how much runs will take of it."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from dissensus.base.errors import InputError, StoreError, require
from dissensus.experiment.events import Event
from dissensus.experiment.plan import Plan
from dissensus.records import RunStore, StoredRun

MARGIN = 10.0  # seconds at most to write the checkpoints of the runs under way: 134 MB for each resnet18
KIND = ("data", "split", "model", "recipe")  # the parts of a plan that decide how long an epoch takes
UNITS = re.compile(r"(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s)?")


def seconds_of(text: str) -> float:
    """A span of time as a person writes it.

    A number alone is refused, as it is in 1h30: one means minutes, another seconds.

    >>> seconds_of("9m"), seconds_of("1h30m"), seconds_of("90s")
    (540.0, 5400.0, 90.0)
    """
    found = UNITS.fullmatch(text.strip().lower())
    try:
        hours, minutes, seconds = (float(part or 0) for part in found.groups()) if found else (0, 0, 0)
    except ValueError:  # such as 1.2.3
        hours = minutes = seconds = 0
    total = 3600 * hours + 60 * minutes + seconds
    if total <= 0:
        raise InputError(f"a budget is a span of time with its units, such as 9m, 90s or 1h30m, but is {text!r}.")
    return float(total)


class Budget:
    """The time that there is from now on; without a number, as much as it takes.

    >>> budget = Budget(60.0)
    >>> budget.began -= 30  # seconds ago
    >>> budget.over(), budget.has(20), budget.has(40), budget.has(600)
    (False, True, False, True)
    """

    def __init__(self, seconds: float | None) -> None:
        if seconds is not None and not seconds > 0:
            raise InputError(f"a budget must be a number of seconds above 0, but is {seconds!r}.")
        self.usable = None if seconds is None else seconds - min(MARGIN, seconds / 10)
        self.began = time.monotonic()

    def left(self) -> float:
        return float("inf") if self.usable is None else self.began + self.usable - time.monotonic()

    def over(self, an_epoch: float = 0.0) -> bool:
        """Whether to stop now, when runs can next be stopped after so many seconds."""
        return self.left() < min(an_epoch, (self.usable or 0.0) / 2)

    def has(self, seconds: float | None) -> bool:
        """Whether to start what takes so long: where it fits, or where it never would, so that calls one after the
        other get through with it.
        """
        return not self.over() and (
            seconds is None or self.usable is None or seconds <= self.left() or seconds > self.usable
        )


class Paces:
    """Seconds an epoch of each kind of run: as this sweep finds them, and before that as its store knows them.

    Runs that share a GPU slow each other down, so a pace is one of so many runs together. For a number that has not
    been seen, the nearest larger one is taken, or the largest in proportion.

    >>> paces = Paces()
    >>> paces.known["resnet18"] = {1: 0.1, 4: 0.3}
    >>> [round(paces.seconds("resnet18", 10, together), 1) for together in (1, 2, 4, 8)]
    [1.0, 3.0, 3.0, 6.0]
    """

    def __init__(self) -> None:
        self.known: dict[str, dict[int, float]] = {}
        self.finished: set[tuple[str, int]] = set()
        self.looks: dict[tuple[str, Hashable], float] = {}  # seconds inside a model, by what is looked for

    def recall(
        self,
        store: RunStore,
        kinds: Iterable[str],
        device: str,
        width: int,
        look: Callable[[str], Hashable] = lambda run: None,
    ) -> None:
        """Look at runs of these kinds that were made in the same way on the same device.

        ``look`` says what is looked for in a run of this name, which takes a time of its own.
        """
        sought = set(kinds)
        for name in store:
            try:
                run = store.read(name)
                kind, made = kind_of(run.plan), (run.about.get("device"), run.about.get("width"))
            except StoreError:
                continue  # damaged, which whoever needs it will say
            if run.diverged is None and kind in sought and made == (device, width):
                spent = took(run)
                self.known.setdefault(kind, {width: spent.training / max(1, spent.epochs)})
                if spent.looking:
                    self.looks.setdefault((kind, look(name)), spent.looking)

    def learn(self, kind: str, event: Event, together: int = 1, look: Hashable = None) -> None:
        """The pace of a run among so many. One that is done knows better than one under way."""
        if event.looking is not None:
            self.looks[kind, look] = event.looking
        if event.pace is not None and (event.kind == "done" or (kind, together) not in self.finished):
            self.known.setdefault(kind, {})[together] = event.pace
        if event.kind == "done":
            self.finished.add((kind, together))

    def looking(self, kind: str, look: Hashable) -> float | None:
        """How long it takes to look for this inside a model."""
        return 0.0 if look is None else self.looks.get((kind, look))

    def seconds(self, kind: str, epochs: int, together: int = 1) -> float | None:
        paces = self.known.get(kind)
        if not paces:
            return None
        seen = min((number for number in paces if number >= together), default=max(paces))
        return paces[seen] * max(1.0, together / seen) * epochs


def kind_of(plan: Plan | Mapping[str, Any]) -> str:
    """What a plan has in common with those that take as long."""
    content = plan.to_dict() if isinstance(plan, Plan) else plan
    return json.dumps([content[part] for part in KIND], sort_keys=True)


@dataclass(frozen=True)
class Took:
    """How long a run took in the call that ended it, in seconds."""

    training: float
    looking: float  # inside its model
    epochs: int  # that were made in that call
    width: int  # runs that shared the device

    @property
    def share(self) -> float:
        """What the device spent on its training, in seconds: it was shared with other runs."""
        return self.training / self.width


def took(run: StoredRun) -> Took:
    """As it is recorded beside the run."""
    about = run.about
    looking, before = about.get("looking") or 0.0, about.get("resumed_at") or 0
    epochs = run.plan["recipe"]["epochs"] - before
    return Took(about["seconds"] - looking, looking, epochs, about.get("width", 1))


def epochs_saved(checkpoint: Path) -> int:
    """How many epochs an unfinished run has done; 0 where there is no checkpoint that can be read."""
    return len(_history_saved(checkpoint))


def pace_saved(checkpoint: Path) -> float | None:
    """Seconds an epoch of an unfinished run, where that is known."""
    seconds = [row["seconds"] for row in _history_saved(checkpoint) if "seconds" in row]
    return float(median(seconds)) if seconds else None


def _history_saved(checkpoint: Path) -> list[dict[str, float]]:
    require("safetensors", extra="train")
    from safetensors import SafetensorError, safe_open

    if not checkpoint.exists():
        return []
    try:
        with safe_open(checkpoint, "np") as file:
            return list(json.loads(file.metadata()["history"]))
    except (SafetensorError, OSError, KeyError, ValueError, TypeError):
        return []  # training says what is wrong with it
