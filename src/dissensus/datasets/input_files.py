"""Inputs from one file: arrays (``.npz``, ``.npy``) and tables (``.csv``, ``.tsv``, ``.parquet``), with an id a row."""

from __future__ import annotations

from collections.abc import Container
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dissensus.base.arrays import UNREADABLE
from dissensus.base.errors import InputError
from dissensus.base.files import existing_file

if TYPE_CHECKING:
    import polars as pl

Inputs: TypeAlias = NDArray[np.uint8] | NDArray[np.float32]

_CHANNELS = (1, 3, 4)
TABLES = (".csv", ".tsv", ".parquet")
_STARTS = (b"\x93NUMPY", b"PK\x03\x04", b"PK\x05\x06")  # of npy, of npz, and of npz without arrays


def read_inputs(
    path: Path, column: str | None, *, numbered: bool, needed: Container[str] | None = None
) -> tuple[list[str], Inputs]:
    """The ids of a file's rows and the rows, as float32 features or uint8 images with channels first.

    ``column`` names the column of ids in a table. ``numbered``: whether row numbers can serve as ids. ``needed``: the
    ids of which there are votes, whose features must not have gaps; None where there are no votes, and all are needed.
    """
    existing_file(path, "file of inputs, or a folder of images,")
    if path.suffix in TABLES:
        ids, values = _read_table(path, column)
    elif column is not None:
        raise InputError(f"ids={column!r} names a column of a table ({', '.join(TABLES)}), but {path} is none.")
    elif path.suffix == ".npz":
        ids, values = _read_npz(path)
    elif path.suffix == ".npy":
        ids, values = _read_npy(path, numbered)
    else:
        raise InputError(
            f"{path} ends in {path.suffix!r}, but inputs are read from .npz, .npy, {', '.join(TABLES)} or a "
            "folder of images."
        )
    if len(ids) != len(values):
        raise InputError(f"{path} has {len(ids)} ids for {len(values)} inputs; each input needs one id.")
    return ids, _as_images(values, path) if values.ndim > 2 else _as_features(values, ids, path, needed)


def _read_npz(path: Path) -> tuple[list[str], NDArray[Any]]:
    arrays = _load(path)
    if not isinstance(arrays, dict) or not {"inputs", "ids"} <= arrays.keys():
        raise InputError(
            f"{path} must hold the arrays 'inputs' and 'ids', but holds {', '.join(map(repr, arrays)) or 'none'}. "
            "Write it with np.savez(path, inputs=..., ids=...)."
        )
    ids = arrays["ids"]
    if ids.ndim != 1 or ids.dtype.kind not in "iuU":
        raise InputError(f"ids in {path} must be a row of whole numbers or texts, but are {ids.dtype} {ids.shape}.")
    return [str(name) for name in ids.tolist()], np.atleast_1d(arrays["inputs"])


def _read_npy(path: Path, numbered: bool) -> tuple[list[str], NDArray[Any]]:
    if not numbered:
        raise InputError(
            f"{path} has no ids, so its rows are known by their numbers only, and the ids in the votes are no numbers. "
            "Write inputs and ids together: np.savez(path, inputs=..., ids=...)."
        )
    values = np.atleast_1d(_load(path))
    return [str(row) for row in range(len(values))], values


def _load(path: Path) -> Any:
    try:
        with path.open("rb") as file:
            loaded = np.load(file, allow_pickle=False)
            return loaded if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    except UNREADABLE as why:
        raise InputError(f"{path} {_fault(path, str(why))}") from None


def _fault(path: Path, why: str) -> str:
    with path.open("rb") as file:
        head = file.read(6)
    if not head.startswith(_STARTS):
        return "is no array, though its name ends like that of one; np.save and np.savez write arrays."
    if "Object arrays" in why:
        return (
            "holds Python objects, which are not read, since unpickling them can run any code; save numbers, and texts "
            "as NumPy strings."
        )
    return f"is damaged or was cut off ({why.rstrip('.')}). Copy or write it again."


def _read_table(path: Path, column: str | None) -> tuple[list[str], NDArray[Any]]:
    import polars as pl

    frame = _read_frame(path, column)
    key = column or frame.columns[0]
    features = frame.drop(key)
    odd = [name for name, kind in features.schema.items() if not (kind.is_numeric() or kind == pl.Boolean)]
    if odd or not features.width:
        told = f"column {odd[0]!r} holds {features.schema[odd[0]]}" if odd else "there is no other column"
        raise InputError(
            f"all columns of {path} but that of the ids ({key!r}) must hold numbers, but {told}. "
            "A table of texts belongs to texts, not to inputs. Else leave out what is no feature, or name the column "
            "of the ids",
            give=["ids"],
        )
    ids = frame[key]
    if ids.null_count():
        raise InputError(f"row {ids.is_null().arg_max()} of {path} has no id in column {key!r}; rows count from 0.")
    if not (ids.dtype.is_integer() or ids.dtype == pl.String):
        raise InputError(f"ids in {path} must be whole numbers or texts, but column {key!r} holds {ids.dtype}.")
    return [str(name) for name in ids.to_list()], features.cast(pl.Float64).to_numpy()


