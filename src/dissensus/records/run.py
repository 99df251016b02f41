"""A run on disk: four files, written once and never changed, and what is derived from them.

=================== ==================================================================================================
``plan.json``       everything that determines the run, complete
``about.json``      where and how it was made: version, device, seconds, notes on the votes; not part of its name
``history.csv``     a row an epoch
``predictions.npz`` logits of the evaluation items, best and last epoch, with ids, votes and labels
``records.csv``     derived: a row a number
``diagnostics.csv`` derived: a row a number that was found inside the model, which may be gone by now
``model...``        ``model.safetensors``, where asked: the best epoch's weights, and how inputs are scaled for them
=================== ==================================================================================================
"""

from __future__ import annotations

import csv
import json
import os
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import UNREADABLE, same_length
from dissensus.base.errors import InputError, StoreError
from dissensus.records.canonical import readable_json
from dissensus.records.diagnosis import Diagnosis, read_diagnostics, write_diagnostics
from dissensus.records.record import Record, read_records, write_records

WEIGHTS = "model.safetensors"

Rows = Sequence[Mapping[str, Any]]
Columns = Mapping[str, ArrayLike]


@dataclass(frozen=True)
class StoredRun:
    """A run in a store. Each file is read when it is first asked for, and kept."""

    name: str
    path: Path

    @classmethod
    def at(cls, folder: str | os.PathLike[str]) -> StoredRun:
        """The run in this folder, wherever it was copied to."""
        path = Path(folder)
        if not (path / "plan.json").is_file():
            raise InputError(f"{folder} is not the folder of a run: it holds no plan.json.")
        return cls(path.resolve().name, path)

    @cached_property
    def plan(self) -> dict[str, Any]:
        return self._json("plan.json")

    @cached_property
    def about(self) -> dict[str, Any]:
        return self._json("about.json")

    @property
    def diverged(self) -> int | None:
        """The epoch in which training diverged; then there are no numbers of the model. None for all other runs."""
        return self.about.get("diverged")

    @property
    def source(self) -> dict[str, Any]:
        """Where its data came from, as the command was told; if it was not, they are called as in the plan."""
        return self.about.get("source") or {"name": self.plan["data"]["name"]}

    @property
    def votes_file(self) -> str:
        """Where one's own votes were read from, as the command was told; "" for data sets that have a name."""
        return str(self.source.get("votes") or "")

    @property
    def has_weights(self) -> bool:
        """Whether it kept those of its best epoch."""
        return (self.path / WEIGHTS).exists()

    @property
    def has_features(self) -> bool:
        """Whether it kept what entered the last layer."""
        return "best_features" in self.array_names()

    def array_names(self) -> set[str]:
        """The arrays of its predictions, without reading them."""
        try:
            with zipfile.ZipFile(self.path / "predictions.npz") as members:
                return {name.removesuffix(".npy") for name in members.namelist()}
        except (OSError, zipfile.BadZipFile) as error:
            raise self.damaged("predictions.npz", error) from None

    @cached_property
    def history(self) -> dict[str, NDArray[Any]]:
        """A column each, in the order of the epochs; whole numbers as int64, others as float64."""
        try:
            text = (self.path / "history.csv").read_text("utf-8")
            if not text.endswith("\n"):
                raise ValueError("it ends within a row")
            names, *rows = csv.reader(text.splitlines())
            columns = zip(*rows, strict=True) if rows else ([] for _ in names)
            return {name: _numbers(column) for name, column in zip(names, columns, strict=True)}
        except (OSError, ValueError, csv.Error) as error:
            raise self.damaged("history.csv", error) from None

    @cached_property
    def predictions(self) -> dict[str, NDArray[Any]]:
        try:
            # opened here, since np.load leaves the file open where the archive is bad
            with (self.path / "predictions.npz").open("rb") as file, np.load(file, allow_pickle=False) as arrays:
                return dict(arrays)
        except UNREADABLE as error:
            raise self.damaged("predictions.npz", error) from None

    def records(self) -> list[Record]:
        """The records beside the run; none if they have not been made yet (``evaluation.records_of`` makes them)."""
        path = self.path / "records.csv"
        return read_records(path) if path.exists() else []

    def write_records(self, records: Sequence[Record]) -> None:
        write_records(self.path / "records.csv", records)

    def diagnostics(self) -> list[Diagnosis]:
        """What was found inside the model; none if nobody has looked (``dissensus diagnose`` does)."""
        path = self.path / "diagnostics.csv"
        return read_diagnostics(path) if path.exists() else []

    def write_diagnostics(self, diagnostics: Sequence[Diagnosis]) -> None:
        write_diagnostics(self.path / "diagnostics.csv", diagnostics)

    def check(self) -> None:
        """Read every file, and raise a :class:`StoreError` that names the first damaged one."""
        _ = self.plan, self.about, self.history, self.predictions, self.diagnostics()

    def _json(self, file: str) -> dict[str, Any]:
        try:
            content = json.loads((self.path / file).read_text("utf-8"), parse_constant=_no_constant)
            if not isinstance(content, dict):
                raise ValueError(f"a table was expected, not a {type(content).__name__}")
            return content
        except (OSError, ValueError, RecursionError) as error:
            raise self.damaged(file, error) from None

    def damaged(self, file: str, error: Exception) -> StoreError:
        """The error to raise where a file of the run is not what it should be."""
        if isinstance(error, FileNotFoundError):
            what = f"{file} is missing"
        else:
            what = f"{file} cannot be read ({getattr(error, 'strerror', None) or error})"
        return StoreError(
            f"run {self.name} is damaged: {what} in {self.path}. "
            f"Remove it with `dissensus runs rm {self.name}` and run its plan again."
        )


