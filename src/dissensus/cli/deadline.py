"""A budget that a command was given: when it is over, and what is said then."""

from __future__ import annotations

import time
from dataclasses import dataclass
from math import ceil

from dissensus.base.words import duration
from dissensus.cli.telling import err

ENDING = 2.0  # seconds at most that the process itself takes to begin and to end
PAGE = 10.0  # seconds to judge and to draw: 4 measured with 4 runs and with 16, on a busy machine 6


@dataclass(frozen=True)
class Deadline:
    """When a budget began and when it is over, by the monotonic clock."""

    began: float
    end: float

    def left(self) -> float:
        return max(self.end - time.monotonic(), 1e-6)

    def at_least(self) -> float:
        """Of a budget that was over too early: how long another should be.

        Twice what has passed by now, since worker processes start up as this one did, and an epoch is to fit in, too.
        """
        return ceil(2 * (time.monotonic() - self.began))


def deadline_of(budget: str | None) -> Deadline | None:
    """Of a budget that begins now."""
    now = time.monotonic()  # before the import, which takes half a second
    from dissensus.experiment.budget import seconds_of

    if budget is None:
        return None
    seconds = seconds_of(budget)
    return Deadline(now, now + seconds - min(ENDING, seconds / 4))


def tell_left(left: int, of: int, seconds: float | None) -> None:
    more = "" if seconds is None else f", about {duration(seconds)} more"
    err.print(
        f"The budget is used up: {of - left} of {of} runs done, {left} left{more}. The same command goes on from here.",
        soft_wrap=True,
    )


def tell_no_page(runs: int) -> None:
    err.print(
        f"All {runs} runs are done, but the budget leaves no time for the page. The same command writes it.",
    )


def tell_too_short(left: int, in_words: str, end: Deadline) -> None:
    err.print(
        f"Nothing was done, and {in_words} {'is' if left == 1 else 'are'} left: the budget was over before training "
        f"could begin. Give it at least {duration(end.at_least())}.",
        soft_wrap=True,
    )
