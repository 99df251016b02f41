"""What votes are read from: a text table, a typed table (JSON Lines, Parquet, Arrow, a data frame), arrays, a JSON
document, a folder or zip of files.

The kind is seen in the first bytes, never in the name alone. Readers ask a source for columns and, when something is
wrong, for the place of a row.
"""

from __future__ import annotations

import csv
import json
import mmap
import os
import re
import zipfile
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.base.arrays import UNREADABLE
from dissensus.base.errors import InputError
from dissensus.base.files import existing_file
from dissensus.base.words import first, many
from dissensus.votes.build import as_column, side_by_side
from dissensus.votes.numbers import SAMPLE, whole_numbers, written_length

_SUFFIX_DELIMITER = {".csv": ",", ".tsv": "\t", ".tab": "\t"}
_DELIMITERS = (",", "\t", ";", "|")
_TO_EXCEL = re.compile(r'"?sep=(.)"?[\r\n]*', re.IGNORECASE)

Rows: TypeAlias = range | NDArray[np.int64]  # of a table, that were kept


class Source(ABC):
    """Something that votes can be read from."""

    name: str  # for messages


class Table(Source):
    """Rows and named columns."""

    columns: list[str]
    typed: bool  # False where cells were text, and a number may have to be taken for text
    about: dict[str, str]  # what the file says of itself

    @abstractmethod
    def cells(self, positions: Sequence[int]) -> list[pl.Series]:
        """The columns at these positions."""

    @abstractmethod
    def beginning(self, positions: Sequence[int], rows: int) -> list[pl.Series]:
        """The first rows of these columns, as they are written: to look at, without reading all."""

    @abstractmethod
    def place(self, row: int) -> str:
        """Where the row is, for messages."""


@dataclass
class TextTable(Table):
    """CSV, TSV and the like: cells are text, an empty one is None; whole numbers if no cell is anything else."""

    path: Path
    delimiter: str
    fewest: int = 2  # columns
    columns: list[str] = field(init=False)
    before: int = field(init=False)  # lines before the header
    about: dict[str, str] = field(default_factory=dict, init=False)
    typed = False

    def __post_init__(self) -> None:
        self.before = int(said_to_excel(self.path) is not None)
        header = next(self._rows(), None)
        if header is None:
            raise InputError(f"{self.name} holds nothing but a line on what stands between columns.")
        line, self.columns = header
        if not self.columns:
            raise InputError(f"{self.name}, line {line} is blank, where the names of the columns would be.")
        if len(self.columns) < self.fewest:
            only = f"{self.name} has one column only, {self.columns[0]!r}"
            raise InputError(f"{only}; a table has several, ids in one of them.")

    @property
    def name(self) -> str:  # type: ignore[override]
        return self.path.name

    def cells(self, positions: Sequence[int]) -> list[pl.Series]:
        wanted = sorted({*positions, len(self.columns) - 1})  # a short row shows in its last cell
        if len(wanted) == len(self.columns) and (numbers := self._whole_numbers()) is not None:
            return [numbers[position] for position in positions]
        try:
            frame = pl.read_csv(self.path, columns=wanted, infer_schema=False, **self._options)
        except pl.exceptions.PolarsError as why:
            _refuse_not_utf8(self.path)
            self._refuse_ragged()
            raise InputError(f"{self.name} could not be read as a table: {str(why).splitlines()[0]}.") from None
        series = dict(zip(wanted, frame.get_columns(), strict=True))
        if frame.height == 0:
            raise InputError(f"{self.name} has a header ({', '.join(self.columns)}) but no rows.")
        if series[wanted[-1]].null_count():
            self._refuse_ragged()
        return [series[position] for position in positions]

    @property
    def _options(self) -> dict[str, Any]:
        return {"separator": self.delimiter, "skip_rows": self.before}

    def beginning(self, positions: Sequence[int], rows: int) -> list[pl.Series]:
        try:
            wanted = sorted({*positions})
            frame = pl.read_csv(self.path, columns=wanted, infer_schema=False, n_rows=rows, **self._options)
        except pl.exceptions.PolarsError:
            return self.cells(positions)  # which says what is wrong
        series = dict(zip(sorted({*positions}), frame.get_columns(), strict=True))
        return [series[position] for position in positions]

    def _whole_numbers(self) -> list[pl.Series] | None:
        """All columns as whole numbers if they are nothing else, quicker than by way of text; None otherwise.

        No number is written in an odd way ("007") if the file is just as long as its numbers, delimiters and line ends.
        """
        with self.path.open("rb") as file:
            header = b"".join(file.readline() for _ in range(self.before + 1))
            size = file.seek(-1, os.SEEK_END) + 1
            size += file.read(1) != b"\n"
        if header.endswith(b"\r\n") or size == len(header):
            return None
        options: Any = {"separator": self.delimiter, "has_header": False, "skip_rows": self.before + 1}
        try:
            sample = pl.read_csv(self.path, infer_schema=False, n_rows=SAMPLE, **options)
            if any(whole_numbers(column).dtype == pl.String for column in sample):
                return None
            frame = pl.read_csv(self.path, schema=dict.fromkeys(sample.columns, pl.Int64), **options)
        except pl.exceptions.PolarsError:
            return None
        columns = frame.get_columns()
        if len(columns) != len(self.columns) or any(column.null_count() for column in columns):
            return None
        written = sum(side_by_side(*(partial(written_length, column) for column in columns)))
        return columns if size == len(header) + written + frame.height * frame.width else None

    def begins_with_a_row(self) -> bool:
        """Whether the first line may be a row, and no names: one of its cells is in its column again."""
        columns = self.cells(range(len(self.columns)))
        return any((column.cast(pl.String) == name).any() for name, column in zip(self.columns, columns, strict=True))

    def place(self, row: int) -> str:
        rows = self._rows()
        next(rows)
        for at, (line, _) in enumerate(rows):
            if at == row:
                return f"{self.name}, line {line}"
        return f"{self.name}, row {row}"

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        """Every row with the line on which it starts; slow, for the header and for messages."""
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, delimiter=self.delimiter, strict=True)
            line = 1
            try:
                for row in islice(reader, self.before, None):
                    yield max(line, 1 + self.before), row
                    line = reader.line_num + 1
            except csv.Error as why:
                closed = "a quoted cell is not closed" if "end of data" in str(why) else str(why)
                raise InputError(f"{self.name}, line {line}: {closed}.") from None
            except UnicodeDecodeError:
                _refuse_not_utf8(self.path)
                raise

    def _refuse_ragged(self) -> None:
        for line, row in self._rows():
            if row and len(row) != len(self.columns):
                raise InputError(
                    f"{self.name}, line {line} has {many(len(row), 'cell')}, but the header has {len(self.columns)} "
                    f"({first(self.columns)})."
                )


