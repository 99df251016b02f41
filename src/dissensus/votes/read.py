"""Votes from files and data frames: one reader a layout, recognised by what it holds."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dissensus.base.errors import InputError, unknown
from dissensus.base.words import first
from dissensus.votes import (
    argilla,
    chaosnli,
    cifar10h,
    counts,
    doccano,
    label_studio,
    lists,
    long,
    mturk,
    nested,
    prodigy,
    sagemaker,
    saved,
    toloka,
    wide,
)
from dissensus.votes.ask import ITEM, Ask, refuse_given, refuse_padded
from dissensus.votes.repeats import check_repeats
from dissensus.votes.source import Arrays, Document, Folder, Source, Table, TextTable, TypedTable, open_source, table_of
from dissensus.votes.spelling import asked_for, classes_of
from dissensus.votes.table import Class, Votes, check_classes


@dataclass(frozen=True)
class Reader:
    """A layout: whether a source has it, and the votes in such a source."""

    shape: str  # in words, for messages
    fits: Callable[[Source, Ask], bool]
    read: Callable[[Source, Ask], Votes]
    sources: tuple[type[Source], ...]
    export: bool = False  # known by marks of its own, and so never taken for a plain table
    counted: bool = False  # how many votes each class has, or the like: no labels that could be ignored


READERS = {
    "long": Reader("a row a vote", long.fits, long.read, (Table,)),
    "wide": Reader("a row an item, a column an annotator", wide.fits, wide.read, (Table,)),
    "counts": Reader("a row an item, a column a class", counts.fits, counts.read, (Table, Arrays), counted=True),
    "lists": Reader("a row an item, its votes in a list", lists.fits, lists.read, (Table,)),
    "nested": Reader("JSON, an entry an item: {item: {annotator: label}}", nested.fits, nested.read, (Document,)),
    "saved": Reader("written by votes.save", saved.fits, saved.read, (Arrays,), export=True),
    "label-studio": Reader(
        "Label Studio's JSON, JSON-MIN or CSV", label_studio.fits, label_studio.read, (Document, Table), export=True
    ),
    "prodigy": Reader("Prodigy's JSON Lines", prodigy.fits, prodigy.read, (TypedTable,), export=True),
    "argilla": Reader("records of Argilla", argilla.fits, argilla.read, (Document, TypedTable), export=True),
    "doccano": Reader(
        "doccano's files, one an annotator", doccano.fits, doccano.read, (Folder, TypedTable), export=True
    ),
    "sagemaker": Reader(
        "a manifest or the responses of workers of SageMaker Ground Truth",
        sagemaker.fits,
        sagemaker.read,
        (Document, TypedTable, Folder),
        export=True,
    ),
    "mturk": Reader("a batch file of Mechanical Turk", mturk.fits, mturk.read, (Table,), export=True),
    "toloka": Reader("an assignments file of Toloka", toloka.fits, toloka.read, (Table,), export=True),
    "chaosnli": Reader("ChaosNLI's counts", chaosnli.fits, chaosnli.read, (TypedTable,), export=True, counted=True),
    "cifar10h": Reader("CIFAR-10H's raw answers", cifar10h.fits, cifar10h.read, (Table,), export=True),
}


def read_votes(
    source: str | os.PathLike[str] | Any,
    *,
    item: str | None = None,
    annotator: str | None = None,
    annotators: Sequence[str] | None = None,
    label: str | None = None,
    classes: Sequence[Class] | None = None,
    ordered: bool = False,
    separator: str | None = None,
    delimiter: str | None = None,
    layout: str | None = None,
    anonymous: bool = False,
    ignore: Sequence[Class] | None = None,
    without: Sequence[str | int] | None = None,
    rename: Mapping[Class, Class] | None = None,
    fold: str | None = None,
    repeats: str = "all",
) -> Votes:
    """Votes from a file (CSV, TSV, JSON, JSON Lines, Parquet, Arrow, npy, npz) or a data frame (Polars, pandas, Arrow).

    Three layouts are known, and recognised: a *long* table, one row a vote, with the columns ``item`` (or ``task``),
    ``label`` and, where known, ``annotator`` (or ``worker``), or others named by keyword; a *wide* table, a row an
    item and a column an annotator, the first column being ``item``; and *counts*, a row an item and a column a class.
    Where two fit, ``layout`` has to say which. ``annotators`` are the columns of a wide table that hold votes, if not
    all do.

    Exports of Label Studio, Prodigy, Argilla, doccano (a folder or zip, a file an annotator), SageMaker Ground Truth (a
    manifest, or the folder of workers' responses), Mechanical Turk and Toloka are recognised, too, as are ChaosNLI's
    files, CIFAR-10H's raw answers, and JSON objects of the shape ``{item: {annotator: label}}`` with text labels
    (numbers: ``layout="nested"``). Cancelled, rejected, drafted and skipped answers are no votes; where Prodigy asks
    yes or no, a rejection is one. Where a project asks for several things, ``label`` says for which; ``item`` may name
    another id than the tool's.

    Without ``classes`` they are put in numeric order if all are numbers, else sorted; if they are ``ordered`` and no
    numbers, they have to be named. A vote may name several classes: as a list in JSON Lines, Parquet and frames, or as
    text that is cut at ``separator``. Columns of text are cut at ``delimiter``, which is seen in the header. Rows
    without a label are no votes, though their items stay; what was left out or is odd stands in ``notes``. Either all
    votes have an annotator or none: if some are missing, or should not be known, ``anonymous`` leaves all of them out.
    Answers such as "don't know" or 99 are no votes either, if ``ignore`` lists them: they are left out and counted. So
    are the votes by annotators that ``without`` lists; :func:`~dissensus.votes.by_annotator` says who is odd. Labels
    are read as they are written, unless ``rename={"okay": "ok"}`` gives them other names, or ``fold`` makes those one
    that differ in ``"spaces"`` alone, at the ends or how many within, or in capitals, too, by ``"case"``: the way of
    writing that is named in ``classes`` stays, or else the one that is there most often. Of several votes by one
    annotator on one item ``repeats`` keeps ``"all"``, the ``"first"`` or the ``"last"`` of the file, or one for each
    class, ``"distinct"``.

    Where a row is an item and a list in its column ``labels`` holds all votes, ``layout="lists"`` has to be said. A
    list ``annotators``, in the same order, may stand beside it. Text will do, too: cut at a comma, a semicolon, ``|``
    or the ``separator``, or a list as JSON or Python write it. Where both columns look so, nothing is guessed: the
    layout is asked for.

    >>> import polars as pl
    >>> read_votes(pl.DataFrame({"item": ["a", "a", "b"], "label": ["yes", "no", "no"]})).counts()
    array([[1, 1],
           [1, 0]])
    """
    names = None if classes is None else check_classes(classes)
    if separator == "":
        raise InputError("a separator stands between the labels of one vote, but an empty one was given.")
    ask = Ask(
        item=item,
        annotator=annotator,
        annotators=_columns(annotators),
        label=label,
        classes=names,
        ordered=ordered,
        separator=separator,
        anonymous=anonymous,
        ignore=_listed("ignore", "labels", ignore),
        without=_listed("without", "annotators", without),
        rename=asked_for(rename, fold),
        fold=fold,
        repeats=check_repeats(repeats),
    )
    if anonymous and repeats != "all":
        raise InputError(f"repeats={repeats!r} is of votes by one annotator, but annotators are left out.")
    if anonymous and not without:
        refuse_given(ask, ["annotator"], "annotators are left out")
    opened = open_source(source, delimiter)
    _refuse_empty(opened)
    _refuse_columns(opened, ask, layout)
    opened = _records_as_table(opened, ask, layout)
    if isinstance(opened, Table):
        refuse_padded(opened, ask)
    reader = _choose(opened, ask, layout)
    if reader.counted:
        _refuse_of_counted(opened, ask, reader)
    try:
        votes = reader.read(opened, _with_what_the_file_says(opened, ask))
        return replace(votes, annotators=None, annotator_names=None) if anonymous else votes
    except InputError as why:
        if opened.name not in str(why):
            why.args = (f"{opened.name}: {why.args[0]}",)
        raise


def _refuse_empty(source: Source) -> None:
    content = source.content if isinstance(source, Document) else None
    if content in ([], {}) or (isinstance(content, list) and all(entry in ([], {}) for entry in content)):
        raise InputError(
            f"{source.name} is an empty JSON document: there are no votes in it. An object a vote was expected, such "
            'as {"item": "a", "annotator": "ann", "label": "yes"}.'
        )
    if isinstance(source, Table) and not source.columns:
        raise InputError(
            f"{source.name} has no columns, and so no votes in it. Rows with an item and a label were expected, and "
            "with an annotator where they are known."
        )


def _refuse_columns(source: Source, ask: Ask, layout: str | None) -> None:
    """An error for a table in JSON by its columns, as pandas writes it if records are not asked for."""
    content = source.content if isinstance(source, Document) else None
    if not isinstance(content, dict) or (layout in READERS and Document in READERS[layout].sources):
        return
    if any(one.export and one.fits(source, ask) for one in READERS.values()):
        return  # Argilla's are written so, too
    columns, names = [*content.values()], first([*content])
    records = 'have it write records: to_dict("records"), or to_json(..., orient="records")'
    if all(isinstance(column, list) and not any(isinstance(cell, dict) for cell in column) for column in columns):
        raise InputError(
            f"{source.name} is one JSON object of lists ({names}), but an object a row was expected. If pandas wrote "
            f"it, {records}. If a list holds all votes on an item, write an object for each, such as "
            '{"item": "a", "labels": ["yes", "no"]}, and the layout is "lists".'
        )
    rows = [[*column] for column in columns if isinstance(column, dict)]
    usual = any(name.lower() in ITEM for name in content)
    if usual and len(columns) > 1 and len(rows) == len(columns) and all(keys == rows[0] for keys in rows):
        raise InputError(
            f"{source.name} is one JSON object with an object for each of {names}, all with the same keys: columns, as "
            f"pandas writes them, but an object a row was expected. If so, {records}. If it is {{item: {{annotator: "
            "label}}, say so",
            give=['layout="nested"'],
        )


def _records_as_table(source: Source, ask: Ask, layout: str | None) -> Source:
    """A list of flat JSON objects as the table that it is, unless a reader knows the document by its own marks."""
    if not isinstance(source, Document) or (layout in READERS and Document in READERS[layout].sources):
        return source
    if layout is None and any(Document in one.sources and one.fits(source, ask) for one in READERS.values()):
        return source
    return table_of(source) or source


def _refuse_of_counted(source: Source, ask: Ask, reader: Reader) -> None:
    """An error for what is asked of single votes, if these are not there any more."""
    counted = f"{source.name} holds votes that are counted ({reader.shape}), so "
    if ask.ignore:
        raise InputError(f"{counted}{ask.ignore[0]!r} cannot be ignored; leave that class out of the file.")
    if ask.without:
        raise InputError(f"{counted}those by {ask.without[0]!r} cannot be left out: who cast them is not known.")
    if ask.rename or ask.fold:
        raise InputError(f"{counted}classes cannot be joined; add their counts in the file.")
    if ask.repeats != "all":
        raise InputError(f"{counted}repeats={ask.repeats!r} has no votes of one annotator to choose among.")


def _columns(annotators: Sequence[str] | None) -> tuple[str, ...] | None:
    if isinstance(annotators, str):
        raise InputError(f"annotators are names of columns, several of them, but the text {annotators!r} was given.")
    if annotators is not None and not len(annotators):
        raise InputError("annotators are names of columns, but none was given.")
    return None if annotators is None else tuple(annotators)


def _listed(keyword: str, what: str, given: Sequence[Any] | None) -> tuple[Any, ...]:
    if isinstance(given, str):
        raise InputError(f"{keyword} takes a list of {what}, such as [{given!r}], but the text {given!r} was given.")
    return tuple(given or ())


def _choose(source: Source, ask: Ask, layout: str | None) -> Reader:
    if ask.annotators is not None:
        refuse_given(ask, ["annotator", "label"], "the columns of annotators hold the votes")
        if layout not in (None, "wide"):
            raise InputError(f'annotators name the columns of a wide table, but the layout is said to be "{layout}".')
        layout = "wide"
    if layout is not None:
        if layout not in READERS:
            raise InputError(unknown("layout", layout, READERS) + ".")
        reader = READERS[layout]
        if not isinstance(source, reader.sources) or (reader.export and not reader.fits(source, ask)):
            raise InputError(f'{source.name} cannot be read as "{layout}" ({reader.shape}).')
        return reader
    fitting = [name for name, reader in READERS.items() if reader.export and reader.fits(source, ask)]
    fitting = fitting or [name for name, reader in READERS.items() if not reader.export and reader.fits(source, ask)]
    if len(fitting) == 1:
        return READERS[fitting[0]]
    if fitting:
        told = " or ".join(f'"{name}" ({READERS[name].shape})' for name in fitting)
        raise InputError(f"{source.name} can be read in two ways, as {told}; say which", give=["layout"])
    if isinstance(source, Folder):
        raise _unknown_folder(source)
    if isinstance(source, Document):
        raise InputError(
            f"{source.name} is one JSON document of a shape that is not known here; write one object a line (JSON "
            'Lines) or hand over a data frame. If it is {item: {annotator: label}}, say "nested"',
            give=["layout"],
        )
    columns = f" Its columns are {first(source.columns)}." if isinstance(source, Table) else ""
    if isinstance(source, TextTable) and source.begins_with_a_row():
        columns += " These are in rows below, too; if they are no names, write a line of names above."
    if isinstance(source, TypedTable) and (held := source.lists()):
        columns += f' In {held[0]!r} are lists: where these hold all votes on an item, the layout is "lists".'
    raise InputError(
        f"{source.name} has no layout of votes that is known here.{columns} If a row is an item and a column an "
        "annotator, name the column of the items; if a row is a vote, name that of the labels as well, and that of the "
        "annotators if there is one:",
        give=["item", "label", "annotator"],
    )


def _unknown_folder(source: Folder) -> InputError:
    what, mend = ("a zip archive", "unpack it and name") if source.zipped else ("a directory", "name")
    held = f"It holds {first(source.files, most=5)}." if source.files else "It holds no files."
    return InputError(
        f"{source.path} is {what}, but a file of votes was expected. {held} Of folders and zips, those of doccano are "
        "read (one .jsonl file an annotator), and the responses of workers of SageMaker Ground Truth; else "
        f"{mend} the file in it."
    )


def _with_what_the_file_says(source: Source, ask: Ask) -> Ask:
    """Classes and their order as ``votes.write`` put them into a Parquet file, unless the caller says otherwise."""
    if not isinstance(source, Table) or "dissensus" not in source.about or ask.classes is not None:
        return ask
    told = json.loads(source.about["dissensus"])
    return replace(
        ask,
        classes=check_classes(classes_of(told["classes"], ask)),
        ordered=told["ordered"] or ask.ordered,
    )
