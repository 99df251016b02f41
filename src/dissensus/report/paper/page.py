"""The page on a reproduced paper: its answer, the ledger of its claims, its tables and figures, and what differs.

Everything is computed from the evidence: a laptop rebuilds it in seconds, without torch, models or data.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dissensus.report.figures import looks, styled
from dissensus.report.glossary import METHODS
from dissensus.report.output import Files, picture, render, write_files
from dissensus.report.paper.beside import by_kind, reach_table, read_beside
from dissensus.report.paper.chances import read_chances
from dissensus.report.paper.coverage import Coverage, coverage
from dissensus.report.paper.differences import NOT_EXPLAINED, Compared, Note, compared, counted, rule
from dissensus.report.paper.diverged import diverged_runs
from dissensus.report.paper.drawing import Drawn
from dissensus.report.paper.extras import extra_tables
from dissensus.report.paper.figures import AUDITED, FIGURES
from dissensus.report.paper.grid import called, to_csv
from dissensus.report.paper.ledger import IN_PART, SIGNS, VIEWS, claims_of, counts, views_of
from dissensus.report.paper.tables import LAYOUTS, other_readings, paper_tables
from dissensus.report.paper.text import text_table

if TYPE_CHECKING:
    from dissensus.experiment.claims import Answer, Ledger
    from dissensus.experiment.papers import Paper
    from dissensus.experiment.papers.evidence import Evidence


def write_paper_page(
    evidence: Evidence,
    ledger: Ledger,
    paper: Paper,
    folder: str | os.PathLike[str],
    *,
    answers: Sequence[Answer] = (),
    rules: Mapping[str, Sequence[str]] | None = None,
    notes: Sequence[Note] = (),
    banner: str = "",
) -> Path:
    """``index.html`` in ``folder``, with ``tables/`` (CSV) and ``figures/`` (PNG and SVG) beside it.

    ``answers`` are on top, ``rules`` those of each claim in words, ``notes`` what explains differences
    from the published numbers (:func:`~dissensus.report.paper.differences.read_notes`), and ``banner`` what a reader
    has to know before anything else. What has not been run yet is said, and is no error. The page needs none of the
    files beside it.
    """
    beside = read_beside(paper.name)
    made = {place: coverage(evidence, paper, place) for place in FIGURES}
    figures, files = pictures(FIGURES, evidence, paper, made)
    draws = {f"{place}-audited": partial(draw, protocol="audited") for place, draw in AUDITED.items()}
    made = {f"{place}-audited": coverage(evidence, paper, place, "audited") for place in AUDITED}
    audited, others = pictures(draws, evidence, paper, made)
    files |= others
    tables = paper_tables(evidence, paper)
    readings = {place: found for place in LAYOUTS if (found := other_readings(evidence, paper, place)) is not None}
    extras = {grid.name: grid for grid in extra_tables(evidence, paper)}
    text, reach = text_table(evidence, paper), reach_table(evidence, beside)
    told = compared(evidence, paper, notes)
    for grid in (*tables.values(), *readings.values(), *extras.values(), text, reach):
        files[f"tables/{grid.name}.csv"] = grid.csv().encode()
    files["tables/differences.csv"] = _differences_csv(told).encode()
    files["tables/deviations.csv"] = to_csv([vars(one) for one in beside.deviations]).encode()
    files["ledger.csv"] = ledger.to_csv().encode()
    content = {
        "paper": paper,
        "banner": banner,
        "answers": list(answers),
        "diverged": diverged_runs(evidence),
        "ledger": _ledger_content(ledger, rules or {}),
        "chances": read_chances(paper.name),
        "coverage": {protocol: coverage(evidence, paper, protocol=protocol) for protocol in paper.protocols},
        "protocols": {name: protocol.about for name, protocol in paper.protocols.items()},
        "tables": tables,
        "readings": readings,
        "figures": figures,
        "audited": audited,
        "text": text,
        "extras": extras,
        "reach": reach,
        "differences": [one for one in told if one.differs],
        "comparable": evidence.comparable(paper),
        "counted": counted(told),
        "rule": rule(),
        "not_explained": NOT_EXPLAINED,
        "deviations": by_kind(beside),
        "about": about_runs(evidence.about.values()),
        "looks": looks(list(METHODS)),
        "glossary": METHODS,
        "called": called,
    }
    files["index.html"] = render("paper/page.html.j2", content).encode()  # last: then everything beside it is there
    write_files(files, Path(folder))
    return Path(folder) / "index.html"


def pictures(
    figures: Mapping[str, Callable[[Evidence, Paper], Drawn | None]],
    evidence: Evidence,
    paper: Paper,
    made: Mapping[str, Coverage],
) -> tuple[dict[str, Any], Files]:
    """By place: what it is called, its picture, and how far its runs are; and the pictures as files."""
    content: dict[str, Any] = {}
    files: Files = {}
    with styled():
        for place, draw in figures.items():
            drawn = draw(evidence, paper)
            content[place] = {
                "title": paper.places.get(place, ""),
                "picture": drawn and picture(files, place, drawn.figure, drawn.alt, drawn.caption),
                "missing": str(made[place]),
                "partly": made[place].partly,
            }
    return content, {f"figures/{name}": drawn for name, drawn in files.items()}


def _ledger_content(ledger: Ledger, rules: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    views = views_of(ledger)
    return {
        "views": [VIEWS.get(view, view) for view in views],
        "claims": claims_of(ledger, rules),
        "counts": [counts(ledger, view) for view in views],
        "signs": SIGNS,
        "in_part": IN_PART,
    }


def _differences_csv(told: Sequence[Compared]) -> str:
    """Every published mean beside ours, whether it differs or not."""
    return to_csv(
        [
            {
                "place": one.address.place,
                "what": one.what,
                "published": one.published.mean,
                "measured": one.ours.mean,
                "seeds": len(one.ours.seeds),
                "gap": one.gap.value if one.gap else None,
                "standard_error": one.gap.standard_error if one.gap else None,
                "differs": int(one.differs),
                "explained": one.explained or (NOT_EXPLAINED if one.differs else ""),
            }
            for one in told
        ]
    )


def about_runs(told: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """What was recorded of how the runs were made: each value with how often it occurs; and their time together."""
    seen: dict[str, Counter[str]] = {}
    seconds = 0.0
    for about in told:
        seconds += float(about.get("seconds") or 0.0)
        for field, value in about.items():
            if field not in ("seconds", "given", "diverged") and value not in (None, ""):
                seen.setdefault(field, Counter())[str(value)] += 1
    lines = {
        field: ", ".join(f"{value} ({count})" if len(values) > 1 else value for value, count in values.most_common(12))
        for field, values in seen.items()
    }
    return lines | ({"training time": f"{seconds / 3600:.1f} hours"} if seconds else {})
