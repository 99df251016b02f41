"""The page: one HTML file that opens offline, with its figures and tables beside it as files of their own.

Everything is computed and drawn before anything is written, and stands in its place at the end or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dissensus.base.errors import DissensusError
from dissensus.base.words import listed, shown
from dissensus.datasets import DATASETS, Dataset, load, own_data
from dissensus.records import CHECKPOINTS, StoredRun
from dissensus.report import figures, rules, tables
from dissensus.report.basin import basin, basin_csv
from dissensus.report.comparison import Comparison, Panel, collect
from dissensus.report.gallery import gallery
from dissensus.report.glossary import DRAWS, MEASURES, method_in_words
from dissensus.report.in_short import in_short
from dissensus.report.leftovers import LIST, file_list, leftovers
from dissensus.report.output import Files, picture, render, uri, write_files
from dissensus.report.pairing import flat
from dissensus.report.place import page_file
from dissensus.report.the_votes import TheVotes
from dissensus.report.votes_needed import votes_needed


def write_page(
    runs: Iterable[StoredRun] | Comparison, out: str | os.PathLike[str], data: Dataset | None = None
) -> Path:
    """Compare ``runs`` and write the page to ``out``: a name that ends in ``.html``, or a folder for ``index.html``.

    Beside it stand ``figures/`` (PNG and SVG) and ``tables/`` (CSV and Markdown); the page itself needs neither. What
    an earlier page had there and this one has not is removed. With ``data``, or where the plans name a data set that
    is at hand, the gallery shows the pictures or texts.
    """
    comparison = runs if isinstance(runs, Comparison) else collect(runs)
    page = page_file(out)
    data = at_hand(comparison) if data is None else data
    if comparison.votes is None and data is not None:
        comparison = replace(comparison, votes=TheVotes.of(data.votes, comparison.source))
    content, figures = _content(comparison, data)
    files = {f"figures/{name}": drawn for name, drawn in figures.items()}
    files |= {f"tables/{name}": text.encode() for name, text in table_files(comparison).items()}
    files[LIST] = file_list(page.name, files)
    files[page.name] = render(
        "page.html.j2", content
    ).encode()  # last: where there is a page, everything beside it is there too
    write_files(files, page.parent, instead_of=leftovers(page, files))
    return page


def at_hand(comparison: Comparison) -> Dataset | None:
    """The data that the runs were made with, if they can still be found where they were; None if not."""
    source = comparison.source
    try:
        if "votes" in source:
            data = own_data(source["votes"], source.get("inputs"), texts=source.get("texts"), **_options(source))
        elif source["name"] in DATASETS:
            data = load(source["name"], **_options(source))
        else:
            return None
    except (DissensusError, OSError, KeyError, TypeError):
        return None
    same = all(digest == comparison.setting.get(f"data.{part}") for part, digest in data.digest().items())
    return data if same else None


def _options(source: Mapping[str, Any]) -> dict[str, Any]:
    """The options that the data were loaded with; JSON knows lists only."""
    return {key: tuple(value) if isinstance(value, list) else value for key, value in source.get("options", {}).items()}


def table_files(comparison: Comparison) -> dict[str, str]:
    """Every table as a file: CSV for programs, Markdown for people."""
    several = len(comparison.panels) > 1
    files = {
        "scores.csv": tables.scores_csv(comparison),
        "seeds.csv": tables.seeds_csv(comparison),
        "verdicts.csv": tables.verdicts_csv(comparison),
        "comparison.json": tables.to_json(comparison),
    }
    for panel in comparison.panels:
        end = f"-{panel.slug}" if several else ""
        methods = [tables.methods_table(comparison, panel, checkpoint) for checkpoint in CHECKPOINTS]
        methods += [table for c in CHECKPOINTS if (table := tables.others_table(panel, c)) is not None]
        verdicts = [tables.verdicts_table(panel, checkpoint) for checkpoint in CHECKPOINTS]
        files[f"methods{end}.md"] = "\n".join(map(tables.to_markdown, methods))
        files[f"verdicts{end}.md"] = "\n".join(map(tables.to_markdown, verdicts))
        if (found := basin(panel)) is not None:
            looked = [table for table in (found.best, found.last, found.between) if table is not None]
            files[f"basin{end}.md"] = "\n".join(map(tables.to_markdown, looked))
    if every := basin_csv(comparison):
        files["basin.csv"] = every
    return files


def _content(comparison: Comparison, data: Dataset | None) -> tuple[dict[str, Any], Files]:
    """Everything that the template shows, and the files of its figures."""
    files: Files = {}
    several = any(len(panel.seeds) > 1 for panel in comparison.panels)
    with figures.styled():
        panels = [_panel_content(comparison, panel, files) for panel in comparison.panels]
        by_votes = picture(
            files,
            "by-votes",
            figures.by_votes_figure(comparison),
            f"Scores of {listed(comparison.methods)} by the number of votes an item that they were trained on.",
            f"{'Means over seeds with 95 % intervals' if several else 'One seed'}, by the number of votes that every "
            "training item was given.",
        )
        items = [
            {
                "item": item,
                "picture": None if item.picture is None else uri(item.picture, "image/png"),
                "bars": picture(
                    files, f"gallery-{number}", figures.bars_figure(item), _bars_in_words(item.classes, item.bars), ""
                ),
            }
            for number, item in enumerate(gallery(comparison, data), 1)
        ]
    first = comparison.runs[0]
    counts = first.predictions["counts"]
    content = {
        "comparison": comparison,
        "methods": listed(comparison.methods),
        "glossary": {name: words for name in comparison.methods if (words := method_in_words(name))},
        "meaning": MEASURES,
        "looks": figures.looks(comparison.methods),
        "facts": {
            "evaluated": f"{len(counts):,}",
            "classes": counts.shape[1],
            "votes": f"{counts.sum(1).mean():.3g}",
        },
        "panels": panels,
        "by_votes": by_votes,
        "votes": comparison.votes
        and {
            "rows": comparison.votes.glance.in_words(counts.shape[1]),
            "notes": comparison.votes.notes,
        },
        "in_short": in_short(comparison),
        "votes_needed": votes_needed(comparison),
        "items": items,
        "rules": _rules_in_words(),
        "setting": {field: _told(value) for field, value in _shared(comparison).items()},
        "varying": {field: _told(value) for field, value in _varying(comparison).items()},
        "about": _about(comparison.runs),
    }
    return content, files


def _panel_content(comparison: Comparison, panel: Panel, files: Files) -> dict[str, Any]:
    end = f"-{panel.slug}" if len(comparison.panels) > 1 else ""
    methods, seeds = listed(panel.methods), len(panel.seeds)
    over = "one seed" if seeds == 1 else f"{seeds} seeds"
    judged = [j for j in panel.judgements if j.checkpoint == "best"]
    truth = any(measure.against == "truth" for measure in panel.scores)
    return {
        "panel": panel,
        "title": comparison.title_of(panel).capitalize(),
        "best": judged,
        "last": [j for j in panel.judgements if j.checkpoint == "last"],
        "last_agrees": _same_words(panel),
        "methods": tables.methods_table(comparison, panel),
        "methods_last": tables.methods_table(comparison, panel, "last"),
        "others": tables.others_table(panel),
        "methods_truth": tables.methods_table(comparison, panel, against="truth") if truth else None,
        "verdicts": tables.verdicts_table(panel),
        "verdicts_last": tables.verdicts_table(panel, "last"),
        "basin": basin(panel),
        "differences": picture(
            files,
            f"differences{end}",
            figures.differences_figure(panel),
            f"Paired differences between {methods} over {over}. " + " ".join(j.sentence for j in judged),
            "A dot a seed, first method minus second; circle and bar: mean and 95 % interval. Coloured: the winner's "
            "colour, where there is one. The grey band is what counts as the same.",
        ),
        "reliability": picture(
            files,
            f"reliability{end}",
            figures.reliability_figure(panel),
            f"Reliability curves of {methods}: confidence against accuracy, and against the share of annotators.",
            "Dots: 15 bins of equal mass, evaluation items of all seeds. Left, the line is that of smooth ECE; "
            "right, it joins the bins. Below the diagonal a method is too sure. A method that matches divided "
            "annotators lies on the diagonal on the right, and above it on the left, where only their most frequent "
            "vote counts as right.",
        ),
        "entropy": picture(
            files,
            f"entropy{end}",
            figures.entropy_figure(comparison, panel),
            f"Entropy of the predictions of {methods} against the entropy of the annotators, item by item.",
            "Grey: items of all seeds. Line and band: median and quartiles of the model's entropy. ρ: Spearman "
            f"correlation, mean over seeds{_reached(comparison)}.",
        ),
        "learning": picture(
            files,
            f"learning{end}",
            figures.learning_figure(panel),
            f"Soft NLL of {methods} on the evaluation items by epoch, over {over}.",
            "Mean over seeds, with a band of one standard deviation. The mark is the best epoch.",
        ),
    }


def _reached(comparison: Comparison) -> str:
    """What stands in brackets beside the correlation of a method, if anything does."""
    if "entropy_correlation" not in comparison.ceilings:
        return ""
    if comparison.people.ceiling:
        return "; the ceiling is what half of the annotators reach with the other half"
    return f"; people: what people reach predicting people ({comparison.people.halves}), which is no ceiling"


def _same_words(panel: Panel) -> bool:
    words = {c: [j.words for j in panel.judgements if j.checkpoint == c] for c in ("best", "last")}
    return words["best"] == words["last"]


def _bars_in_words(classes: Iterable[str], bars: Mapping[str, Any]) -> str:
    """The bars for those who cannot see them.

    >>> _bars_in_words(["cat", "dog"], {"humans": [0.6, 0.4]})
    'humans: cat 60 %, dog 40 %'
    """
    names = list(classes)
    return "; ".join(
        f"{source}: " + ", ".join(f"{name} {100 * share:.0f} %" for name, share in zip(names, shares, strict=True))
        for source, shares in bars.items()
    )


def _rules_in_words() -> list[tuple[str, str]]:
    """The rules as they are stated where they are made, head and text: there is no second wording to drift away."""
    listing = (rules.__doc__ or "").partition("\n- ")[2].partition("\n\n")[0]
    return [
        (head, " ".join(text.split())) for head, _, text in (r.partition(": ") for r in listing.split("\n- ")) if text
    ]


VARIED = ("method", "votes", "draw")  # what comparisons are made of: told as such where they have one value, too


def _shared(comparison: Comparison) -> dict[str, Any]:
    """What the plans of all runs say, also where they might have differed and do not."""
    alike = {name: values[0] for name, values in comparison.varying.items() if len(values) == 1 and name not in VARIED}
    return {**comparison.setting, **alike}


def _varying(comparison: Comparison) -> dict[str, Any]:
    """What runs differ in: method, votes, how these are drawn, seeds, and whatever tells variants of a method apart."""
    told: dict[str, Any] = {
        "method": comparison.methods,
        "votes": "; ".join(panel.votes for panel in comparison.panels),
    }
    if "draw" in comparison.varying:
        told["draw"] = [f"{draw} ({DRAWS.get(draw, 'another draw')})" for draw in comparison.varying["draw"]]
    told["seed"] = list(dict.fromkeys(seed for panel in comparison.panels for seed in panel.seeds))
    others = {name: values for name, values in comparison.varying.items() if len(values) > 1 and name not in VARIED}
    return {**told, **others}


def _told(value: Any) -> str:
    if isinstance(value, list | tuple):
        told = ", ".join(map(shown, value[:20]))
        return told + (f" and {len(value) - 20} more" if len(value) > 20 else "")
    if isinstance(value, str) and len(value) == 64:
        return value[:16] + "…"  # a digest
    return "not set" if value is None else str(value)


def _about(runs: Iterable[StoredRun]) -> dict[str, str]:
    """What was recorded of how the runs were made: one value, or all that occur.

    Without what every run has its own of, which is how long it took, without folders, which stay private, without the
    votes, which the page tells of elsewhere, and without what methods of one's own are made of: that is of some runs.
    """
    seen: dict[str, dict[str, None]] = {}
    for run in runs:
        for field, value in flat(run.about).items():
            if field.split(".")[0] not in ("source", "seconds", "looking", "votes", "method"):
                seen.setdefault(field, {})[_told(value)] = None
    return {field: ", ".join(values) for field, values in seen.items()}
