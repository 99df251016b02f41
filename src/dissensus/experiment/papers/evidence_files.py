"""Evidence on disk: four small files, the same byte for byte whenever their content is.

================== =================================================================================================
``runs.csv``       a row a training: what it was, where and how it was made, and whether it diverged; ``votes`` is what
                   an item was given, and ``counts_as`` says "all" where that is all that its protocol gives
``numbers.csv.gz`` a row a number: of one run, of a run and an outside set, or of two runs
``history.csv.gz`` a row an epoch of each run
``curves.csv.gz``  a row a point of each line that a figure draws
================== =================================================================================================
"""

from __future__ import annotations

import csv
import gzip
import io
import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import numpy as np

from dissensus.base.errors import InputError, StoreError
from dissensus.base.files import written_whole
from dissensus.experiment.papers.evidence import Curve, Evidence, RunCurve, RunNumber, Where
from dissensus.experiment.papers.experiments import Cell
from dissensus.records import Slice, Weights

FILES = RUNS, NUMBERS, HISTORY, CURVES = "runs.csv", "numbers.csv.gz", "history.csv.gz", "curves.csv.gz"
ABOUT = ("data", "model", "version", "commit", "torch", "device", "precision", "seconds")
GIVEN = "given"  # of a run whose protocol gives few votes as all: how many
COUNTS_AS = "counts_as"  # a column of runs, where there are such
DIVERGED = "diverged"  # a last column of runs, where one did: in which epoch

_CELL = ["protocol", "method", "votes", "hold", "seed", "reorder"]
_SUBJECT = ["run", "name", "checkpoint", "tempered", "slice", "where", "other"]

Row = list[str]
Made = TypeVar("Made")


def write(evidence: Evidence, folder: str | os.PathLike[str]) -> None:
    """All four files."""
    names = list(dict.fromkeys(name for columns in evidence.histories.values() for name in columns))
    few = [COUNTS_AS] if any(GIVEN in told for told in evidence.about.values()) else []
    keys = [*ABOUT, *few, *([DIVERGED] if evidence.diverged else [])]
    _write(
        Path(folder) / RUNS,
        ["run", *_CELL, *keys],
        ([run, *_training(cell, evidence.about[run], keys)] for run, cell in evidence.runs.items()),
    )
    _write(
        Path(folder) / NUMBERS,
        [*_SUBJECT, "value", "low", "high"],
        ([*_subject(one), *map(_text, (one.value, one.low, one.high))] for one in evidence.findings),
    )
    _write(
        Path(folder) / HISTORY,
        ["run", *names],
        (
            [run, *map(_text, epoch)]
            for run, columns in evidence.histories.items()
            for epoch in zip(*(_column(columns, name) for name in names), strict=True)
        ),
    )
    _write(
        Path(folder) / CURVES,
        [*_SUBJECT, "x", "y"],
        (
            [*_subject(line), _text(x), _text(y)]
            for line in evidence.lines
            for x, y in zip(line.curve.x.tolist(), line.curve.y.tolist(), strict=True)
        ),
    )


def read(folder: str | os.PathLike[str]) -> Evidence:
    """What :func:`write` wrote; what is not as it should be is an error that names the file."""
    home = Path(folder)
    if not home.is_dir():
        raise InputError(f"{home} is no folder; one with the results of a paper was expected: {', '.join(FILES)}.")
    runs = dict(_read(home / RUNS, ["run", *_CELL, *ABOUT], _trainings))
    findings = _read(home / NUMBERS, [*_SUBJECT, "value", "low", "high"], _findings)
    histories = _read(home / HISTORY, ["run"], _histories)
    lines = _read(home / CURVES, [*_SUBJECT, "x", "y"], _lines)
    cells = {run: cell for run, (cell, _) in runs.items()}
    try:
        return Evidence(cells, {run: told for run, (_, told) in runs.items()}, findings, dict(histories), lines)
    except InputError as error:
        raise StoreError(
            f"the files of {home} do not belong together ({str(error).rstrip('.')}). Take all four from where they "
            "came from again, or collect them anew from the store of the runs."
        ) from None


def _training(cell: Cell, about: Mapping[str, Any], keys: Iterable[str]) -> Iterator[str]:
    told = {**about, COUNTS_AS: cell.votes} if GIVEN in about else about
    yield from map(str, {**vars(cell), "votes": about.get(GIVEN, cell.votes)}.values())
    yield from (_text(told.get(key)) for key in keys)