@dataclass
class TypedTable(Table):
    """JSON Lines, Parquet, Arrow or a data frame: cells have types."""

    name: str
    frame: pl.LazyFrame
    unit: str = "row"
    path: Path | None = None
    about: dict[str, str] = field(default_factory=dict)
    typed = True

    def __post_init__(self) -> None:
        self.columns = self.frame.collect_schema().names()

    def cells(self, positions: Sequence[int]) -> list[pl.Series]:
        names = [self.columns[position] for position in positions]
        frame = self.frame.select(list(dict.fromkeys(names))).collect()
        if frame.height == 0:
            raise InputError(f"{self.name} has no rows.")
        for column in frame:
            if column.dtype == pl.Object:
                _refuse_kinds(self.name, column)
            if self.unit == "line" and column.dtype == pl.String:
                self._refuse_mixed(column.name)
        return [frame[name].arr.to_list() if isinstance(frame[name].dtype, pl.Array) else frame[name] for name in names]

    def beginning(self, positions: Sequence[int], rows: int) -> list[pl.Series]:
        names = [self.columns[position] for position in positions]
        frame = self.frame.select(list(dict.fromkeys(names))).head(rows).collect()
        return [frame[name] for name in names]

    def lists(self) -> list[str]:
        """The columns that hold lists, of one length or of several."""
        return [name for name, kind in self.frame.collect_schema().items() if isinstance(kind, pl.List | pl.Array)]

    def place(self, row: int) -> str:
        if self.unit == "line" and self.path is not None:
            return f"{self.name}, line {_line_of_record(self.path, row)}"
        return f"{self.name}, {self.unit} {row}"

    def _refuse_mixed(self, column: str) -> None:
        """Polars turns numbers into text where a JSON column holds both, so 1 and "1" would become one."""
        assert self.path is not None
        no_text = re.compile(re.escape(json.dumps(column).encode()) + rb"\s*:\s*[-0-9tf\[{]")
        with self.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            for match in no_text.finditer(text):
                start = text.rfind(b"\n", 0, match.start()) + 1
                value = json.loads(text[start : text.find(b"\n", start) % (len(text) + 1)]).get(column)
                if not isinstance(value, str | None):
                    line = text[:start].count(b"\n") + 1
                    raise InputError(
                        f"{self.name}, line {line}: {column} is {value!r}, but on other lines it is text. "
                        "Make it one kind on all lines."
                    )


