"""Your own data: a votes file and the inputs it speaks of, brought together by id and never by luck."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.datasets.dataset import Dataset, Inputs
from dissensus.datasets.image_folder import image_files, read_images
from dissensus.datasets.input_files import read_inputs
from dissensus.datasets.text_files import Columns, NamedTexts, read_texts
from dissensus.votes import Votes

_NAMED = 3  # ids that a message names; it counts all of them


def own_data(
    votes: str | os.PathLike[str] | Votes,
    inputs: str | os.PathLike[str] | None = None,
    *,
    texts: str | os.PathLike[str] | None = None,
    ids: str | None = None,
    size: tuple[int, int] | None = None,
    text: str | None = None,
    text_pair: str | None = None,
    group: str | None = None,
    texts_delimiter: str | None = None,
    **reading: Any,
) -> Dataset:
    """The items of ``votes``, in their order, with the inputs, or the texts, that have the same ids.

    ``votes`` is a file for ``read_votes``, which is given ``reading``, or what it returned. ``inputs`` is one of

    - a folder of images, whose file names, with or without the ending, are the ids; all of one size, or brought to
      ``size=(height, width)``;
    - ``.npz`` with the arrays ``inputs`` and ``ids``;
    - ``.npy``, if the ids in the votes are its row numbers, from 0;
    - ``.csv``, ``.tsv`` or ``.parquet`` with numbers in all columns but that of the ids: the first, or ``ids="name"``.

    ``texts`` is a table (``.csv``, ``.tsv``, ``.jsonl``, ``.parquet``) with the columns ``id`` and ``text``; for pairs
    also ``text_pair``, and ``group`` for items that no split may part; other columns are named by ``ids="..."``,
    ``text="..."`` and so on, and where columns end is seen in the header or said by ``texts_delimiter``. It may be the
    votes file itself, if that has the texts in it. Without groups, items with the same words in ``text`` form one.

    Arrays are features (items, features) or uint8 images (items, height, width), (items, height, width, channels) or
    (items, channels, height, width). Every item with votes must have an input; items and inputs without any vote are
    left out, with a note (but not rows that have no ids, which must be as many as the items). Ids are compared as they
    are written: ``7`` is not ``007``.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "inputs.npz"
    >>> np.savez(path, inputs=np.array([[1.5], [2.5]]), ids=["b", "a"])
    >>> data = own_data(Votes.from_counts([[2, 1], [0, 3]], items=["a", "b"]), path)
    >>> data.inputs.tolist(), data.votes.items.tolist()
    ([[2.5], [1.5]], ['a', 'b'])
    """
    if (inputs is None) == (texts is None):
        raise InputError("one's own data are votes with inputs or votes with texts: give one of the two.")
    table, unvoted = _votes(votes, reading)
    columns = Columns(ids, text, text_pair, group)
    _refuse_misplaced(inputs, texts, columns, size, texts_delimiter)
    if inputs is not None:
        return _with_inputs(table, unvoted, Path(inputs), ids, size)
    assert texts is not None
    if isinstance(votes, Votes) or Path(texts) != Path(votes):
        found = read_texts(Path(texts), columns, texts_delimiter)
    else:  # read as it is for its votes
        if texts_delimiter is not None:
            raise InputError(f"{texts} holds the votes as well; say where its columns end", give=["delimiter"])
        columns = replace(columns, ids=ids or reading.get("item"))
        found = read_texts(Path(texts), columns, reading.get("delimiter"), votes=reading.get("annotators", ()))
    return _with_texts(table, unvoted, found, Path(texts))


def own_items(
    inputs: str | os.PathLike[str] | None = None,
    *,
    texts: str | os.PathLike[str] | None = None,
    ids: str | None = None,
    size: tuple[int, int] | None = None,
    text: str | None = None,
    text_pair: str | None = None,
    texts_delimiter: str | None = None,
    endings: bool = False,
) -> tuple[list[str], Inputs]:
    """The ids and the inputs, or the texts, of items that nobody voted on, in the order of the file.

    Files and options are those of :func:`own_data`. Images come in the order of their names, with the ``endings`` of
    their files in the ids or without; rows of an ``.npy``, and of a table of texts without ids, are numbered from 0.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "new.csv"
    >>> _ = path.write_text("id,text\\nb,A man sleeps.\\na,A dog runs.\\n")
    >>> own_items(texts=path)
    (['b', 'a'], Texts(2 texts))
    """
    if (inputs is None) == (texts is None):
        raise InputError("new items are inputs or texts: give one of the two.")
    columns = Columns(ids, text, text_pair)
    _refuse_misplaced(inputs, texts, columns, size, texts_delimiter)
    if inputs is None:
        assert texts is not None
        said = read_texts(Path(texts), columns, texts_delimiter, voted=False)
        return said.ids, said.texts
    path = Path(inputs)
    array: NDArray[np.uint8] | NDArray[np.float32]
    if path.is_dir():
        found, files = image_files(path, ())
        found, array = [file.name for file in files] if endings else found, read_images(files, size)
    else:
        found, array = read_inputs(path, ids, numbered=True, voted=False)
    _refuse_twice(found, path)
    return found, array


def _refuse_misplaced(
    inputs: str | os.PathLike[str] | None,
    texts: str | os.PathLike[str] | None,
    columns: Columns,
    size: tuple[int, int] | None,
    texts_delimiter: str | None,
) -> None:
    """Options that say how to read something else than what is given."""
    if inputs is None:
        if size is not None:
            raise InputError(f"size={size!r} is for folders of images, but {texts} is a table of texts.")
        return
    if columns != Columns(columns.ids):
        raise InputError(f"text, text_pair and group name columns of a table of texts, but {inputs} is none.")
    if texts_delimiter is not None:
        raise InputError(f"texts_delimiter={texts_delimiter!r} is for a table of texts, but {inputs} is none.")
    if not Path(inputs).is_dir():
        if size is not None:
            raise InputError(f"size={size!r} is for folders of images, but {inputs} is not a folder.")
    elif columns.ids is not None:
        raise InputError(f"ids={columns.ids!r} names a column, but {inputs} is a folder: its file names are the ids.")


def _votes(votes: str | os.PathLike[str] | Votes, reading: dict[str, Any]) -> tuple[Votes, set[str]]:
    """The votes on items that have any, and the ids of the others."""
    if isinstance(votes, Votes):
        if reading:
            raise InputError(f"{', '.join(reading)} say how to read a votes file, but votes that are read were given.")
        table = votes
    else:
        from dissensus.votes import read_votes  # which needs Polars

        table = read_votes(votes, **reading)
    voted = table.votes_per_item > 0
    unvoted = {str(item) for item in table.items[~voted].tolist()}
    if unvoted:
        told = f"Items without votes are left out: {len(unvoted)} of {table.n_items}."
        table = replace(table.take(voted), notes=(*table.notes, told))
    _check_votes(table)
    if table.votes_per_item.max() == 1:
        told = "No item has two votes, so soft labels, SLS, multipass and the majority vote teach the same."
        table = replace(table, notes=(*table.notes, told))
    return table, unvoted


def _with_inputs(
    votes: Votes, unvoted: Collection[str], path: Path, ids: str | None, size: tuple[int, int] | None
) -> Dataset:
    wanted = [str(item) for item in votes.items.tolist()]
    array: NDArray[np.uint8] | NDArray[np.float32]
    if path.is_dir():
        found, files = image_files(path, wanted)
        order, notes = _match(wanted, unvoted, found, path)
        array = read_images([files[position] for position in order], size)
    else:
        found, rows = read_inputs(path, ids, numbered=votes.items.dtype.kind == "i")
        order, notes = _match(wanted, unvoted, found, path)
        if path.suffix == ".npy":
            _refuse_spare(wanted, unvoted, found, path)
        array = rows[order]
    return Dataset("own", array, replace(votes, notes=(*votes.notes, *notes)))


def _with_texts(votes: Votes, unvoted: Collection[str], found: NamedTexts, where: Path) -> Dataset:
    order, notes = _match([str(item) for item in votes.items.tolist()], unvoted, found.ids, where, "text")
    votes = replace(votes, notes=(*votes.notes, *notes))
    return Dataset("own", found.texts[order], votes, groups=found.groups[order])


def _check_votes(votes: Votes) -> None:
    if votes.n_items < votes.n_classes:
        raise InputError(
            f"there are votes on {votes.n_items} items for {votes.n_classes} classes, and fewer items than classes "
            + " ".join(("cannot be learned from. Was the wrong column read as labels?", *votes.notes))
        )
    used = np.flatnonzero(votes.counts().any(0))
    if len(used) < 2:
        told = repr(votes.classes[used[0]]) if len(used) else "no class"
        raise InputError(f"all votes are for {told}; at least two classes are needed to learn from.")


def _match(
    wanted: Sequence[str], unvoted: Collection[str], found: Sequence[str], where: Path, noun: str = "input"
) -> tuple[NDArray[np.int64], list[str]]:
    """The position in ``found`` of each id in ``wanted``, all of which must be there, and a note on those beside them.

    Those that are known to be ``unvoted`` are told of already.
    """
    _refuse_twice(found, where)
    place = {name: position for position, name in enumerate(found)}
    lost = [name for name in wanted if name not in place]
    spare = _spare(wanted, unvoted, found)
    if lost:
        faults = [
            f"{_told(lost, 'item', 'has', 'have')} votes but no {noun} in {where}: add the {noun}s, or leave those "
            "votes out."
        ]
        if spare:
            faults.append(f"{_told(spare, noun, 'has', 'have')} no votes.")
        if len(lost) == len(wanted):
            faults.append("No id is in both; are they written in the same way, and is the right column read?")
        raise InputError(" ".join(faults))
    told = [
        f"{noun.capitalize()}s without votes are left out: {len(spare)} of {len(found)} (first: {name!r})."
        for name in spare[:1]
    ]
    return np.fromiter((place[name] for name in wanted), np.int64, len(wanted)), told


def _refuse_twice(found: Sequence[str], where: Path) -> None:
    if twice := [name for name, times in Counter(found).items() if times > 1]:
        raise InputError(f"ids must be unique, but in {where} {_told(twice, 'id', 'occurs', 'occur')} more than once.")


def _refuse_spare(wanted: Sequence[str], unvoted: Collection[str], found: Sequence[str], where: Path) -> None:
    """An error for rows that nobody voted on where rows have no ids: they may be counted from another row."""
    if spare := _spare(wanted, unvoted, found):
        raise InputError(
            f"{_told(spare, 'row', 'has', 'have')} no votes, and the rows of {where} have no ids by which to leave "
            "some out. Write inputs and ids together: np.savez(path, inputs=..., ids=...)."
        )


def _spare(wanted: Sequence[str], unvoted: Collection[str], found: Sequence[str]) -> list[str]:
    known = {*wanted, *unvoted}
    return [name for name in found if name not in known]


def _told(ids: Collection[str], noun: str, one: str, many: str) -> str:
    """``item 'a' has``, or ``5 items ('a', 'b', 'c', ...) have``."""
    named = [repr(name) for name in ids][:_NAMED]
    if len(ids) == 1:
        return f"{noun} {named[0]} {one}"
    return f"{len(ids)} {noun}s ({', '.join(named)}{', ...' if len(ids) > _NAMED else ''}) {many}"
