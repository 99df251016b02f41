"""Columns of items, labels and annotators, one row a vote, made into a Votes table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dissensus.base.arrays import same_length
from dissensus.base.errors import InputError
from dissensus.base.words import first, many
from dissensus.votes.folds import mended_by_fold
from dissensus.votes.ids import Ids
from dissensus.votes.oddities import odd_classes, odd_ids
from dissensus.votes.repeats import Repeats
from dissensus.votes.table import Class, Votes, check_classes, code_dtype, first_appearance, offsets_of, ranges

Place: TypeAlias = Callable[[int], str]  # where a row came from, for messages: "labels.csv, line 7"


def from_columns(
    items: Any,
    labels: Any,
    annotators: Any = None,
    *,
    classes: Sequence[Class] | None = None,
    ordered: bool = False,
    place: Place = "position {}".format,
    told: NDArray[np.bool_] | None = None,
    without: Sequence[str] = (),
    ignore: Sequence[str] = (),
    several: Sequence[str] = (),
    repeats: str = "all",
) -> Votes:
    """Votes from equally long columns. A row without a label is no vote, but its item stays.

    ``told`` marks rows without a label that the caller's own notes are about; ``without`` is what one switches on to
    leave annotators out, ``ignore`` what one gives to say which labels are no votes, and ``several`` what one gives to
    say that a list holds several votes: without it, a label that is there twice in a list counts once. ``repeats`` are
    those to keep of several votes by one annotator on one item.
    """
    items, labels = as_column("items", items), as_column("labels", labels)
    annotators = None if annotators is None else as_column("annotators", annotators)
    same_length(items=items, labels=labels, **({} if annotators is None else {"annotators": annotators}))
    names = None if classes is None else check_classes(classes)

    items = _id_column("item", items, place)
    grouped, (codes, names, sets), (who, who_ids) = side_by_side(
        lambda: Grouped.of(items),
        lambda: _label_codes(labels, names, place, ignore, several),
        lambda: _annotator_codes(annotators, place),
    )
    item = np.repeat(np.arange(len(grouped.sizes), dtype=np.int32), grouped.sizes)
    order, per_item, skipped = grouped.order, grouped.sizes, np.empty(0, np.int64)
    voted = codes >= 0
    if not voted.all():
        kept = voted[order]
        per_item = np.bincount(item[kept], minlength=len(per_item))
        skipped = order[~kept & (per_item[item] > 0)]
        skipped = skipped if told is None else skipped[~told[skipped]]
        item, order = item[kept], order[kept]
        who, who_ids = _of_votes(who, who_ids, voted)
    if who is not None and who.min(initial=0) < 0 and (missing := (who < 0) & voted).any():
        _refuse_some_missing(missing, voted, place, without)
        who, who_ids = None, None  # a column in which nobody is named
    people = [] if who_ids is None else who_ids.tolist()
    codes, (who, again), (item_ids, odd_names) = side_by_side(
        lambda: codes.astype(code_dtype(len(names) if sets is None else len(sets)))[order],
        lambda: (None, None) if who is None else _with_repeats(item, who[order], codes, order),
        lambda: _item_ids(items.gather(grouped.first), people),
    )
    told_again = [] if again is None else [again.told(repeats, _by(again.first, item, who, item_ids, who_ids))]
    if repeats != "all" and who is None:
        raise InputError(f"repeats={repeats!r} is of votes by one annotator, but the votes do not say who cast them.")
    if repeats != "all" and again is not None:
        kept = again.kept(repeats)
        codes, who, per_item = codes[kept], who[kept], np.bincount(item[kept], minlength=len(per_item))
    if ordered and classes is None:
        _refuse_unknown_order(names)
    odd = odd_classes(names) if classes is None else []  # those that somebody named are meant
    return Votes(
        codes=codes,
        offsets=offsets_of(per_item),
        items=item_ids,
        classes=names,
        ordered=ordered,
        label_sets=sets,
        annotators=who,
        annotator_names=who_ids,
        notes=(
            *_unlabelled(skipped, place),
            *told_again,
            *without_votes(per_item, item_ids),
            *odd,
            *odd_names,
        ),
    )


def side_by_side(*work: Callable[[], Any]) -> list[Any]:
    """The results of functions that run in threads; NumPy and Polars let go of the interpreter while they work."""
    with ThreadPoolExecutor(len(work)) as pool:
        return [running.result() for running in [pool.submit(function) for function in work]]


def _refuse_some_missing(
    missing: NDArray[np.bool_], voted: NDArray[np.bool_], place: Place, without: Sequence[str]
) -> None:
    """An error for annotators that are missing, unless all are."""
    if (n := missing.sum()) < voted.sum():
        raise InputError(
            f"{place(int(missing.argmax()))}: the annotator is missing{f' (as of {n} votes)' if n > 1 else ''}. Fill "
            f"it in or, since votes need none, leave all annotators out{'' if without else '.'}",
            switch_on=without,
        )


# -- what is odd, in words


def _unlabelled(rows: NDArray[np.int64], place: Place) -> list[str]:
    """Of items that have other votes; the others are told of as items without votes."""
    told = "1 row has no label and is no vote" if len(rows) == 1 else f"{len(rows)} rows have no label and are no votes"
    return [f"{told} (first: {place(int(rows.min()))})."] if len(rows) else []


def _with_repeats(
    item: NDArray[np.int32], who: NDArray[np.int32], codes: NDArray[np.int32], order: NDArray[np.int64]
) -> tuple[NDArray[np.int32], Repeats | None]:
    return who, Repeats.of(item, who, lambda rows: codes[order[rows]])


def _by(vote: int, item: NDArray[np.int32], who: NDArray[np.int32], item_ids: Ids, who_ids: Ids) -> str:
    return f"{who_ids[who[vote]].item()!r} on {item_ids[item[vote]].item()!r}"


def without_votes(per_item: NDArray[np.int64], item_ids: Ids) -> list[str]:
    """A note on items without votes, if there are any."""
    empty = np.flatnonzero(per_item == 0)
    told = f"{many(empty.size, 'item')} {'has' if empty.size == 1 else 'have'} no votes"
    return [f"{told} (first: {item_ids[empty[0]].item()!r})."] if empty.size else []


# -- columns


def as_column(name: str, values: Any) -> pl.Series:
    """``values`` as a Polars column of one kind."""
    if isinstance(values, pl.Series):
        return values
    if isinstance(values, str):
        raise InputError(f"{name} must be a column of values, but it is the text {values!r}.")
    if len(shape := tuple(getattr(values, "shape", (0,)))) != 1:
        raise InputError(f"{name} must have the shape (votes,), but its shape is {shape}.")
    if isinstance(values, np.ndarray):
        if values.dtype.kind != "O":
            return pl.Series(name, values.astype(np.str_) if values.dtype.kind == "T" else values)
    elif hasattr(values, "dtype") or hasattr(values, "__arrow_c_stream__") or hasattr(values, "__arrow_c_array__"):
        # columns of pandas, of Arrow, and tensors: at once, which takes a tenth of the time of value by value
        with suppress(Exception):  # of many kinds, and what is wrong with the values is told below
            return pl.Series(name, values, strict=True)
        values = values.tolist() if hasattr(values, "tolist") else values
    # NaN, of any kind of column, is how pandas says that there is nothing
    values = [None if isinstance(value, float) and value != value else value for value in values]
    several = [isinstance(value, (list, tuple, set, frozenset, np.ndarray)) for value in values if value is not None]
    if several and all(several):
        values = [None if value is None else list(value) for value in values]
    try:
        column = pl.Series(name, values, strict=True)
    except (TypeError, OverflowError, pl.exceptions.PolarsError):
        if all(isinstance(value, (int, float)) or value is None for value in values):
            return pl.Series(name, values, dtype=pl.Float64, strict=False)
        raise InputError(f"{name} must be of one kind, but {_odd_pair(values)}. Turn them into one kind.") from None
    if column.dtype == pl.Object:
        raise InputError(f"{name} must be of one kind, but {_odd_pair(values)}. Turn them into one kind.")
    return column


def _odd_pair(values: list[Any]) -> str:
    """The first value and the first of another type, in words."""
    told = [(position, value) for position, value in enumerate(values) if value is not None]
    flat = [(position, one) for position, value in told for one in (value if isinstance(value, list) else [value])]
    first, one = flat[0]
    for position, other in flat:
        if type(other) is not type(one):
            return f"position {first} is {one!r} and position {position} is {other!r}"
    return f"position {first} is {one!r}, which is neither text nor a number"


def as_text(column: pl.Series) -> pl.Series:
    """A column of named categories as plain text; any other column as it is."""
    return column.cast(pl.String) if isinstance(column.dtype, (pl.Categorical, pl.Enum)) else column


# -- whole numbers for values


@dataclass(frozen=True)
class Grouped:
    """The rows of a column with equal values side by side, groups in the order in which they first appear."""

    order: NDArray[np.int64]  # (rows,) positions; those of a group ascend
    sizes: NDArray[np.int64]  # (groups,)
    first: NDArray[np.int64]  # (groups,) where each first appears

    @classmethod
    def of(cls, column: pl.Series) -> Grouped:
        """
        >>> Grouped.of(pl.Series(["b", "a", "b"])).order
        array([0, 2, 1])
        """
        return cls._by_number(column) if _close_together(column) else cls._by_hash(column)

    @classmethod
    def _by_hash(cls, column: pl.Series) -> Grouped:
        """Equal values have equal hashes, so one sort of hashes brings them together: 10^7 text ids in a second.

        Values count as equal if 64 bits of one hash and at least 32 of another are. Among a billion different ones
        the chance that any two are taken for the same is below 10^-11.
        """
        order, coarse = _sorted_with_position(column.hash(seed=1).to_numpy())
        fine = column.hash(seed=2).to_numpy()[order]
        same = coarse[1:] == coarse[:-1]
        mixed = np.unique(coarse[1:][same & (fine[1:] != fine[:-1])])
        for low, high in zip(np.searchsorted(coarse, mixed), np.searchsorted(coarse, mixed, "right"), strict=True):
            again = low + np.argsort(fine[low:high], kind="stable")
            order[low:high], fine[low:high] = order[again], fine[again]
        starts, sizes = _runs(same & (fine[1:] == fine[:-1]), len(order))
        appeared = np.argsort(order[starts])
        starts, sizes = starts[appeared], sizes[appeared]
        return cls(order=order[ranges(starts, sizes)], sizes=sizes, first=order[starts])

    @classmethod
    def _by_number(cls, column: pl.Series) -> Grouped:
        """For numbers that lie close together a table of where each first appears makes groups, already in order."""
        values, low, high = _from_zero(column)
        position = np.int32 if len(values) < 1 << 31 else np.int64
        first = np.empty(high - low + 1, position)
        # the last assignment stays, which is that of the earliest position
        first[values[::-1]] = np.arange(len(values) - 1, -1, -1, dtype=position)
        group = first[values]
        if (group[1:] >= group[:-1]).all():
            order, key = np.arange(len(group)), group
        else:
            order, key = _sorted_with_position(group)
        starts, sizes = _runs(key[1:] == key[:-1], len(key))
        return cls(order=order, sizes=sizes, first=order[starts])


def numbered(column: pl.Series) -> tuple[NDArray[np.int32], pl.Series]:
    """Numbers for the values of a column, -1 for none, and what values they stand for.

    >>> codes, values = numbered(pl.Series(["b", None, "a", "b"]))
    >>> codes, values.to_list()
    (array([ 0, -1,  1,  0], dtype=int32), ['b', 'a'])
    """
    if column.null_count():
        codes = np.full(len(column), -1, np.int32)
        codes[column.is_not_null().to_numpy()], values = numbered(column.drop_nulls())
        return codes, values
    if _close_together(column):
        return _numbered_in_order(column)
    if column.dtype == pl.String:  # few values here (classes, annotators), for which this beats the sort of Grouped
        values = column.unique(maintain_order=True)
        return column.cast(pl.Enum(values)).to_physical().cast(pl.Int32).to_numpy(), values
    grouped = Grouped.of(column)
    codes = np.empty(len(column), np.int32)
    codes[grouped.order] = np.repeat(np.arange(len(grouped.sizes), dtype=np.int32), grouped.sizes)
    return codes, column.gather(grouped.first)


def _numbered_in_order(column: pl.Series) -> tuple[NDArray[np.int32], pl.Series]:
    """The same for numbers that lie close together, in numeric order."""
    values, low, high = _from_zero(column)
    seen = np.zeros(high - low + 1, bool)
    seen[values] = True
    names = np.flatnonzero(seen).astype(column.head(0).to_numpy().dtype)
    names += names.dtype.type(low)  # what overflows in a small type comes back here
    codes = values.astype(np.int32) if seen.all() else (np.cumsum(seen, dtype=np.int32) - 1)[values]
    return codes, pl.Series(names)


def _close_together(column: pl.Series) -> bool:
    """Whether the column holds whole numbers for which a table of all values up to the largest is quickest."""
    if len(column) == 0 or not column.dtype.is_integer():
        return False
    return int(column.max()) - int(column.min()) < 4 * len(column) + 1024  # type: ignore[arg-type]


def _from_zero(column: pl.Series) -> tuple[NDArray[Any], int, int]:
    """Whole numbers less the lowest, the lowest and the highest."""
    low, high = int(column.min()), int(column.max())  # type: ignore[arg-type]
    values = column.to_numpy()
    values = values if values.dtype.itemsize == 8 else values.astype(np.int64)  # 100 - (-100) is too much for int8
    return values - low if low else values, low, high


def _runs(same: NDArray[np.bool_], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where runs start and how long they are; ``same`` says of all rows but the first whether they are as the last."""
    starts = np.flatnonzero(~same) + 1
    starts = np.concatenate([np.zeros(min(size, 1), np.int64), starts])
    return starts, np.diff(starts, append=size)