@dataclass(frozen=True)
class Arrays(Source):
    """The arrays of an ``.npy`` or ``.npz`` file; the one of an ``.npy`` file has the name ``counts``."""

    name: str
    path: Path
    arrays: dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Document(Source):
    """One JSON value, as export files are."""

    name: str
    content: Any


def table_of(document: Document) -> TypedTable | None:
    """The table that a list of flat objects is, as pandas writes one with ``orient="records"``; None if it is none.

    >>> table_of(Document("votes", [{"item": 1, "label": "no"}, {"item": 2}])).frame.collect().rows()
    [(1, 'no'), (2, None)]
    """
    rows = document.content
    if not (isinstance(rows, list) and rows and all(isinstance(row, dict) and row for row in rows)):
        return None
    if any(isinstance(cell, dict) for row in rows for cell in row.values()):
        return None
    names = dict.fromkeys(name for row in rows for name in row)
    columns = [_of_any_kind(name, [row.get(name) for row in rows]) for name in names]
    return TypedTable(document.name, pl.DataFrame(columns).lazy())


def _of_any_kind(name: str, values: list[Any]) -> pl.Series:
    """A column; of several kinds, as what else stands beside votes may be, it is refused only where it is read."""
    try:
        return as_column(name, values).alias(name)
    except InputError:
        return pl.Series(name, values, dtype=pl.Object)


def _refuse_kinds(table: str, column: pl.Series) -> None:
    try:
        as_column(column.name, column.to_list())
    except InputError as why:
        raise InputError(f"{table}: {why}") from None


@dataclass(frozen=True)
class Folder(Source):
    """The files of a folder or of a zip archive, by name; hidden ones are left out."""

    name: str
    path: Path
    files: tuple[str, ...]  # below the folder, with / between parts, sorted
    archive: zipfile.ZipFile | None = None  # kept open: its list of files is read once, not for every file

    @property
    def zipped(self) -> bool:
        return self.archive is not None

    def text(self, file: str) -> str:
        """What a file of it says."""
        try:
            return self._bytes(file).decode("utf-8-sig")
        except UnicodeDecodeError as why:
            raise InputError(f"{self.name}, {file} is not UTF-8 text ({why.reason}). Save it as UTF-8.") from None
        except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as why:
            raise InputError(f"{self.name}, {file} cannot be read ({why}). Unpack or download it again.") from None

    def _bytes(self, file: str) -> bytes:
        return (self.path / file).read_bytes() if self.archive is None else self.archive.read(file)


def without_blank_lines(columns: list[pl.Series]) -> tuple[list[pl.Series], Rows]:
    """Columns without rows in which all cells are empty, as Polars reads a blank line; and which rows are left.

    >>> columns, rows = without_blank_lines([pl.Series(["a", None, None]), pl.Series(["b", None, "c"])])
    >>> columns[1].to_list(), rows
    (['b', 'c'], array([0, 2]))
    """
    if not all(column.null_count() for column in columns):
        return columns, range(len(columns[0]))
    rows = np.flatnonzero(~np.logical_and.reduce([column.is_null().to_numpy() for column in columns]))
    return [column.gather(rows) for column in columns], rows


def open_source(given: Any, delimiter: str | None = None, keyword: str = "delimiter", fewest: int = 2) -> Source:
    """The source in a file or a data frame, recognised by its first bytes or by what it can do.

    Text is cut at ``delimiter``, which callers know as ``keyword``; without one, where the header can be cut. A table
    of text has at least the ``fewest`` columns.
    """
    if delimiter is not None and len(delimiter) != 1:
        raise InputError(f"a delimiter is one character, but {delimiter!r} was given.")
    if isinstance(given, (str, os.PathLike)):
        if Path(given).is_dir():
            return _open_folder(Path(given))
        return _open_file(existing_file(given, "file of votes"), delimiter, keyword, fewest)
    if isinstance(given, pl.LazyFrame):
        return TypedTable("the frame", given)
    if isinstance(given, pl.DataFrame):
        return TypedTable("the frame", given.lazy())
    if isinstance(given, np.ndarray):
        raise InputError(
            "read_votes reads files and data frames; for an array of counts use Votes.from_counts(counts)."
        )
    if hasattr(given, "__arrow_c_stream__") or hasattr(given, "__dataframe__"):
        return TypedTable("the frame", _from_foreign(given).lazy())
    raise InputError(
        f"read_votes reads a path or a data frame (Polars, pandas, Arrow), but it was given a {type(given).__name__}. "
        "For columns use Votes.from_records(items=..., labels=...)."
    )