def write_run(
    folder: str | os.PathLike[str],
    plan: Mapping[str, Any],
    about: Mapping[str, Any],
    history: Rows | Columns,
    predictions: Mapping[str, ArrayLike],
) -> None:
    """Write the four files of a run into ``folder``, the staging folder that a claim gives.

    ``history`` is a list of rows, one an epoch, or a table of columns. The disk is synced, so that a run that is there
    after a power cut is there whole.
    """
    folder = Path(folder)
    texts = {"plan.json": readable_json(plan), "about.json": readable_json(about)}
    columns = _columns(history)
    arrays = {name: _storable(name, array) for name, array in predictions.items()}
    try:
        for file, text in texts.items():
            (folder / file).write_text(text, "utf-8")
        with (folder / "history.csv").open("w", encoding="utf-8", newline="") as table:
            writer = csv.writer(table, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        np.savez_compressed(folder / "predictions.npz", **arrays)  # type: ignore[arg-type]
        for path in folder.iterdir():
            sync(path)
    except OSError as error:
        raise StoreError(f"cannot write a run to {folder}: {error.strerror or error}.") from error


def _columns(history: Rows | Columns) -> dict[str, list[str]]:
    """Columns of texts: whole numbers as such, floats by ``repr``, what is missing in a row as nan."""
    if not isinstance(history, Mapping):
        names = dict.fromkeys(name for row in history for name in row)
        history = {name: [row.get(name, np.nan) for row in history] for name in names}
    columns = {name: np.asarray(column).tolist() for name, column in history.items()}
    if columns:
        same_length(**columns)
    return {name: [_text(name, value) for value in column] for name, column in columns.items()}


def _text(name: str, value: Any) -> str:
    if value is None:
        return "nan"
    if not isinstance(value, (int, float)):
        raise InputError(f"history must hold numbers, but {name} holds {value!r}.")
    return repr(value if isinstance(value, float) else int(value))


def _numbers(texts: Sequence[str]) -> NDArray[Any]:
    with suppress(ValueError):
        return np.array([int(text) for text in texts], np.int64)
    return np.array([float(text) for text in texts], np.float64)


def _storable(name: str, value: ArrayLike) -> NDArray[Any]:
    array = np.asarray(value)
    if array.dtype.kind not in "biufU":
        raise InputError(f"predictions[{name!r}] must hold numbers or text, but its dtype is {array.dtype}.")
    return array


def _no_constant(text: str) -> float:
    raise ValueError(f"{text} is not JSON")


def sync(path: Path) -> None:
    """Have the file on the disk before going on."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
