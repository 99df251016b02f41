from __future__ import annotations

import os
import signal
import threading

import pytest

from dissensus.experiment.signals import Terminated, ended_by_sigterm, until_signal


def test_a_signal_that_was_ignored_stays_so():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with until_signal() as came:
            os.kill(os.getpid(), signal.SIGINT)
            assert not came()
    finally:
        signal.signal(signal.SIGINT, before)


def test_sigterm_ends_what_has_nothing_to_finish():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Terminated), ended_by_sigterm():
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before


def test_sigterm_that_was_ignored_stays_so():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        with ended_by_sigterm():
            signal.raise_signal(signal.SIGTERM)  # would be an error
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_signal_in_the_midst_of_a_line_is_told_after_it():
    """A stream is not to be written to by a handler that interrupted its writing."""
    midst, lines = threading.Lock(), []

    def say(line):
        with midst:  # as a stream has it: whoever waits for himself waits forever
            lines.append(line)

    with until_signal(say) as came:
        with midst:
            signal.raise_signal(signal.SIGTERM)
            lines.append("first")
        assert came()
    assert lines[0] == "first"
    assert "stopping at the end of the epoch" in lines[1]