def _read_frame(path: Path, column: str | None) -> pl.DataFrame:
    import polars as pl

    from dissensus.votes.source import delimiter_of, said_to_excel

    try:
        if path.suffix == ".parquet":
            frame = pl.read_parquet(path)
            names = frame.columns
        else:
            separator = delimiter_of(path)
            before = int(said_to_excel(path) is not None)
            names = pl.read_csv(path, separator=separator, skip_rows=before, n_rows=0).columns
            # ids as they are written: 007 must not become 7
            written = {column or names[0]: pl.String}
            read = partial(pl.read_csv, path, separator=separator, skip_rows=before, infer_schema_length=None)
            read = partial(read, schema_overrides=written)
            frame = read()
            words = [name for name, kind in frame.schema.items() if kind == pl.String and name not in written]
            if separator == ";" and words:  # 0,25 between semicolons is a quarter
                frame = read(decimal_comma=True)
    except (pl.exceptions.PolarsError, OSError) as why:
        raise InputError(f"{path} cannot be read as a table: {str(why).splitlines()[0]}") from None
    if column is not None and column not in names:
        raise InputError(f"{path} has no column {column!r} for the ids; its columns are {', '.join(names[:20])}.")
    return frame


def _as_features(
    values: NDArray[Any], ids: list[str], path: Path, needed: Container[str] | None
) -> NDArray[np.float32]:
    if values.ndim != 2 or values.dtype.kind not in "biuf" or values.shape[1] == 0:
        raise InputError(
            f"inputs in {path} must be features, numbers (items, features), or images, uint8 (items, height, width, "
            f"channels), but are {values.dtype} {values.shape}."
        )
    with np.errstate(over="ignore"):  # what does not fit float32 becomes infinite and is refused below
        features = values.astype(np.float32)
    gaps = ~np.isfinite(features)
    if needed is not None:
        gaps[[name not in needed for name in ids]] = False
    bad = np.argwhere(gaps)
    if len(bad):
        row, column = bad[0]
        raise InputError(
            f"features must be finite in float32, but row {row} of {path} (item {ids[row]!r}), feature {column}, is "
            f"{values[row, column]} ({len(set(bad[:, 0].tolist()))} of {len(values)} rows are wrong). "
            f"Fill the gaps or leave those items out{'' if needed is None else ', in the votes too'}; rows and "
            "features count from 0."
        )
    return features


def _as_images(values: NDArray[Any], path: Path) -> NDArray[np.uint8]:
    """uint8 images with channels first; which axis holds the channels must be plain from the shape."""
    if values.ndim not in (3, 4) or values.dtype != np.uint8 or 0 in values.shape:
        raise InputError(
            f"images in {path} must be uint8, 0 to 255, (items, height, width), (items, height, width, channels) or "
            f"(items, channels, height, width), but are {values.dtype} {values.shape}.{_way_to_uint8(values)}"
        )
    if values.ndim == 3:
        return values[:, None]
    first, last = values.shape[1] in _CHANNELS, values.shape[3] in _CHANNELS
    if first == last:
        raise InputError(
            f"images in {path} have the shape {values.shape}, in which the channels (1, 3 or 4) could be "
            f"{'the second or the last axis' if first else 'no axis'}. Pass (items, height, width, channels) of images "
            "larger than 4 pixels."
        )
    return values if first else np.ascontiguousarray(values.transpose(0, 3, 1, 2))


def _way_to_uint8(values: NDArray[Any]) -> str:
    """How to make images of other numbers, where these can be brightnesses at all."""
    if values.ndim not in (3, 4) or values.dtype.kind not in "biuf" or values.size == 0 or values.dtype == np.uint8:
        return ""
    low, high = values.min(), values.max()
    if not np.isfinite([low, high]).all():
        return " Some are not finite."
    if not 0 <= low <= high <= 255:
        return f" They lie between {low:g} and {high:g}; undo what was done to them."
    if high <= 1:
        return " They lie between 0 and 1: multiply by 255, as in (255 * images).round().astype(np.uint8)."
    return " They lie between 0 and 255: images.round().astype(np.uint8) will do."
