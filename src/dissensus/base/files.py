"""Files that are there whole or not at all."""

from __future__ import annotations

import glob
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dissensus.base.errors import InputError, StoreError

PART = ".part-"  # how the names of files begin that are not whole yet
_DRAWN = 8  # letters that tempfile draws for a name


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside ``path`` to write to; it takes the name ``path`` at the end, or vanishes on an error.

    The temporary file ends in the same suffixes, since writers look at them.
    """
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=PART, suffix=path.name, dir=path.parent)
        os.close(handle)
        part = Path(name)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}.") from None
    try:
        yield part
        part.chmod(0o666 & ~_umask())  # at the end: safetensors puts a file of its own there, for its owner alone
        part.replace(path)
    except OSError as error:
        raise StoreError(f"cannot write {path}: {error.strerror or error}.") from error
    finally:
        part.unlink(missing_ok=True)


def parts_of(path: str | os.PathLike[str]) -> list[Path]:
    """What :func:`written_whole` was at work on for this path, and could not finish if its process was killed."""
    path = Path(path)
    return list(path.parent.glob(f"{PART}{'?' * _DRAWN}{glob.escape(path.name)}"))


@contextmanager
def one_at_a_time(path: str | os.PathLike[str]) -> Iterator[None]:
    """Of the processes that want to make ``path``, one goes on inside, and the others wait until it has.

    It saves work and guards nothing: where a system or folder has no locks, all go on at once.
    """
    lock = Path(f"{os.fspath(path)}.lock")
    try:
        import fcntl

        lock.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("w")
    except (ImportError, OSError):
        yield
        return
    with file:
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)  # who waits for it looks at ``path`` next, and finds it


def existing_file(path: str | os.PathLike[str], what: str = "file") -> Path:
    """``path`` if it is a readable, non-empty file, else an error that says what it is instead."""
    path = Path(path)
    if path.is_dir():
        raise InputError(f"{path} is a directory, but a {what} was expected.")
    if not path.exists():
        raise InputError(f"{path} does not exist; a {what} was expected there.")
    if not os.access(path, os.R_OK):
        raise InputError(f"{path} cannot be read: permission denied.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty, but a {what} was expected.")
    return path


def _umask() -> int:
    current = os.umask(0)
    os.umask(current)
    return current
