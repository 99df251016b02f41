"""Runs on their way to the disk, beside the training: what is imported here needs NumPy and no torch.

To compress a run of CIFAR-10H with its features takes 0.55 s, and to score it 0.1 s (0.6 s the first time). A GPU would
wait for it: in the same interpreter, the thread that feeds it gets its turn every 5 ms only.
"""

from __future__ import annotations

import multiprocessing
import signal
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from dissensus.evaluation import records_of
from dissensus.records import StoredRun, write_run

NO_WORKER = (
    "a worker process could not start (exit code {}); its message is above. "
    'In a script, call compare() under `if __name__ == "__main__":`, or with jobs=1.'
)


def write(folder: Path, name: str, content: dict[str, Any]) -> str:
    """All files of a run into its staging folder; returns why it could not be scored, or nothing.

    Records are derived: a metric that fails loses no run.
    """
    write_run(folder, **content)
    try:
        records_of(StoredRun(name, folder))
    except Exception:
        return traceback.format_exc()
    return ""


class Writer(Protocol):
    """Whoever writes runs: now, or soon."""

    def __call__(self, folder: Path, name: str, content: dict[str, Any]) -> Future[str]: ...


def at_once(folder: Path, name: str, content: dict[str, Any]) -> Future[str]:
    """Write here and now."""
    future: Future[str] = Future()
    try:
        future.set_result(write(folder, name, content))
    except Exception as error:
        future.set_exception(error)
    return future


class WriterProcess:
    """Writes one run after the other in a process of its own. Should that die, they are written in this one.

    A thread hands them over, since a pipe takes no more than the other end reads.
    """

    def __init__(self) -> None:
        self.process, self.pipe = spawned(_serve)
        self.thread = ThreadPoolExecutor(1)

    def __call__(self, folder: Path, name: str, content: dict[str, Any]) -> Future[str]:
        return self.thread.submit(self._write, folder, name, content)

    def _write(self, folder: Path, name: str, content: dict[str, Any]) -> str:
        try:
            self.pipe.send((folder, name, content))
            answer = self.pipe.recv()
        except (EOFError, OSError):
            return write(folder, name, content)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.thread.shutdown()
        self.pipe.close()
        self.process.join()


def spawned(target: Callable[..., None], *arguments: Any) -> tuple[SpawnProcess, Connection]:
    """A process that runs ``target(pipe, *arguments)``, and our end of the pipe; Ctrl-C is ours alone to handle."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=target, args=(theirs, *arguments), daemon=True)
    resource_tracker.ensure_running()  # its start would lift the mask below
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # inherited
    try:
        process.start()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    theirs.close()
    return process, ours


def _serve(pipe: Connection) -> None:
    """The life of a writer; it ends when nobody is left to write for."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what is being written is written whole
    with suppress(EOFError, OSError):
        while True:
            folder, name, content = pipe.recv()
            try:
                answer: str | Exception = write(folder, name, content)
            except Exception as error:
                error.__cause__ = None
                answer = error
            pipe.send(answer)
