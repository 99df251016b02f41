"""``dissensus votes``: what is in a votes file."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from dissensus.base.words import many, shown
from dissensus.cli import options
from dissensus.cli.given import comma_separated, refuse_place, renames
from dissensus.cli.odd import show_annotators
from dissensus.cli.reading import as_option, with_options
from dissensus.cli.tables import show_table
from dissensus.cli.telling import out, print_json, tell_notes

if TYPE_CHECKING:
    from dissensus.votes import Votes
    from dissensus.votes.summary import Summary

SHOWN = 10  # classes, those with most votes
EXAMPLES = (
    "Examples: [bold]dissensus votes labels.csv --item task --annotator worker --label answer[/bold]; "
    "[bold]dissensus votes export.csv --ignore unsure --fold case --without F-07,ivan[/bold]"
)


def votes(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, JSON, JSONL, Parquet, Arrow, npy or npz; exports of Label Studio, Prodigy, Argilla, "
            "doccano (a zip or folder), SageMaker Ground Truth, MTurk and Toloka.",
        ),
    ],
    item: Annotated[str | None, typer.Option(help="The column with the items.")] = None,
    annotator: Annotated[str | None, typer.Option(help="The column with the annotators.")] = None,
    annotators: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="The columns that hold votes, where a row is an item; by default all."),
    ] = None,
    label: Annotated[str | None, typer.Option(help="The column with the labels; of an export, the question.")] = None,
    classes: Annotated[str | None, typer.Option(metavar="A,B,...", help="All classes, in their order.")] = None,
    ordered: Annotated[bool, typer.Option("--ordered", help="The classes are ordered, as ratings are.")] = False,
    layout: Annotated[
        str | None,
        typer.Option(
            help="long, wide or counts, where a file can be read in two ways; lists: a row is an item, and a list in "
            "it holds its votes; nested: {item: {annotator: label}}."
        ),
    ] = None,
    separator: Annotated[
        str | None, typer.Option(help="What stands between the labels of one multi-label vote, or of a list of votes.")
    ] = None,
    delimiter: Annotated[
        str | None, typer.Option(help="What stands between columns, where a header can be cut in two ways.")
    ] = None,
    anonymous: Annotated[
        bool, typer.Option("--anonymous", help="Leave all annotators out, as where some of them are missing.")
    ] = False,
    ignore: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Labels that are no votes, such as 'unsure,99': left out and counted."),
    ] = None,
    without: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Annotators whose votes are left out, and counted, such as F-07,ivan."),
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option(metavar="OLD=NEW", help="Read one label as another, such as okay=ok. Give it again for others."),
    ] = None,
    fold: Annotated[
        str | None,
        typer.Option(
            metavar="spaces|case",
            help="Join labels that differ in spaces alone; case: or in capitals, too.",
        ),
    ] = None,
    repeats: Annotated[
        str,
        typer.Option(
            metavar="all|first|last|distinct",
            help="Of several votes by one annotator on an item keep all, the first, the last, or one for each class.",
        ),
    ] = "all",
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="KEY=VALUE", help="Any of these as compare is told, such as item=task."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", help="Write the votes: .parquet, .csv, .tsv, .jsonl or .npz.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """How much do my annotators disagree? Reads a votes file and says what is in it."""
    from dissensus.votes import read_votes
    from dissensus.votes.summary import summary
    from dissensus.votes.write import WRITERS

    if save is not None:
        refuse_place("--save", save, [*WRITERS, ".npz"], [file])
    reading: dict[str, Any] = {
        "item": item,
        "annotator": annotator,
        "annotators": comma_separated(annotators),
        "label": label,
        "classes": comma_separated(classes),
        "ordered": ordered,
        "layout": layout,
        "separator": separator,
        "delimiter": delimiter,
        "anonymous": anonymous,
        "ignore": comma_separated(ignore),
        "without": comma_separated(without),
        "rename": renames(rename),
        "fold": fold,
        "repeats": repeats if repeats != "all" else None,
    }
    reading = with_options(reading, option)
    read = read_votes(file, **{name: value for name, value in reading.items() if value is not None})
    told = summary(read)
    notes = [*read.notes, *_of_ratings(read)]
    tell_notes(notes)
    if save is not None:
        (read.save if save.suffix.lower() == ".npz" else read.write)(save)
    if as_json:
        print_json(asdict(told) | {"notes": notes})
    else:
        _show_votes(file.name, told)
        if save is not None:
            out.print(f"Wrote {escape(str(save))}")
        if not told.multilabel:
            _show_next(file, reading, told, str(read.items[0]))


def _of_ratings(read: Votes) -> list[str]:
    """A hint where classes are numbers that may be a scale: agreement is another on one."""
    numbers = all(isinstance(name, int | float) for name in read.classes)
    if read.ordered or read.multilabel or not numbers or read.n_classes < 3:
        return []
    return ["The classes are numbers. If they are ratings, say --ordered: then near ones agree more than far ones."]


def _show_votes(name: str, told: Summary) -> None:
    from dissensus.votes.summary import percent

    show_table(name, ["", ""], told.in_words(len(told.classes)))
    shares = sorted(told.class_shares.items(), key=lambda pair: -pair[1])
    out.print()
    largest = [(shown(name), percent(share)) for name, share in shares[:SHOWN]]
    show_table("Shares of the votes", ["class", "share"], largest)
    if len(shares) > SHOWN:
        rest = sum(share for _, share in shares[SHOWN:])
        out.print(f"and {len(shares) - SHOWN:,} other classes, together {percent(rest)}")
    if told.most_divided:
        out.print()
        divided = [
            (shown(one.item), f"{one.entropy:.3f}", ", ".join(f"{shown(name)}: {n}" for name, n in one.counts.items()))
            for one in told.most_divided
        ]
        show_table("Most divided items", ["item", "entropy", "votes"], divided)
    show_annotators(told.by_annotator)
    if told.nearness:
        _show_nearness(told)


def _show_nearness(told: Summary) -> None:
    """What more votes would tell, in a table, and in a sentence from those that are there."""
    rows = [
        (f"{near.votes}", f"{near.kl:.3f} [{near.kl_low:.3f}, {near.kl_high:.3f}]", f"{near.same_majority:.0%}")
        for near in told.nearness
    ]
    out.print()
    show_table("What so many votes an item tell: a guess from these", ["votes", "KL", "same majority"], rows)
    out.print(
        f"Same majority: on how many items most of them name the class that most people would.{_thrice(told)}\n"
        "KL: how far what they say of an item (their shares, drawn towards those of all items) is from what everybody "
        "would say, in nats (0: the same), with a 95 % interval. The interval takes for "
        "granted how items differ (Dirichlet); where all are equally hard, as when people just err, both may be off.\n"
        "This is of votes by themselves, as to evaluate models by; a model learns across items and needs fewer."
    )


def _thrice(told: Summary) -> str:
    """The majority of as many votes as there are, in words, and of three times as many, or nearly so."""
    from dissensus.votes.summary import about

    few = [near for near in told.nearness if near.votes <= about(told.votes_per_item[1])][-1]
    more = [near for near in told.nearness if near.votes >= 3 * few.votes]
    more = more or [near for near in told.nearness[-1:] if near.votes >= 2 * few.votes]
    lines = [
        f"With {many(few.votes, 'vote')} an item it is {few.same_majority:.0%}, with {near.votes} it would be "
        f"{near.same_majority:.0%}."
        for near in more[:1]
    ]
    if told.ordered:  # from 3 ratings of 1 to 5 by people who scatter by 0.5 to 1.2: of 10, 3 points less to 11 more
        lines.append("Of ratings this is often guessed too high, as neighbours are close calls.")
    return "".join(f" {line}" for line in lines)


def _show_next(file: Path, reading: dict[str, Any], told: Summary, an_item: str) -> None:
    """The command that answers what this one cannot; where nothing could, what is needed first."""
    from dissensus.datasets.text_files import holds_texts, likely_texts
    from dissensus.votes.nearness import FEWEST

    if not told.items_with_two:
        out.print(
            "\nWhat should I train on? No item has two votes, so soft labels, SLS, multipass and the majority vote "
            f"teach the same.\nSecond votes on some of the items are needed; with {FEWEST} such items this command "
            "guesses what more would tell."
        )
        return
    given = {name: value for name, value in reading.items() if value}
    source, texts = "features or images (or --texts TABLE)", holds_texts(file, an_item, reading)
    if texts:
        source = "the texts in this file"
    elif (likely := likely_texts(file, reading)) is not None:
        texts, source = True, f"what seem to be texts, in the column {likely.name!r} (else --inputs, or --texts TABLE)"
        given |= {"text": likely.name} | ({"others": "drop"} if likely.gaps else {})
    inputs = ["--texts", str(file)] if texts else ["--inputs", "INPUTS"]
    words = ["--votes", str(file), *(w for pair in given.items() for w in ("--option", as_option(*pair))), *inputs]
    alone = told.fewer_than(2)
    draw = " --draw resample" if alone else ""
    out.print(f"\nWhat should I train on, and how many votes do I need? With {source}:")
    out.print(f"[bold]dissensus compare {escape(shlex.join(words))} --per-item 2,all{draw}[/]", soft_wrap=True)
    if alone:
        whose = "1 item has one vote, which counts" if alone == 1 else f"{alone:,} items have one vote, which counts"
        out.print(f"Two votes are drawn with replacement there: {whose} twice.")
