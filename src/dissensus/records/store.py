"""The run store: a folder with a folder a run, which several processes of one machine may fill at once.

A run is made in a staging folder inside the store and renamed into place, so it is there whole or not at all. While it
is made, its name is claimed by ``flock``, which the system frees when the process ends, however it ends. Lock files
stay where they are: deleting one that another process has just opened would give a name two holders.

==================== =================================================================================================
``<name>/``          a run that is done
``.staging/<name>/`` a run that is being written; what a dead process left there is swept up
``.unfinished/...``  what a run under way needs to go on after its process has died
``.claims/``         lock files
==================== =================================================================================================
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from dissensus.base.errors import InputError, StoreError
from dissensus.base.files import PART
from dissensus.records.canonical import NAME_DIGITS
from dissensus.records.run import StoredRun
from dissensus.records.wanted import Wanted

_NAME = re.compile(rf"[0-9a-f]{{{NAME_DIGITS}}}")
_TAKEN = (errno.ENOTEMPTY, errno.EEXIST)


class RunStore:
    """The runs in a folder, which is made when the first run is claimed.

    A run that lacks something that is ``wanted`` can be read and does not count as done: its name can be claimed, and
    what is made then takes its place.

    >>> store = RunStore("runs-that-nobody-made")
    >>> store.names()
    []
    >>> "0123456789abcdef" in store
    False
    """

    def __init__(self, path: str | os.PathLike[str], wanted: Wanted = Wanted()) -> None:  # noqa: B008 (frozen)
        self.path, self.wanted = Path(path), wanted

    def __repr__(self) -> str:
        return f"RunStore({str(self.path)!r})"

    def __len__(self) -> int:
        return len(self.names())

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __contains__(self, name: object) -> bool:
        """Whether the run is done, with all that is wanted."""
        return isinstance(name, str) and self._holds(name) and self.incomplete(name) is None

    def _holds(self, name: str) -> bool:
        return bool(_NAME.fullmatch(name)) and (self.path / name).is_dir()

    def incomplete(self, name: str) -> StoredRun | None:
        """The run of this name, if it lacks something that is wanted: it stays until another takes its place."""
        run = StoredRun(name, self.path / name)
        return run if self._holds(name) and self.wanted.lacking(run) else None

    def names(self) -> list[str]:
        """The names of all runs that can be read, sorted."""
        try:
            return sorted(entry.name for entry in os.scandir(self.path) if self._holds(entry.name))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise self._error("read", error) from None

    def read(self, name: str) -> StoredRun:
        """The run of this name."""
        if not self._holds(name):
            raise InputError(f"no run {name!r} in {self.path}, which holds {len(self)}.")
        return StoredRun(name, self.path / name)

    def resolve(self, prefix: str, among: Sequence[str] | None = None) -> str:
        """The one name that starts with ``prefix`` ``among`` these; by default, among the runs that are done."""
        names = self.names() if among is None else among
        found = [name for name in names if name.startswith(prefix)]
        if not prefix or not found:
            near = sorted(names, key=lambda name: -_alike(name, prefix))
            other = "" if names else " Runs that are kept in another folder are found by --store."
            raise InputError(f"no run starts with {prefix!r} in {self.path}; it holds {_listed(near)}.{other}")
        if len(found) > 1:
            raise InputError(f"{len(found)} runs start with {prefix!r}: {_listed(found)}. Give more digits.")
        return found[0]

    def remove(self, name: str) -> None:
        """Delete a run, done or unfinished. It vanishes from its place at once, so nobody reads half of it."""
        if name in self.unfinished_names():
            self._give_up(name)
            return
        path = self.read(name).path
        try:
            (self.path / ".staging").mkdir(exist_ok=True)
            with tempfile.TemporaryDirectory(prefix="removed-", dir=self.path / ".staging") as grave:
                path.rename(Path(grave, name))
        except OSError as error:
            raise self._error("remove a run from", error) from error
        self._forget_unfinished(name)

    def check_place(self, to_write: bool = False) -> None:
        """An error where the store is no folder or cannot become one; or where runs cannot be written to it."""
        there = next(filter(os.path.exists, (self.path, *self.path.parents)), Path())
        if not there.is_dir():
            raise StoreError(f"cannot write to the run store {self.path}: {there} is a file. Give a folder by --store.")
        if to_write and not os.access(there, os.W_OK | os.X_OK):
            raise StoreError(f"cannot write to the run store {self.path}: {there} may not be written to.")

    def unfinished(self, name: str) -> Path:
        """A folder, made here, for what the run ``name`` needs to go on later; for whoever holds its claim.

        Unlike the claim's own folder it outlives the claim, however that ends, so the next claim of the name finds what
        a killed process left. It is gone once the run is done.

        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = RunStore(folder)
        ...     with store.claim("0123456789abcdef"):
        ...         _ = (store.unfinished("0123456789abcdef") / "checkpoint").write_text("epoch 3")
        ...     print(store.names(), store.unfinished_names())
        ...     with store.claim("0123456789abcdef") as staging:
        ...         _ = (staging / "plan.json").write_text("{}")
        ...     print(store.names(), store.unfinished_names())
        [] ['0123456789abcdef']
        ['0123456789abcdef'] []
        """
        folder = self._unfinished(name)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._error("write to", error) from error
        return folder

    def unfinished_names(self) -> list[str]:
        """The names of all runs that were begun, are not done and can go on from where they were, sorted."""
        begun = _entries(self.path / ".unfinished")
        return [name for name in begun if _NAME.fullmatch(name) and name not in self and self._can_go_on(name)]

    def _can_go_on(self, name: str) -> bool:
        return any(not entry.startswith(PART) for entry in _entries(self._unfinished(name)))

    def busy(self, name: str) -> bool:
        """Whether a live process is making this run now."""
        if not (self._lock_path(name).exists() and self._staging(name).exists()):
            return False  # looking at the lock takes it for a moment, so we look only where there is something to see
        with self._locked(name) as mine:
            return not mine

    @contextmanager
    def claim(self, name: str) -> Iterator[Path | None]:
        """A folder to write the run ``name`` to, or None: it is done already, or a live process is making it.

        What lies in the folder at the end of the ``with`` block becomes the run, at once and whole. If the block raises
        or writes nothing, there is no run. What a process that died left behind, the next claim of that name sweeps up.

        >>> with tempfile.TemporaryDirectory() as folder:
        ...     store = RunStore(folder)
        ...     with store.claim("0123456789abcdef") as staging:
        ...         _ = (staging / "plan.json").write_text("{}")
        ...         with store.claim("0123456789abcdef") as second:
        ...             print(second, store.busy("0123456789abcdef"), "0123456789abcdef" in store)
        ...     print(store.names(), store.read("0123456789abcdef").plan)
        None True False
        ['0123456789abcdef'] {}
        """
        lock = self._lock_path(name)
        if name in self:
            yield None
            return
        try:
            lock.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise self._error("write to", error) from error
        with self._locked(name) as mine:
            if not mine or name in self:
                yield None
                return
            staging = self._fresh_staging(name)
            try:
                yield staging
                if any(staging.iterdir()):
                    self._publish(staging, name)
                    self._forget_unfinished(name)
            finally:
                shutil.rmtree(staging, ignore_errors=True)

    def _fresh_staging(self, name: str) -> Path:
        staging = self._staging(name)
        try:
            if staging.exists():  # we hold the claim, so whoever made this is dead
                shutil.rmtree(staging)
            staging.mkdir(parents=True)
            for part in self._unfinished(name).glob(f"{PART}*"):  # a checkpoint that it did not live to write
                part.unlink()
        except OSError as error:
            raise self._error("write to", error) from error
        return staging

    def _publish(self, staging: Path, name: str) -> None:
        try:
            if self.incomplete(name) is None:
                staging.rename(self.path / name)
            else:
                self._swap(staging, self.path / name)
        except OSError as error:
            if error.errno not in _TAKEN:  # taken: the run is done, this one is discarded
                raise self._error("write to", error) from error

    def _swap(self, staging: Path, place: Path) -> None:
        """A run that lacks something goes at the moment in which the whole one is there, and not before."""
        with tempfile.TemporaryDirectory(prefix="removed-", dir=self.path / ".staging") as grave:
            before = place.rename(Path(grave, place.name))
            try:
                staging.rename(place)
            except OSError:
                before.rename(place)
                raise

    @contextmanager
    def _locked(self, name: str) -> Iterator[bool]:
        """Hold the name's lock, if nobody else does."""
        try:
            import fcntl
        except ImportError:  # pragma: no cover
            raise StoreError("making runs needs flock, which this system does not have; stores can be read.") from None
        try:
            file = self._lock_path(name).open("a")
        except OSError as error:
            raise self._error("write to", error) from error
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                mine = True
            except BlockingIOError:
                mine = False
            except OSError as error:
                raise self._error("lock a name in", error, " A store must lie on a local disk.") from error
            yield mine

    def _give_up(self, name: str) -> None:
        """Delete what an unfinished run has left, unless a live process is going on with it."""
        with self.claim(name) as staging:
            if staging is None and name not in self:
                raise InputError(f"run {name} is being made by another process at this moment; stop that one first.")
            self._forget_unfinished(name)

    def _forget_unfinished(self, name: str) -> None:
        """The run is done: what may stay behind is not counted, so a disk that refuses is no error."""
        shutil.rmtree(self._unfinished(name), ignore_errors=True)

    def _staging(self, name: str) -> Path:
        return self.path / ".staging" / name

    def _unfinished(self, name: str) -> Path:
        return self.path / ".unfinished" / _checked(name)

    def _lock_path(self, name: str) -> Path:
        return self.path / ".claims" / f"{_checked(name)}.lock"

    def _error(self, deed: str, error: OSError, advice: str = "") -> StoreError:
        return StoreError(f"cannot {deed} the run store {self.path}: {error.strerror or error}.{advice}")


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise InputError(f"a run's name has {NAME_DIGITS} hex digits, but {name!r} was given.")
    return name


def _alike(name: str, prefix: str) -> int:
    """How many digits are the same before one is not."""
    return next((place for place, (a, b) in enumerate(zip(name, prefix, strict=False)) if a != b), len(prefix))


def _listed(names: Sequence[str], most: int = 8) -> str:
    if not names:
        return "none"
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _entries(folder: Path) -> list[str]:
    """What lies in a folder, sorted; nothing where there is none, or no longer: others work on the store meanwhile."""
    try:
        return sorted(path.name for path in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
