from __future__ import annotations

import signal

from dissensus.experiment.run import How
from dissensus.experiment.workers import Worker
from dissensus.records import RunStore


def test_nobody_waits_for_a_worker_that_is_still_being_started(source, tmp_path):
    worker = Worker(source, RunStore(tmp_path), How())  # it imports torch now, and a budget may be over meanwhile
    worker.stop()
    worker.end()
    assert worker.process.exitcode == -signal.SIGKILL
    assert not list(tmp_path.iterdir())