def _trainings(head: Row, rows: Iterable[Row]) -> Iterator[tuple[str, tuple[Cell, dict[str, Any]]]]:
    keys = head[1 + len(_CELL) :]
    for run, protocol, method, votes, hold, seed, reorder, *about in rows:
        told: dict[str, Any] = {key: text for key, text in zip(keys, about, strict=True) if text}
        if counts_as := told.pop(COUNTS_AS, ""):
            told[GIVEN], votes = int(votes), counts_as
        shown: int | Literal["all"] = "all" if votes == "all" else int(votes)
        for key, number in (("seconds", float), (DIVERGED, int)):
            if key in told:
                told[key] = number(told[key])
        yield run, (Cell(protocol, method, shown, int(hold), int(seed), int(reorder)), told)


def _findings(_: Row, rows: Iterable[Row]) -> Iterator[RunNumber]:
    for *subject, value, low, high in rows:
        run, name, at, tempered, part, where, other = _checked(subject)
        yield RunNumber(run, name, _number(value), at, tempered, part, where, other, _number(low), _number(high))


def _histories(head: Row, rows: Iterable[Row]) -> Iterator[tuple[str, dict[str, Any]]]:
    for run, epochs in groupby(rows, key=lambda row: row[0]):
        columns = zip(*epochs, strict=True)
        next(columns)  # the run
        told = dict(zip(head[1:], columns, strict=True))
        yield run, {name: [_number(text) for text in column] for name, column in told.items() if any(column)}


def _lines(_: Row, rows: Iterable[Row]) -> Iterator[RunCurve]:
    for subject, points in groupby(rows, key=lambda row: row[:-2]):
        x, y = zip(*((_number(row[-2]), _number(row[-1])) for row in points), strict=True)
        run, name, checkpoint, tempered, part, where, other = _checked(subject)
        yield RunCurve(run, name, Curve(np.array(x), np.array(y)), checkpoint, tempered, part, where, other)


def _checked(subject: Sequence[str]) -> Any:
    run, name, checkpoint, tempered, part, where, other = subject
    for kind, given, known in (
        ("checkpoint", checkpoint, get_args(Weights)),
        ("slice", part, get_args(Slice)),
        ("where", where, get_args(Where)),
        ("tempered", tempered, ("0", "1")),
    ):
        if given not in known:
            raise ValueError(f"{given!r} is no {kind}")
    return run, name, checkpoint, tempered == "1", part, where, other


def _subject(one: RunNumber | RunCurve) -> Row:
    return [one.run, one.name, one.checkpoint, str(int(one.tempered)), one.slice, one.where, one.other]


def _column(columns: Any, name: str) -> list[float]:
    length = len(next(iter(columns.values())))
    return columns[name].tolist() if name in columns else [np.nan] * length


def _text(value: Any) -> str:
    """Numbers by their shortest text, whole ones without a point; nothing for what is missing."""
    if value is None or value != value:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return repr(value) if isinstance(value, float) else str(value)


def _number(text: str) -> float:
    return float(text) if text else np.nan


def _write(path: Path, head: Row, rows: Iterable[Row]) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    content = text.getvalue().encode()
    with written_whole(path) as part:
        # neither the time nor the name of the file is part of it
        part.write_bytes(gzip.compress(content, 9, mtime=0) if path.suffix == ".gz" else content)


def _read(path: Path, head: Row, made: Callable[[Row, Iterable[Row]], Iterable[Made]]) -> list[Made]:
    try:
        content = path.read_bytes()
        text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode()
        if not text.endswith("\n"):
            raise ValueError("it ends within a row")
        rows = csv.reader(text.splitlines())
        columns = next(rows)
        more = columns[len(head) :]
        may = more if path.name == HISTORY else [COUNTS_AS, DIVERGED] if path.name == RUNS else []
        if columns[: len(head)] != head or more != [name for name in may if name in more]:
            raise ValueError(f"its columns are {', '.join(columns)}")
        return list(made(columns, rows))
    except FileNotFoundError:
        raise StoreError(f"{path} is missing. Results of a paper are {', '.join(FILES)}.") from None
    except (OSError, EOFError, ValueError, zlib.error, csv.Error) as error:
        raise StoreError(
            f"{path} is damaged ({getattr(error, 'strerror', None) or error}). Take it from where it came from again, "
            "or collect it anew from the store of the runs."
        ) from None
