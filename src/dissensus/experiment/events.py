"""What a sweep tells of its runs while they are made."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from dissensus.experiment.clock import Clock
from dissensus.experiment.plan import Plan

Kind = Literal["skipped", "started", "epoch", "done", "stopped", "diverged", "failed"]
ENDS = ("skipped", "done", "stopped", "diverged", "failed")


@dataclass(frozen=True)
class Event:
    """What has just happened to a run, for whoever shows progress."""

    kind: Kind
    run: str
    method: str
    seed: int
    votes: Literal["all"] | int
    of: int  # epochs of the plan
    epoch: int = 0  # epochs done
    soft_nll: float | None = None
    seconds: float = 0.0  # of training since it was started, in this call
    message: str = ""  # why it failed, or how it diverged
    resumed_at: int = 0  # epochs that were done before this call
    pace: float | None = None  # seconds an epoch
    looking: float | None = None  # seconds that were spent inside its model, once it is done
    rate: float | None = None  # training items a second
    items: str = "items"  # what they are called: images, texts
    sweep_left: float | None = None  # seconds that the whole sweep will take from now on
    hold: int = 1  # epochs that a label is kept
    reordered: bool = False  # whether its batches come in another order than those of its seed
    protocol: str = ""  # of a paper, where one is repeated

    @property
    def seconds_left(self) -> float | None:
        """How long the run will take from now on, at its pace."""
        return None if self.pace is None else self.pace * (self.of - self.epoch)


Progress = Callable[[Event], None]


class Teller:
    """Tells of one run, from its start to its end."""

    def __init__(
        self,
        plan: Plan,
        tell: Progress,
        size: int = 0,
        items: str = "items",
        resumed_at: int = 0,
        clock: Clock | None = None,
    ) -> None:
        self.tell, self.size, self.clock = tell, size, clock or Clock()  # so many items an epoch
        self.event = replace(event_of(plan, "started"), items=items, resumed_at=resumed_at, epoch=resumed_at)
        self.started = self.clock()
        self.first: tuple[int, float] | None = None  # the first epoch in a row, and when it was over

    def __call__(self, kind: Kind, message: str = "", looking: float | None = None) -> None:
        seconds = self.clock() - self.started
        self.event = replace(self.event, kind=kind, seconds=seconds, message=message, looking=looking)
        if kind == "done":
            self._at(seconds / max(1, self.event.of - self.event.resumed_at))
        self.tell(self.event)

    def epoch(self, row: Mapping[str, Any]) -> None:
        """A row of the history. The first one knows how long it took, since much goes before it; the others are timed
        from its end, so that what lies between epochs counts.
        """
        done, now = int(row["epoch"]) + 1, self.clock()
        if self.first is None or done <= self.event.epoch:  # a run that lacked GPU memory starts again
            self.first = done, now
            self._at(float(row["seconds"]))
        else:
            self._at((now - self.first[1]) / (done - self.first[0]))
        self.event = replace(self.event, epoch=done, soft_nll=float(row["soft_nll"]))
        self("epoch")

    def _at(self, pace: float) -> None:
        self.event = replace(self.event, pace=pace, rate=self.size / max(pace, 1e-9))


def event_of(plan: Plan, kind: Kind, message: str = "") -> Event:
    """Of a run about which nothing more is known."""
    told = plan.name, plan.method, plan.seeds.split, plan.votes, plan.recipe.epochs
    return Event(kind, *told, message=message, hold=plan.hold, reordered=plan.seeds.order != plan.seeds.split)
