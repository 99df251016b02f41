"""Progress as a person sees it: a table in a terminal, lines in a log."""

from __future__ import annotations

import io
import time

import pytest
from rich.console import Console

from dissensus.cli import board
from dissensus.experiment import Event


def event(kind, run="a", method="soft", seed=0, **more):
    return Event(kind, run * 16, method, seed, more.pop("votes", 5), of=200, **{"items": "images"} | more)


SWEEP = (
    event("skipped", "9", seed=9),
    event("started", "a", epoch=57, resumed_at=57),
    event("started", "b", "multipass"),
    event("epoch", "a", epoch=60, resumed_at=57, soft_nll=0.4321, pace=0.5, rate=14_000.4, sweep_left=100.0),
    event("epoch", "b", "multipass", epoch=3, soft_nll=0.9, pace=0.5, rate=15_000.0, sweep_left=99.0),
)


def drawn(width, *events):
    standing = board.SweepStanding(total=16)
    for one in events:
        standing.hear(one)
    console = Console(width=width, file=io.StringIO(), force_terminal=False)
    console.print(board.Board(standing))
    return console.file.getvalue()


def test_runs_that_differ_are_told_apart():
    assert board.name_of(event("done", votes="all")) == "soft, seed 0"
    assert board.name_of(event("done", hold=10)) == "soft, 5 votes, held for 10 epochs, seed 0"
    assert board.name_of(event("done", votes=1)) == "soft, 1 vote, seed 0"
    assert board.name_of(event("done", votes="all", reordered=True)) == "soft, seed 0, reordered"
    assert board.name_of(event("done", votes="all", protocol="audited")) == "soft, seed 0 (audited)"


@pytest.mark.parametrize("width", [80, 120])
def test_the_table_fits_its_terminal(width):
    lines = drawn(width, *SWEEP).splitlines()
    assert all(len(line) <= width for line in lines)
    head, first, second, whole = lines
    assert head.split() == ["run", "epoch", "soft", "NLL", "images/s", "time", "left"]
    assert first.startswith("soft, 5 votes, seed 0 (resumed at epoch 57" if width > 80 else "soft, 5 votes, seed 0 (")
    assert first.split()[-7:] == ["60/200", "0.432", "14,000", "1", "min", "10", "s"]
    assert second.startswith("multipass, 5 votes, seed 0")
    assert whole.rstrip().endswith("1/16 runs done, 2 under way, 29,000 images/s, about 1 min 39 s left")


def test_runs_that_need_nothing_are_counted_as_done():
    standing = board.SweepStanding(total=16, before=10)
    assert standing.summary() == "10/16 runs done, 0 under way"
    done = event("done", "a", seconds=2.0, rate=5.0)
    standing.hear(done)
    assert str(board.line_of(done, standing)).startswith("11/16 soft, 5 votes, seed 0: in 2.0 s")


def test_a_rate_says_what_it_counts():
    """A paper may be repeated on images first and on texts then, and for a moment on both."""
    texts = event("epoch", "c", epoch=3, rate=1000.0, items="texts")
    assert "1,000 texts/s" in drawn(80, texts)
    assert "16,000 items/s" in drawn(80, SWEEP[-1], texts)
    done = event("done", "c", seconds=1.0, rate=1000.0, items="texts")
    assert lines(done) == ["1/16 soft, 5 votes, seed 0: in 1.0 s, 1,000 texts/s"]


def test_before_the_first_run_there_is_only_the_whole():
    assert drawn(80).rstrip().endswith("0/16 runs done, 0 under way")
    assert "epoch" not in drawn(80)


def test_runs_leave_the_table_when_they_end():
    over = [event(kind, run, seconds=70.0, epoch=200) for kind, run in (("done", "a"), ("stopped", "b"))]
    shown = drawn(80, *SWEEP, *over)
    assert "2/16 runs done, 0 under way" in shown  # what is stopped is not done
    assert "multipass" not in shown


def lines(*events):
    console = Console(file=io.StringIO(), force_terminal=False, width=80)
    with board.progress(console, 16) as tell:
        for one in events:
            tell(one)
    return console.file.getvalue().splitlines()


def test_a_log_has_a_line_a_run():
    done = event("done", "a", seconds=71.26, rate=13_579.2, resumed_at=57, epoch=200)
    stopped = event("stopped", "b", "multipass", votes="all", epoch=120)
    failed = event("failed", "c", message="it diverged")
    assert lines(*SWEEP, done, stopped, failed) == [
        "1/16 soft, 5 votes, seed 9: done before",
        "soft, 5 votes, seed 0: goes on from epoch 57",
        "2/16 soft, 5 votes, seed 0: in 71.3 s, 13,579 images/s, resumed at epoch 57",
        "multipass, seed 0: stopped after 120 of 200 epochs, which are kept",
        "3/16 soft, 5 votes, seed 0: failed",
    ]


def test_a_log_of_long_runs_is_alive(monkeypatch):
    monkeypatch.setattr(board, "HEARTBEAT", 0.02)
    console = Console(file=io.StringIO(), force_terminal=False, width=80)
    with board.progress(console, 16) as tell:
        for one in SWEEP:
            tell(one)
        time.sleep(0.2)
    beats = [line for line in console.file.getvalue().splitlines() if "under way" in line]
    assert "1/16 runs done, 2 under way, 29,000 images/s, about 1 min 39 s left" in beats


def test_a_terminal_is_left_as_it_was():
    console = Console(file=io.StringIO(), force_terminal=True, width=80)
    with board.progress(console, 16) as tell:
        for one in SWEEP:
            tell(one)
    shown = console.file.getvalue()
    assert "multipass" in shown
    assert shown.endswith("\x1b[2K")  # the table is gone