def _from_foreign(frame: Any) -> pl.DataFrame:
    """A pandas or Arrow table, through the Arrow interface where it works, else column by column."""
    try:
        return pl.DataFrame(frame)
    except Exception as why:  # pandas needs PyArrow for its Arrow interface, and raises errors of many kinds
        if not hasattr(frame, "columns") or not hasattr(frame, "iloc"):
            raise InputError(f"the frame could not be read: {why}") from None
    columns = [frame[name] for name in frame.columns]
    values = [column.astype(object).where(column.notna(), None).tolist() for column in columns]
    return pl.DataFrame([_of_any_kind(str(name), v) for name, v in zip(frame.columns, values, strict=True)])


def _open_file(path: Path, delimiter: str | None, keyword: str, fewest: int) -> Source:
    with path.open("rb") as file:
        head = file.read(4096)
    if head.startswith(b"PAR1"):
        return _open_parquet(path)
    if head.startswith((b"ARROW1", b"\xff\xff\xff\xff")):
        return _open_arrow(path, stream=not head.startswith(b"ARROW1"))
    if head.startswith(b"PK\x03\x04"):
        return _open_zip(path)
    if head.startswith(b"\x93NUMPY"):
        return _open_arrays(path)
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{path.name} is UTF-16 text; save it as UTF-8.")
    if head.startswith((b"\x1f\x8b", b"\x28\xb5\x2f\xfd")):
        raise InputError(f"{path.name} is compressed; unpack it first.")
    if b"\0" in head:
        raise InputError(
            f"{path.name} is a binary file of a kind that is not known here; "
            "CSV, TSV, JSON Lines, Parquet, Arrow, npy, npz and zip are."
        )
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not start:
        raise InputError(f"{path.name} holds nothing but blanks, but a table was expected.")
    if start.startswith((b"{", b"[")):
        return _open_json(path)
    return TextTable(path, delimiter or delimiter_of(path, keyword), fewest)


def said_to_excel(path: Path) -> str | None:
    """What stands between columns, if the file begins with a line that says so to Excel, and is no row: ``sep=;``."""
    with path.open("rb") as file:
        line = file.readline(16).removeprefix(b"\xef\xbb\xbf")
    said = _TO_EXCEL.fullmatch(line.decode("utf-8", "replace"))
    return said and said[1]


def delimiter_of(path: Path, keyword: str | None = None) -> str:
    """What stands between the columns of a text file: what it or its suffix says, or else the one that cuts its header.

    Where several do, ``keyword`` is what callers have to say it by.
    """
    if (said := said_to_excel(path)) is not None:
        return said
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            header = file.readline()
    except UnicodeDecodeError:
        _refuse_not_utf8(path)
        raise
    fitting = [delimiter for delimiter in _DELIMITERS if len(next(csv.reader([header], delimiter=delimiter))) > 1]
    by_suffix = _SUFFIX_DELIMITER.get(path.suffix.lower(), ",")
    if len(fitting) > 1 and by_suffix not in fitting:
        which = "write it with one of them alone." if keyword is None else "say which"
        raise InputError(
            f"the header of {path.name} can be cut at {' or '.join(map(repr, fitting))}; {which}",
            give=[] if keyword is None else [keyword],
        )
    return by_suffix if by_suffix in fitting or not fitting else fitting[0]


def _open_parquet(path: Path) -> TypedTable:
    try:
        return TypedTable(path.name, pl.scan_parquet(path, glob=False), about=pl.read_parquet_metadata(path))
    except pl.exceptions.PolarsError as why:
        raise InputError(f"{path.name} is a damaged Parquet file: {str(why).splitlines()[0]}.") from None


