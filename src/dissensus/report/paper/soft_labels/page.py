"""The page on soft labels: answer, ledger by data set and model, tables, learning curves, votes needed, and studies."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dissensus.report.figures import looks, styled
from dissensus.report.glossary import MEASURES, METHODS
from dissensus.report.output import Files, picture, render, write_files
from dissensus.report.paper.beside import by_kind, read_beside
from dissensus.report.paper.coverage import coverage
from dissensus.report.paper.diverged import diverged_runs
from dissensus.report.paper.grid import to_csv
from dissensus.report.paper.ledger import NO_SIGN, NOTHING, SIGNS, added_to, claims_of, views_of
from dissensus.report.paper.page import about_runs, pictures
from dissensus.report.paper.soft_labels.cost import cost_table
from dissensus.report.paper.soft_labels.figures import learning_curves, votes_curves
from dissensus.report.paper.soft_labels.studies import FIGURES as STUDY_FIGURES
from dissensus.report.paper.soft_labels.studies import study_table
from dissensus.report.paper.soft_labels.tables import abstract_table, by_votes_table, enough_table, protocol_table

if TYPE_CHECKING:
    from dissensus.experiment.claims import Answer, Enough, Ledger
    from dissensus.experiment.papers import Paper
    from dissensus.experiment.papers.evidence import Evidence
    from dissensus.experiment.studies import Studied

FIGURES = {"figure1": learning_curves, "figure2": votes_curves}
TERMS = {
    "KL": MEASURES["kl", False],
    "with a temperature": MEASURES["kl", True],
    "JS distance": "how far they are apart by Jensen and Shannon, a true distance from 0 to .83; lower is better",
    "soft NLL": "KL plus the entropy of the votes, which no model can change: what soft labels train on",
    "EntCorr": f"{MEASURES['entropy_correlation', False]} (Spearman's; Pearson's beside it)",
    "ECE": "how far a model's confidence is from how often it is right; lower is better",
    "entropy gap": "entropy of the model less that of the annotators, where they disagree most; below 0 is false "
    "confidence",
    "hard arm": "majority vote, against which soft labels are judged",
}


def write_soft_labels_page(
    evidence: Evidence,
    ledger: Ledger,
    paper: Paper,
    folder: str | os.PathLike[str],
    *,
    answers: Sequence[Answer] = (),
    rules: Mapping[str, Sequence[str]] | None = None,
    banner: str = "",
    enough: Sequence[tuple[str, str, Sequence[Enough]]] = (),
    votes_needed: Answer | None = None,
    studies: Sequence[Studied] = (),
) -> Path:
    """``index.html`` in ``folder``, with ``tables/`` (CSV) and ``figures/`` (PNG and SVG) beside it.

    As :func:`~dissensus.report.paper.write_paper_page`; what has not been run yet is said, and is no error. No tables
    of the paper are known, so there are no differences to explain. ``enough`` says for data sets and methods how many
    votes are, ``votes_needed`` so in words; ``studies`` are those of which there are scores.
    """
    beside = read_beside(paper.name)
    feeding = {place: coverage(evidence, paper, place, None) for place in FIGURES}
    figures, files = pictures(FIGURES, evidence, paper, feeding)
    planned = [protocol for protocol in paper.protocols if paper.of(protocol)]  # of a smoke test, not all
    made = {protocol: coverage(evidence, paper, protocol=protocol) for protocol in planned}
    tables = {name: protocol_table(evidence, paper, name) for name in planned if made[name].done}
    abstract = abstract_table(evidence, paper)
    votes = enough_table(enough, paper.places["table2"], str(coverage(evidence, paper, "table2", None)))
    by_votes = by_votes_table(evidence, paper)
    cost = cost_table()
    for grid in (*tables.values(), abstract, votes, by_votes, cost):
        files[f"tables/{grid.name}.csv"] = grid.csv().encode()
    files["tables/deviations.csv"] = to_csv([vars(one) for one in beside.deviations]).encode()
    files["ledger.csv"] = ledger.to_csv().encode()
    views = views_of(ledger)
    of = {row.view: row.protocol for row in ledger}
    content = {
        "paper": paper,
        "banner": banner,
        "answers": list(answers),
        "diverged": diverged_runs(evidence),
        "ledger": {
            "signs": SIGNS,
            "no_sign": NO_SIGN,
            "nothing": NOTHING,
            "views": views,
            "added": added_to(ledger),
            "claims": claims_of(ledger, rules or {}),
        },
        "alone": [view for view in views if of[view] in paper.protocols],
        "averages": [view for view in views if of[view] not in paper.protocols],
        "coverage": made,
        "tables": tables,
        "abstract": abstract,
        "enough": votes,
        "votes_needed": votes_needed,
        "by_votes": by_votes,
        "figures": figures,
        "studies": [_study(one, files) for one in studies],
        "cost": cost,
        "deviations": by_kind(beside),
        "about": about_runs(evidence.about.values()),
        "looks": looks(list(METHODS)),
        "glossary": {name: METHODS[name] for name in ("majority", "label-smoothing", "soft", "sls", "multipass")},
        "terms": TERMS,
    }
    files["index.html"] = render("paper/soft_labels/page.html.j2", content).encode()
    write_files(files, Path(folder))
    return Path(folder) / "index.html"


def _study(one: Studied, files: Files) -> dict[str, Any]:
    """What its section shows; its figure is added to ``files``."""
    drawn_files: Files = {}
    shown = None
    if one.name in STUDY_FIGURES:
        with styled():
            drawn = STUDY_FIGURES[one.name](one)
            shown = drawn and picture(drawn_files, one.name, drawn.figure, drawn.alt, drawn.caption)
    files |= {f"figures/{name}": content for name, content in drawn_files.items()}
    return {
        "name": one.name,
        "question": one.question,
        "seeds": one.seeds,
        "plain": one.plain,
        "rule": one.study.rule,
        "verdicts": one.verdicts,
        "table": study_table(one),
        "picture": shown,
        "made": [{**how, "seeds": _seeds(how["seeds"])} for how in one.made.get("made", [])],
    }


def _seeds(seeds: Sequence[int]) -> str:
    """
    >>> _seeds([0, 1, 2, 3]), _seeds([0, 2])
    ('0 to 3', '0, 2')
    """
    whole = len(seeds) > 2 and list(seeds) == list(range(seeds[0], seeds[-1] + 1))
    return f"{seeds[0]} to {seeds[-1]}" if whole else ", ".join(map(str, seeds))
