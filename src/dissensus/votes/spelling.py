"""Labels that are written in several ways and are one: joined where somebody says so, and told of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from dissensus.base.errors import InputError, unknown
from dissensus.base.words import listed, many
from dissensus.votes.ask import Ask
from dissensus.votes.folds import FOLDS, folded
from dissensus.votes.ignored import refuse_unused, said, written
from dissensus.votes.numbers import numbers_or_text
from dissensus.votes.table import Class

NAMED = 10  # ways of writing that a note names


def joined(labels: pl.Series, ask: Ask) -> tuple[pl.Series, Ask, list[str]]:
    """Labels by the names that they shall have, what is asked in these names, and a note that counts them.

    >>> labels, _, notes = joined(pl.Series(["ok", "Ok", "ok ", "fine"]), Ask(rename=(("fine", "ok"),), fold="case"))
    >>> labels.to_list(), notes
    (['ok', 'ok', 'ok', 'ok'], ["3 labels are read as others: 1 'Ok', 1 'fine' and 1 'ok ' as 'ok'."])
    """
    if not (ask.rename or ask.fold):
        return labels, ask, []
    lists = _lists(labels, ask.separator)
    text = said(lists.explode()) if isinstance(lists.dtype, pl.List) else said(lists)
    counted = dict(text.drop_nulls().value_counts(name="times").iter_rows())
    changed = changes(counted, ask)
    if changed:
        labels = _replaced(labels, lists, changed, ask.separator)
    return labels, asked(ask), told(counted, changed)


def _lists(labels: pl.Series, separator: str | None) -> pl.Series:
    return labels.str.split(separator) if separator is not None and labels.dtype == pl.String else labels


def _replaced(labels: pl.Series, lists: pl.Series, changed: Mapping[str, str], separator: str | None) -> pl.Series:
    old, new = list(changed), list(changed.values())
    several = isinstance(lists.dtype, pl.List)
    was = lists.filter(lists.list.len() > 0).explode() if several else labels
    names = said(was).replace(old, new)
    if was.dtype != pl.String:
        names = numbers_or_text(names)
    if not several:
        return names
    lists = _in_lists(names, was, lists)
    return lists.list.join(separator) if separator is not None and labels.dtype == pl.String else lists


def _in_lists(names: pl.Series, was: pl.Series, lists: pl.Series) -> pl.Series:
    """The names in the lists in which the labels were; two of one list that are one now are there once."""
    sizes = lists.list.len().fill_null(0).to_numpy()
    found = (
        pl.DataFrame({"row": np.repeat(np.arange(len(lists)), sizes), "name": names, "was": was})
        .group_by("row", maintain_order=True)
        .agg(
            pl.col("name").unique(maintain_order=True).alias("once"),
            pl.col("name"),
            pl.col("was").is_duplicated().any().alias("twice"),  # in the file, which is no matter of names
        )
        .select(pl.when("twice").then("name").otherwise("once"))
        .to_series()
    )
    there = pl.Series(sizes > 0)
    at = pl.select(pl.when(there).then(there.cast(pl.Int64).cum_sum() - 1)).to_series()
    empty = lists.list.head(0).cast(found.dtype)
    return pl.select(pl.when(there).then(found.gather(at)).otherwise(empty)).to_series()


def joined_label(label: Any, changed: Mapping[str, str], separator: str | None) -> Any:
    """One label, or the list or the text that several are in, with the names they shall have.

    >>> joined_label(["Ok", "new"], {"Ok": "ok"}, None), joined_label("Ok,new", {"Ok": "ok"}, ",")
    (['ok', 'new'], 'ok,new')
    """
    if not changed or label is None:
        return label
    if isinstance(label, list):
        return [joined_label(one, changed, None) for one in label]
    parts = label.split(separator) if isinstance(label, str) and separator is not None else [written(label)]
    return (separator or "").join(changed.get(part, part) for part in parts)


def counts_of(labels: Iterable[Any], separator: str | None) -> dict[str, int]:
    """How often each label is there, in writing."""
    several = (label if isinstance(label, list) else [label] for label in labels if label is not None)
    flat = (one for label in several for one in label)
    parts = (one.split(separator) if isinstance(one, str) and separator is not None else [written(one)] for one in flat)
    return dict(Counter(part for one in parts for part in one))


def changes(counted: Mapping[str, int], ask: Ask) -> dict[str, str]:
    """The names that labels shall have, of those for which that is another.

    Of what is written in several ways, the one that somebody names stays, or else the one that is there most often.
    """
    given = {folded(written(old), ask.fold): written(new) for old, new in ask.rename}
    there = {folded(name, ask.fold) for name in counted}
    unused = [old for old, _ in ask.rename if folded(written(old), ask.fold) not in there]
    refuse_unused(unused, pl.Series(list(counted), dtype=pl.String), "renamed")
    names = {old: given.get(folded(old, ask.fold), old) for old in counted if old.strip()}
    if ask.fold is not None:
        stays = {**_most(names, counted, ask.fold), **_named(ask)}
        names = {old: stays[folded(new, ask.fold)] for old, new in names.items()}
    return {old: new for old, new in names.items() if old != new}


def _most(names: Mapping[str, str], counted: Mapping[str, int], fold: str) -> dict[str, str]:
    """By what they have in common, the way of writing that is there most often, or the first by the alphabet."""
    times: Counter[str] = Counter()
    for old, new in names.items():
        times[folded(new, "spaces")] += counted[old]
    most: dict[str, str] = {}
    for name in sorted(times, key=lambda name: (-times[name], name)):
        most.setdefault(folded(name, fold), name)
    return most


def _named(ask: Ask) -> dict[str, str]:
    """By what they have in common, the names that the caller uses; those of classes before others."""
    classes = [written(name) for name in ask.classes or ()]
    found: dict[str, str] = {}
    for name in classes:
        if (first := found.setdefault(folded(name, ask.fold), name)) != name:
            raise InputError(f"the classes {first!r} and {name!r} would be one by fold={ask.fold!r}; name one of them.")
    for other in (*(new for _, new in ask.rename), *ask.ignore):
        found.setdefault(folded(written(other), ask.fold), written(other))
    return found


def asked(ask: Ask) -> Ask:
    """What is to be ignored by the names that stay, each once."""
    if ask.fold is None:
        return ask
    names = _named(ask)
    return replace(ask, ignore=tuple(dict.fromkeys(names[folded(written(name), ask.fold)] for name in ask.ignore)))


def classes_of(names: Sequence[Class], ask: Ask) -> list[Class]:
    """Classes that are known beforehand by the names that they shall have, without those to ignore.

    >>> classes_of(["yes", "Yes", "no", 99], Ask(fold="case", ignore=("99",)))
    ['yes', 'no']
    """
    given = {folded(written(old), ask.fold): new for old, new in ask.rename}
    ignored = {folded(written(name), ask.fold) for name in ask.ignore}
    stay: dict[str, Class] = {}
    for old in names:
        new = given.get(folded(written(old), ask.fold), old)
        stay.setdefault(folded(written(new), ask.fold), new)
    return [name for plain, name in stay.items() if plain not in ignored]


def told(counted: Mapping[str, int], changed: Mapping[str, str]) -> list[str]:
    """How many labels are read as others, and which.

    >>> told({"Ok": 52, "ok": 1900, "ok ": 27, "Mild": 3}, {"Ok": "ok", "ok ": "ok", "Mild": "mild"})
    ["82 labels are read as others: 52 'Ok' and 27 'ok ' as 'ok'; 3 'Mild' as 'mild'."]
    """
    if not changed:
        return []
    ways: dict[str, list[str]] = {}
    for old in sorted(changed, key=lambda old: (-counted[old], old))[:NAMED]:
        ways.setdefault(changed[old], []).append(f"{counted[old]:,} {old!r}")
    parts = [f"{listed(olds)} as {new!r}" for new, olds in ways.items()]
    parts += [f"and {many(len(changed) - NAMED, 'other way')} of writing"] if len(changed) > NAMED else []
    n = sum(counted[old] for old in changed)
    return [f"{'1 label is read as another' if n == 1 else f'{n:,} labels are read as others'}: {'; '.join(parts)}."]


def asked_for(rename: Mapping[Class, Class] | None, fold: str | None) -> tuple[tuple[Class, Class], ...]:
    """The names that labels shall have, in pairs, or an error for what says no such thing."""
    if fold is not None and fold not in FOLDS:
        raise InputError(unknown("way to fold labels", fold, FOLDS) + ".")
    if rename is not None and not isinstance(rename, Mapping):
        raise InputError(f'rename takes labels and their names, such as {{"Ok": "ok"}}, but {rename!r} was given.')
    pairs = tuple((rename or {}).items())
    for old, new in pairs:
        if not written(new).strip():
            raise InputError(f"{old!r} shall be renamed, but its name would be empty; to leave it out, ignore it.")
    return pairs