def _open_arrow(path: Path, stream: bool) -> TypedTable:
    """A file of Arrow, or a stream of it, as Hugging Face keeps data sets."""
    try:
        frame = pl.read_ipc_stream(path) if stream else pl.read_ipc(path)
    except (pl.exceptions.PolarsError, OSError) as why:
        raise InputError(f"{path.name} is a damaged Arrow file: {str(why).splitlines()[0]}.") from None
    return TypedTable(path.name, frame.lazy())


def _open_folder(path: Path) -> Folder:
    found = (file.relative_to(path).as_posix() for file in path.rglob("*") if file.is_file())
    return Folder(path.name or str(path), path, _seen(found))


def _open_zip(path: Path) -> Arrays | Folder:
    """The arrays of an npz, which is a zip of npy files; else the files that are zipped."""
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile, NotImplementedError) as why:
        raise InputError(
            f"{path.name} is not a whole zip or npz file ({why}). A spreadsheet has to be saved as CSV."
        ) from None
    names = [info.filename for info in archive.infolist() if not info.is_dir()]
    if "[Content_Types].xml" in names:
        raise InputError(
            f"{path.name} is a spreadsheet or document of an office. A spreadsheet has to be saved as CSV."
        )
    if all(name.endswith(".npy") for name in names):
        archive.close()
        return _open_arrays(path)
    return Folder(path.name, path, _seen(names), archive)


def _seen(files: Iterable[str]) -> tuple[str, ...]:
    """Files that are not hidden, nor what a Mac adds to an archive."""
    shown = (file for file in files if not any(part.startswith((".", "__MACOSX")) for part in file.split("/")))
    return tuple(sorted(shown))


def _open_json(path: Path) -> Source:
    """JSON Lines if the first line is a row, else one document: an object of nothing but objects, or lists, is one."""
    _refuse_not_utf8(path)
    records = _records(path)
    first, second = next(records)[1], next(records, None)
    if _fault(first) is None and (second is not None or _is_row(json.loads(first))):
        return _open_json_lines(path)
    try:
        return Document(path.name, json.loads(path.read_text(encoding="utf-8-sig")))
    except ValueError as why:
        raise InputError(f"{path.name} is neither one JSON document nor one JSON object a line: {why}.") from None


def _open_json_lines(path: Path) -> TypedTable:
    try:
        frame = pl.read_ndjson(path, infer_schema_length=None)
    except pl.exceptions.PolarsError as why:
        for line, text in _records(path):
            if fault := _fault(text):
                raise InputError(f"{path.name}, line {line} {fault}; one object a line was expected.") from None
        raise InputError(f"{path.name} could not be read as JSON Lines: {str(why).splitlines()[0]}.") from None
    return TypedTable(path.name, frame.lazy(), unit="line", path=path)


def _is_row(record: dict[str, Any]) -> bool:
    return bool(record) and not any(all(isinstance(cell, kind) for cell in record.values()) for kind in (dict, list))


def _fault(text: str) -> str | None:
    """Why this line is no JSON object, if it is none."""
    try:
        return None if isinstance(json.loads(text), dict) else "is not an object"
    except ValueError as why:
        return f"is not JSON ({why})"


def _records(path: Path) -> Iterator[tuple[int, str]]:
    with path.open(encoding="utf-8-sig") as file:
        for line, text in enumerate(file, 1):
            if text.strip():
                yield line, text


def _line_of_record(path: Path, row: int) -> int:
    for at, (line, _) in enumerate(_records(path)):
        if at == row:
            return line
    return row + 1


def _open_arrays(path: Path) -> Arrays:
    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            if isinstance(loaded, np.ndarray):
                return Arrays(path.name, path, {"counts": loaded})
            with loaded:
                return Arrays(path.name, path, {name: loaded[name] for name in loaded.files})
    except UNREADABLE as why:
        raise InputError(
            f"{path.name} is not a whole npy or npz file of numbers ({why}). A spreadsheet has to be saved as CSV."
        ) from None


def _refuse_not_utf8(path: Path) -> None:
    """An error that names the first line that is not UTF-8, if there is one."""
    with path.open("rb") as file:
        for line, text in enumerate(file, 1):
            try:
                text.decode()
            except UnicodeDecodeError as why:
                raise InputError(
                    f"{path.name}, line {line} is not UTF-8 text: byte {why.start + 1} of the line is "
                    f"0x{text[why.start]:02x}. Save the file as UTF-8."
                ) from None
