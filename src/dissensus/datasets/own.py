"""Your own data: a votes file and the inputs it speaks of, brought together by id and never by luck."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.base.words import many
from dissensus.datasets.dataset import Dataset, Inputs
from dissensus.datasets.image_folder import first_shared, ids_like, image_files, read_images, without_endings
from dissensus.datasets.input_files import TABLES, read_inputs
from dissensus.datasets.text_files import Columns, NamedTexts, read_texts
from dissensus.votes import Votes

LARGE = 256  # pixels a side: of such images small-cnn takes 100 a second on two cores, of 1024 pixels 3
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
    others: str = "error",
    **reading: Any,
) -> Dataset:
    """The items of ``votes``, in their order, with the inputs, or the texts, that have the same ids.

    ``votes`` is a file for ``read_votes``, which is given ``reading``, or what it returned. ``inputs`` is one of

    - a folder of images, all of one size, or brought to ``size=(height, width)``. Ids are the names of the files, or
      their paths where they lie in folders inside of it (``cats/a.png``, ``images/cats/a.png``, or an address such as
      ``s3://mine/cats/a.png``), with or without the ending; all are written in the same way, each is that of one file;
    - ``.npz`` with the arrays ``inputs`` and ``ids``;
    - ``.npy``, if the ids in the votes are its row numbers, from 0;
    - ``.csv``, ``.tsv`` or ``.parquet`` with numbers in all columns but that of the ids: the first, or ``ids="name"``.

    ``texts`` is a table (``.csv``, ``.tsv``, ``.json``, ``.jsonl``, ``.parquet``) with the columns ``id`` and ``text``;
    for pairs also ``text_pair``, and ``group`` for items that no split may part; other columns are named by
    ``ids="..."``, ``text="..."`` and so on, and where columns end is seen in the header or said by ``texts_delimiter``.
    It may be the votes file itself, if that has the texts in it, or the export of Label Studio, Prodigy, Argilla or
    doccano. Without groups, items with the same words in ``text`` form one.

    Arrays are features (items, features) or uint8 images (items, height, width), (items, height, width, channels) or
    (items, channels, height, width). Ids are compared as they are written: ``7`` is not ``007``. Items and inputs
    without any vote are left out, with a note (but not rows that have no ids, which must be as many as the items).
    Votes on items that have no input are an error, or left out with a note, too, by ``others="drop"``.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "inputs.npz"
    >>> np.savez(path, inputs=np.array([[1.5], [2.5]]), ids=["b", "a"])
    >>> data = own_data(Votes.from_counts([[2, 1], [0, 3]], items=["a", "b"]), path)
    >>> data.inputs.tolist(), data.votes.items.tolist()
    ([[2.5], [1.5]], ['a', 'b'])
    """
    if (inputs is None) == (texts is None):
        raise InputError("one's own data are votes with inputs or votes with texts: give one of the two.")
    _check_others(others)
    table, unvoted = _votes(votes, reading)
    columns = Columns(ids, text, text_pair, group)
    _refuse_misplaced(inputs, texts, columns, size, texts_delimiter)
    if inputs is not None:
        return _with_inputs(table, unvoted, Path(inputs), ids, size, others)
    assert texts is not None
    needed = set(_items(table)) if others == "error" else set()  # a row without a text is none, as one that is lost
    if isinstance(votes, Votes) or Path(texts) != Path(votes):
        found = read_texts(Path(texts), columns, texts_delimiter, needed=needed)
    else:  # read as it is for its votes
        if texts_delimiter is not None:
            raise InputError(f"{texts} holds the votes as well; say where its columns end", give=["delimiter"])
        found = read_texts(Path(texts), columns, reading.get("delimiter"), reading, needed=needed)
    votes, order = _match(table, unvoted, found.ids, Path(texts), others, "text")
    return Dataset("own", found.texts[order], votes, groups=found.groups[order])


def own_items(
    inputs: str | os.PathLike[str] | None = None,
    *,
    texts: str | os.PathLike[str] | None = None,
    ids: str | None = None,
    size: tuple[int, int] | None = None,
    text: str | None = None,
    text_pair: str | None = None,
    texts_delimiter: str | None = None,
    others: str = "error",
    endings: bool = False,
    say: Callable[[str], object] | None = None,
) -> tuple[list[str], Inputs]:
    """The ids and the inputs, or the texts, of items that nobody voted on, in the order of the file.

    Files and options are those of :func:`own_data`. Images come in the order of their paths in the folder, which are
    the ids, with the ``endings`` of the files or without; rows of an ``.npy``, and of a table of texts without ids, are
    numbered from 0. Items without a text are an error, or left out by ``others="drop"``. Rows of texts that stand there
    again, as in a table of votes, are read once. ``say`` is told of what is numbered, left out or there again.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "new.csv"
    >>> _ = path.write_text("id,text\\nb,A man sleeps.\\na,A dog runs.\\n")
    >>> own_items(texts=path)
    (['b', 'a'], Texts(2 texts))
    """
    if (inputs is None) == (texts is None):
        raise InputError("new items are inputs or texts: give one of the two.")
    _check_others(others)
    columns = Columns(ids, text, text_pair)
    _refuse_misplaced(inputs, texts, columns, size, texts_delimiter)
    if endings and not (inputs is not None and Path(inputs).is_dir()):
        raise InputError(f"endings are those of images in a folder, but {inputs or texts} is none.")
    if inputs is None:
        assert texts is not None
        said = read_texts(Path(texts), columns, texts_delimiter, voted=False, needed=() if others == "drop" else None)
        for told in _told_of(said, texts):
            if say is not None:
                say(told)
        return said.ids, said.texts
    if others != "error":
        raise InputError(f'others="drop" leaves items without a text out, but {inputs} is no table of texts.')
    path = Path(inputs)
    array: NDArray[np.uint8] | NDArray[np.float32]
    if path.is_dir():
        files = image_files(path)
        found = list(files) if endings else without_endings(files)
        if shared := first_shared(found, files, found):
            raise InputError(
                f"{' and '.join(shared[1])} in {path} would both be {shared[0]!r}; tell them apart",
                switch_on=["endings"],
            )
        array = read_images(list(files.values()), size)
    else:
        found, array = read_inputs(path, ids, numbered=True)
        _refuse_twice(found, path)
    return found, array


def _check_others(others: str) -> None:
    if others not in ("error", "drop"):
        raise InputError(f'others must be "error" or "drop", but it is {others!r}.')


def _told_of(said: NamedTexts, where: str | os.PathLike[str]) -> Iterator[str]:
    """Notes on new texts."""
    if said.numbered:
        yield f"Rows of {where} are numbered from 0: no column is called id, item or task. If one holds ids, name it."
    if said.passed:
        told = f"Items without a text are left out: {len(said.passed)} of {len(said.ids) + len(said.passed)}"
        yield f"{told} (first: {said.passed[0]!r})."
    if again := said.rows - len(said.ids):
        told = f"{again} of {said.rows} rows in {where} {'repeats' if again == 1 else 'repeat'} an id and its text"
        yield f"{told}; each is read once: {many(len(said.ids), 'item')}."


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
    return table, unvoted


def _with_inputs(
    votes: Votes,
    unvoted: Collection[str],
    path: Path,
    ids: str | None,
    size: tuple[int, int] | None,
    others: str,
) -> Dataset:
    if path.is_dir():
        files = image_files(path)
        found = ids_like(files, path, _items(votes))
        if shared := first_shared(found, files, set(_items(votes))):
            name, two = shared
            raise InputError(
                f"id {name!r} is that of {' and '.join(two)} in {path}. Write ids as paths, such as {two[0]!r}, or "
                "leave one of these images out."
            )
        votes, order = _match(votes, unvoted, found, path, others)
        places = list(files.values())
        images = read_images([places[position] for position in order], size)
        if size is None and max(images.shape[2:]) > LARGE:
            told = f"Images of {images.shape[2]} x {images.shape[3]} pixels train slowly; the option size=[64, 64] "
            votes = replace(votes, notes=(*votes.notes, f"{told}would bring them to that height and width."))
        return Dataset("own", images, votes)
    found, rows = read_inputs(path, ids, numbered=votes.items.dtype.kind == "i", needed=set(_items(votes)))
    _refuse_twice(found, path)
    votes, order = _match(votes, unvoted, found, path, others)
    if path.suffix == ".npy":
        _refuse_spare(_items(votes), unvoted, found, path)
    return Dataset("own", rows[order], votes)


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
    votes: Votes, unvoted: Collection[str], found: Sequence[str], where: Path, others: str, noun: str = "input"
) -> tuple[Votes, NDArray[np.int64]]:
    """The votes, with notes on what is left out, and the position in ``found`` of each of their items.

    Those that are known to be ``unvoted`` are told of already.
    """
    wanted = _items(votes)
    place = {name: position for position, name in enumerate(found)}
    lost = [name for name in wanted if name not in place]
    spare = _spare(wanted, unvoted, found)
    if lost and (others == "error" or len(lost) == len(wanted)):
        raise _lost(lost, spare, len(wanted), where, noun)
    notes = list(votes.notes)
    if lost:
        notes.append(f"Items without {noun}s are left out: {len(lost)} of {len(wanted)} (first: {lost[0]!r}).")
        votes = replace(votes.take([name in place for name in wanted]), notes=tuple(notes))
        _check_votes(votes)
    if spare:
        told = f"{noun.capitalize()}s without votes are left out: {len(spare)} of {len(found)} (first: {spare[0]!r})."
        notes.append(told)
    if votes.votes_per_item.max() == 1:
        notes.append("No item has two votes, so soft labels, SLS, multipass and the majority vote teach the same.")
    order = np.fromiter((place[name] for name in _items(votes)), np.int64, votes.n_items)
    return replace(votes, notes=tuple(notes)), order


def _lost(lost: Sequence[str], spare: Sequence[str], items: int, where: Path, noun: str) -> InputError:
    """Votes on items that have no input."""
    faults = [f"{_told(lost, 'item', 'has', 'have')} votes but no {noun} in {where}."]
    if spare:
        faults.append(f"{_told(spare, noun, 'has', 'have')} no votes.")
    if len(lost) == items:
        faults.append("No id is in both: are they written in the same way, and the right ones?")
        if noun == "text" or where.suffix in TABLES:
            faults.append(f"The column, or field, with those of the votes and that with those of the {noun}s are named")
            return InputError(" ".join(faults), give=["item", "ids"])
        faults.append("If the votes have others in another column, or another field of an export, name it")
        return InputError(" ".join(faults), give=["item"])
    faults.append(f"Add the {noun}s; or leave those votes out")
    return InputError(" ".join(faults), give=['others="drop"'])


def _items(votes: Votes) -> list[str]:
    return [str(item) for item in votes.items.tolist()]


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
