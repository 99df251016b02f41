"""Runs of other machines come into a store: from archives, and from other stores.

Nothing comes in that was not read and found whole, nothing that is here is changed, and each run comes in at once: a
merge that is broken off is taken up by merging again. Diagnostics alone are added to a run that is here: they may be
all that is left of the weights of another machine. Only who asks for it has a run that was made again take the place
of the one that is here.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from dissensus.base.errors import DissensusError, InputError, StoreError
from dissensus.records.archive import is_features, unpack
from dissensus.records.run import StoredRun, sync
from dissensus.records.store import RunStore
from dissensus.records.wanted import Wanted

NameOf = Callable[[Mapping[str, Any]], str]
What = Literal["new", "here", "busy", "other", "replaced", "fuller"]


@dataclass
class Merged:
    """What became of the runs that were found: names, each in one of the first three, or replaced."""

    new: list[str] = field(default_factory=list)
    here: list[str] = field(default_factory=list)  # were here already
    busy: list[str] = field(default_factory=list)  # are being made here at this moment, and were left alone
    other: list[str] = field(default_factory=list)  # those that are here with other numbers; what is here is kept
    replaced: list[str] = field(default_factory=list)  # were here with other numbers, and gave way
    fuller: list[str] = field(default_factory=list)  # would have given way, but kept what those that came in lack
    problems: list[str] = field(default_factory=list)  # a sentence for each archive or run that did not come in


def merge(
    store: RunStore,
    sources: Iterable[str | os.PathLike[str]],
    name_of: NameOf | None = None,
    *,
    replace: bool = False,
) -> Merged:
    """Bring in the runs of archives, of folders of archives and of other stores. Doing it twice does nothing.

    An archive comes in whole or not at all, a store run by run; what does not is told in ``problems`` and keeps nothing
    else out. Two runs of one name are one run, and what is here is kept; to ``replace`` it by what comes in, where the
    numbers differ, is for runs that had to be made again, and none that kept weights, features or diagnostics gives way
    to one that lacks them. ``name_of`` gives the name that a plan should have: with it, a run whose plan is another's
    does not come in.
    """
    merged, said = Merged(), {}
    for source in _parts(sources, merged.problems):
        with tempfile.TemporaryDirectory(prefix="dissensus-") as room:
            for run in _whole_runs(source, room, name_of, merged.problems):
                _count(merged, run.name, _bring_in(store, run, merged.problems, replace))
                said[run.name] = {one.subject for one in run.diagnostics()}
    if merged.replaced:
        forget_lines(store, merged.replaced, said)
    return merged


def _parts(sources: Iterable[str | os.PathLike[str]], problems: list[str]) -> Iterator[Path]:
    """Each archive, and each folder that is a store."""
    for source in map(Path, sources):
        archives = sorted(source.glob("runs-*.zip"))
        yield from archives
        if not source.is_dir() or RunStore(source).names():
            yield source
        elif not archives:
            problems.append(
                f"{source} holds neither runs nor archives of runs. Give an archive that `dissensus runs pack` made, "
                "the folder of such archives, or the folder of a run store."
            )


def _whole_runs(source: Path, room: str, name_of: NameOf | None, problems: list[str]) -> list[StoredRun]:
    """The runs of an archive, if nothing in it is amiss; those runs of a store with which nothing is."""
    if source.is_dir():
        other = RunStore(source)
        amiss = {name: _damage(other.read(name)) or _misnamed(other.read(name), source, name_of) for name in other}
        problems.extend(filter(None, amiss.values()))
        return [other.read(name) for name, problem in amiss.items() if not problem]
    try:
        runs = unpack(source, room)
    except DissensusError as error:
        problems.append(str(error))
        return []
    misnamed = [problem for run in runs if (problem := _misnamed(run, source, name_of))]
    problems.extend(misnamed)
    return [] if misnamed else runs


def _damage(run: StoredRun) -> str:
    try:
        run.check()
    except StoreError as error:
        return str(error)
    return ""


def _misnamed(run: StoredRun, source: Path, name_of: NameOf | None) -> str:
    """What to say of a run whose plan is not the one that its name stands for."""
    if name_of is None:
        return ""
    try:
        name = name_of(run.plan)
    except InputError as error:
        why = str(error).rstrip(".")
    else:
        if name == run.name:
            return ""
        why = f"its plan is that of run {name}"
    return (
        f"run {run.name} of {source} is not taken: {why}. Either its plan.json was changed, or it was made by another "
        "release: merge with that one."
    )


def _bring_in(store: RunStore, run: StoredRun, problems: list[str], replace: bool) -> What:
    if _copied(store, run):
        return "new"
    if run.name not in store:
        return "busy"
    try:
        here = store.read(run.name)
        if _same_numbers(here, StoredRun(run.name, run.path)):
            _add_diagnostics(here, run)
            return "here"
    except StoreError as error:
        problems.append(str(error))
        return "here"
    if not replace:
        return "other"
    if Wanted.as_kept_by(here).lacking(run):
        return "fuller"
    store.remove(run.name)
    return "replaced" if _copied(store, run) else "busy"


def _copied(store: RunStore, run: StoredRun) -> bool:
    """Whether there was a place for it."""
    with store.claim(run.name) as staging:
        if staging is None:
            return False
        try:
            shutil.copytree(run.path, staging, dirs_exist_ok=True)
            for path in staging.iterdir():
                sync(path)
        except OSError as error:
            raise StoreError(f"cannot copy run {run.name} from {run.path} to {store.path}: {error}.") from error
        return True


def forget_lines(store: RunStore, replaced: Collection[str], said: Mapping[str, Collection[Any]]) -> None:
    """What is said here of runs that gave way is true of no run that is here; what came along is ``said`` of others."""
    for run in map(store.read, store):
        known, still = run.diagnostics(), said.get(run.name, ())
        if len(true := [one for one in known if one.other not in replaced or one.subject in still]) < len(known):
            run.write_diagnostics(true)


def _add_diagnostics(here: StoredRun, there: StoredRun) -> None:
    known = here.diagnostics()
    if new := [one for one in there.diagnostics() if one.subject not in {mine.subject for mine in known}]:
        here.write_diagnostics([*known, *new])


def _same_numbers(a: StoredRun, b: StoredRun) -> bool:
    """Whether the predictions agree to the last bit; features need not, since archives hold them in half precision."""
    with suppress(OSError):  # a file that is missing is told of below
        if (a.path / "predictions.npz").read_bytes() == (b.path / "predictions.npz").read_bytes():
            return True
    return _bits(a) == _bits(b)


def _bits(run: StoredRun) -> dict[str, tuple[Any, ...]]:
    return {
        name: (array.dtype.str, array.shape, array.tobytes())
        for name, array in run.predictions.items()
        if not is_features(name)
    }


def _count(merged: Merged, name: str, what: What) -> None:
    kept = {"other": merged.other, "fuller": merged.fuller}.get(what, [])
    if name not in kept:
        kept.append(name)
    if name not in (*merged.new, *merged.here, *merged.busy, *merged.replaced):
        lists = {"new": merged.new, "busy": merged.busy, "replaced": merged.replaced}
        lists.get(what, merged.here).append(name)
