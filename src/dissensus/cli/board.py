"""Progress of a sweep: a live table in a terminal, lines elsewhere.

What is shown is one value, :class:`SweepStanding`, that grows by a sweep's events; table and lines only read it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from dissensus.base.words import duration, run_in_words
from dissensus.experiment import Event

HEARTBEAT = 30.0  # seconds between lines that say how it goes, where there is no terminal


class SweepStanding:
    """How a sweep stands, by what it has told so far."""

    def __init__(self, total: int, before: int = 0) -> None:
        self.total = total
        self.ended = before  # of the total, those that the sweep is not even given, as results tell of them
        self.under_way: dict[str, Event] = {}
        self.left: tuple[float, float] | None = None  # seconds that remain, and when that was so

    def hear(self, event: Event) -> None:
        if event.kind in ("started", "epoch"):
            self.under_way[event.run] = event
        else:
            self.under_way.pop(event.run, None)
            self.ended += event.kind != "stopped"
        if event.sweep_left is not None:
            self.left = event.sweep_left, time.monotonic()

    @property
    def items(self) -> str:
        """What the runs under way are trained on, in a word that is true of all of them."""
        words = {event.items for event in list(self.under_way.values())}
        return words.pop() if len(words) == 1 else "items"

    def summary(self) -> str:
        """One line for all runs."""
        words = [f"{self.ended}/{self.total} runs done", f"{len(self.under_way)} under way"]
        if rate := sum(event.rate or 0.0 for event in self.under_way.values()):
            words.append(f"{rate:,.0f} {self.items}/s")
        if self.left is not None:
            remaining, when = self.left
            words.append(f"about {duration(max(0.0, remaining - (time.monotonic() - when)))} left")
        return ", ".join(words)


def name_of(event: Event) -> str:
    """A run as a person knows it."""
    known = event.method, event.votes, event.hold, event.seed
    return run_in_words(*known, reordered=event.reordered, protocol=event.protocol)


def line_of(event: Event, standing: SweepStanding) -> str | None:
    """What a log says of an event; of epochs, nothing."""
    name = name_of(event)
    if event.kind == "started":
        return f"{name}: goes on from epoch {event.resumed_at}" if event.resumed_at else None
    if event.kind == "stopped":
        return f"{name}: stopped after {event.epoch} of {event.of} epochs, which are kept"
    if event.kind == "done":
        resumed = f", resumed at epoch {event.resumed_at}" if event.resumed_at else ""
        how = f"in {event.seconds:.1f} s, {event.rate or 0:,.0f} {event.items}/s{resumed}"
        return f"{standing.ended}/{standing.total} {name}: {how}"
    word = "done before" if event.kind == "skipped" else event.kind
    return None if event.kind == "epoch" else f"{standing.ended}/{standing.total} {name}: {word}"


class Board:
    """The standing as a table that fits its terminal."""

    def __init__(self, standing: SweepStanding) -> None:
        self.standing = standing

    def __rich__(self) -> RenderableType:
        standing = self.standing
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        table.add_column("run")
        for head in ("epoch", "soft NLL", f"{standing.items}/s", "time left"):
            table.add_column(head, justify="right", no_wrap=True)  # so that a narrow terminal cuts names only
        for event in list(standing.under_way.values()):
            resumed = f" (resumed at epoch {event.resumed_at})" if event.resumed_at else ""
            table.add_row(
                Text(name_of(event) + resumed, no_wrap=True, overflow="ellipsis"),
                f"{event.epoch}/{event.of}",
                "" if event.soft_nll is None else f"{event.soft_nll:.3f}",
                "" if event.rate is None else f"{event.rate:,.0f}",
                "" if event.seconds_left is None else duration(event.seconds_left),
            )
        whole = Table.grid(padding=(0, 2, 0, 0), expand=True)
        whole.add_column(ratio=1)
        whole.add_column(no_wrap=True)
        whole.add_row(ProgressBar(max(1, standing.total), standing.ended + self._begun()), standing.summary())
        return Group(*([table] if table.rows else []), whole)

    def _begun(self) -> float:
        return sum(event.epoch / event.of for event in list(self.standing.under_way.values()))


@contextmanager
def progress(console: Console, total: int, before: int = 0) -> Iterator[Callable[[Event], None]]:
    """Something to tell a sweep's events to; ``before`` of the runs need nothing."""
    standing = SweepStanding(total, before)
    if console.is_terminal:
        with Live(Board(standing), console=console, transient=True, refresh_per_second=4):
            yield standing.hear
    else:
        with _lines(console, standing) as tell:
            yield tell


@contextmanager
def _lines(console: Console, standing: SweepStanding) -> Iterator[Callable[[Event], None]]:
    over = threading.Event()

    def say(line: str) -> None:
        console.print(line, markup=False, soft_wrap=True)

    def tell(event: Event) -> None:
        standing.hear(event)
        if line := line_of(event, standing):
            say(line)

    def beat() -> None:
        while not over.wait(HEARTBEAT):
            say(standing.summary())

    heart = threading.Thread(target=beat, daemon=True)
    heart.start()
    try:
        yield tell
    finally:
        over.set()
        heart.join()