def _sorted_with_position(keys: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """A stable ``argsort`` by the leading bits of ``keys``, and these bits, sorted.

    Key and position are sorted as one 64-bit number, five times as fast as ``np.argsort``: NumPy sorts plain numbers
    with vector instructions. Keys lose their lowest bits where the position needs them.

    >>> _sorted_with_position(np.array([2, 0, 2, 1]))[0]
    array([1, 3, 0, 2])
    """
    position = np.arange(len(keys), dtype=np.uint64)
    mask = np.uint64((1 << len(keys).bit_length()) - 1)
    packed = keys.astype(np.uint64)
    packed <<= np.uint64(64 - int(keys.max(initial=1)).bit_length())  # leading bits first
    packed &= ~mask
    packed |= position
    packed.sort()
    np.bitwise_and(packed, mask, out=position)
    packed &= ~mask
    return position.view(np.int64), packed


# -- ids


def _id_column(what: str, column: pl.Series, place: Place) -> pl.Series:
    """A column of whole numbers or text without gaps; floating-point numbers that are whole are such numbers."""
    column = as_text(column)
    if column.null_count():
        raise InputError(
            f"{place(int(column.is_null().arg_max() or 0))}: the {what} is missing. Fill it in or leave the row out."
        )
    if column.dtype.is_float():
        whole = column.cast(pl.Int64, strict=False)
        wrong = (whole.cast(pl.Float64) != column).fill_null(True)
        if wrong.any():
            row = int(wrong.arg_max() or 0)
            raise InputError(f"{place(row)}: the {what} must be a whole number or text, but it is {column[row]!r}.")
        return whole
    if len(column) and not (column.dtype.is_integer() or column.dtype == pl.String):
        raise InputError(f"{place(0)}: the {what} must be a whole number or text, but it is {column.to_list()[0]!r}.")
    return column


def _item_ids(different: pl.Series, people: list[str | int]) -> tuple[Ids, list[str]]:
    """The ids of items, and what is odd about them or about those of annotators."""
    return _ids("item", different), odd_ids(different, people)


def _ids(what: str, values: pl.Series) -> Ids:
    if values.dtype != pl.String:
        try:
            return values.cast(pl.Int64).to_numpy()
        except pl.exceptions.PolarsError:
            raise InputError(f"the {what} {values.max()!r} does not fit 64 bits; turn these ids into text.") from None
    if values.str.ends_with("\0").any():  # NumPy drops NULs at the end of a text: two ids could become one
        ending = values.filter(values.str.ends_with("\0"))[0]
        raise InputError(f"the {what} {ending!r} ends in a NUL character, which ids cannot.")
    width = max(int(values.str.len_chars().max() or 0), 1)  # type: ignore[arg-type]
    # one long text cut into pieces, three times as fast as by way of Python's strings
    padded = values.str.pad_end(width, "\0").str.join("").item()
    return np.frombuffer(padded.encode("utf-32-le"), dtype=f"<U{width}")


def _annotator_codes(column: pl.Series | None, place: Place) -> tuple[NDArray[np.int32] | None, Ids | None]:
    """Numbers for annotators, -1 where there is none."""
    if column is None:
        return None, None
    column = _without_nan(column)
    known = column.drop_nulls() if column.null_count() else column
    rows = np.flatnonzero(column.is_not_null().to_numpy()) if len(known) < len(column) else None
    known = _id_column("annotator", known, place if rows is None else lambda row: place(int(rows[row])))
    codes, values = _numbered_without_blanks(known)
    if rows is not None:
        spread = np.full(len(column), -1, np.int32)
        spread[rows] = codes
        codes = spread
    return codes, _ids("annotator", values)


def _of_votes(
    who: NDArray[np.int32] | None, who_ids: Ids | None, voted: NDArray[np.bool_]
) -> tuple[NDArray[np.int32] | None, Ids | None]:
    """Annotators renumbered so that those without any vote are gone."""
    if who is None or who_ids is None:
        return None, None
    rows = np.flatnonzero(voted & (who >= 0))
    codes, first = first_appearance(who[rows], len(who_ids))
    spread = np.full(len(who), -1, np.int32)
    spread[rows] = codes
    return spread, who_ids[who[rows][first]]


# -- labels


def _label_codes(
    labels: pl.Series,
    classes: tuple[Class, ...] | None,
    place: Place,
    ignore: Sequence[str],
    several: Sequence[str],
) -> tuple[NDArray[np.int32], tuple[Class, ...], NDArray[np.bool_] | None]:
    if isinstance(labels.dtype, pl.List):
        return _set_codes(labels, classes, place, ignore, several)
    return *_class_codes(labels, classes, place, ignore), None


def _class_codes(
    labels: pl.Series, classes: tuple[Class, ...] | None, place: Place, ignore: Sequence[str]
) -> tuple[NDArray[np.int32], tuple[Class, ...]]:
    """The class index of every label, -1 for none."""
    labels = _without_nan(labels)
    if not (labels.dtype.is_numeric() or labels.dtype in (pl.String, pl.Boolean, pl.Null)):
        row = int(labels.is_not_null().arg_max() or 0)
        raise InputError(f"{place(row)}: a label must be text or a number, but it is {labels[row]!r}.")
    codes, values = _numbered_without_blanks(labels)
    if classes is None:
        if not len(values):
            raise InputError("there are no votes, since no row has a label.")
        classes = check_classes(in_order(_as_whole(values).to_list()))
    index = {name: position for position, name in enumerate(classes)}
    if others := [value for value in values if value not in index]:
        row = int(labels.is_in(others).arg_max() or 0)
        rest = [value for value in others if value != labels[row]]
        more = f" Neither {'is' if len(rest) == 1 else 'are'} {first([*map(repr, rest)])}." if rest else ""
        known = first([*map(repr, classes)])
        mend = " Name all classes or, where this is no vote, ignore it" if ignore else ""
        mend, give = (mended_by_fold(others, classes) if ignore else None) or (mend, ignore)
        raise InputError(
            f"{place(row)}: the label {labels[row]!r} is not one of the classes {known}.{more}{mend}", give=give
        )
    at = [index[value] for value in values]
    if at == list(range(len(at))):  # whole numbers are numbered in order, as classes are
        return codes, classes
    return np.array([*at, -1], np.int32)[codes], classes


def without_blanks(labels: pl.Series) -> pl.Series:
    """Labels or annotators with None for what says nothing: text that is empty or all spaces, NaN.

    >>> without_blanks(pl.Series(["yes", "", "  ", "no "])).to_list()
    ['yes', None, None, 'no ']
    """
    labels = _without_nan(labels)
    if labels.dtype != pl.String:
        return labels
    # a space sorts below "!" or is no ASCII; to ask for that takes a fifth of the time of stripping all, or of unique()
    perhaps = labels.filter((labels < "!") | (labels >= "\x80")).unique()
    blank = perhaps.filter(_blank(perhaps))
    return labels.replace(blank, None) if len(blank) else labels


def _numbered_without_blanks(column: pl.Series) -> tuple[NDArray[np.int32], pl.Series]:
    """As :func:`numbered`, and -1 for text that is empty or all spaces, too: among different values these are few.

    >>> codes, values = _numbered_without_blanks(pl.Series(["b", " ", None, "a", "b"]))
    >>> codes, values.to_list()
    (array([ 0, -1, -1,  1,  0], dtype=int32), ['b', 'a'])
    """
    codes, values = numbered(column)
    if values.dtype != pl.String or not (blank := _blank(values)).any():
        return codes, values
    number = np.where(blank, -1, np.cumsum(~blank) - 1)
    return np.append(number, -1).astype(np.int32)[codes], values.filter(~blank)


def _blank(texts: pl.Series) -> pl.Series:
    return texts.str.strip_chars() == ""


def _without_nan(column: pl.Series) -> pl.Series:
    """Categories as text, and None for NaN."""
    column = as_text(column)
    return column.fill_nan(None) if column.dtype.is_float() else column


def _as_whole(values: pl.Series) -> pl.Series:
    """Whole numbers where all are: pandas makes 1.0 of 1 in a column with a gap."""
    if values.dtype.is_float() and (values == values.round()).all() and values.abs().max() < 2**53:  # type: ignore[operator]
        return values.cast(pl.Int64)
    return values


def in_order(labels: list[Any]) -> list[Any]:
    """Labels in numeric order if all are numbers or read as numbers, else sorted.

    >>> in_order(["10", "9"]), in_order(["10", "9", "a"])
    (['9', '10'], ['10', '9', 'a'])
    """
    try:
        return sorted(labels, key=lambda label: (float(label), str(label)))
    except ValueError:
        return sorted(labels)


def _refuse_unknown_order(names: tuple[Class, ...]) -> None:
    """An error for classes that are no numbers: the order of the alphabet is not that of a scale."""
    try:
        [float(name) for name in names]
    except ValueError:
        told = first([*map(repr, names)])
        raise InputError(
            f"the classes {told} are said to be ordered, but in which order is not known; name them in it",
            give=["classes"],
        ) from None


def _set_codes(
    labels: pl.Series,
    classes: tuple[Class, ...] | None,
    place: Place,
    ignore: Sequence[str],
    several: Sequence[str],
) -> tuple[NDArray[np.int32], tuple[Class, ...], NDArray[np.bool_]]:
    """The row of every vote in a table of label sets, -1 for none, and that table."""
    size = labels.list.len().fill_null(0).to_numpy()
    row = np.repeat(np.arange(len(labels)), size)
    flat = labels.filter(size > 0).explode()
    members, classes = _class_codes(flat, classes, lambda at: place(int(row[at])), ignore)
    row, members = row[members >= 0], members[members >= 0]
    named = np.sort(row * len(classes) + members)
    if several and (again := named[1:] == named[:-1]).any():
        at, name = divmod(int(named[again.argmax()]), len(classes))
        raise InputError(
            f"{place(at)}: the label {classes[name]!r} is there twice, but one vote names a class once. Write it once "
            "or, if these are several votes, say so",
            give=several,
        )
    row, members = np.divmod(np.unique(named), len(classes))
    # a set is written as text, "2,7", and numbered like any other text
    text = pl.DataFrame({"row": row, "member": members}).group_by("row", maintain_order=True)
    written = text.agg(pl.col("member").cast(pl.String).str.join(","))
    keys = np.full(len(labels), "", object)
    keys[written["row"].to_numpy()] = written["member"].to_numpy()
    codes, values = numbered(pl.Series(keys, dtype=pl.String))
    sets = np.zeros((len(values), len(classes)), bool)
    for position, value in enumerate(values):
        sets[position, [int(member) for member in value.split(",") if member]] = True
    codes = codes.copy()
    codes[labels.is_null().to_numpy()] = -1
    return codes, classes, sets
