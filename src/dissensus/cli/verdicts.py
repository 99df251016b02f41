"""What ``dissensus reproduce`` found: it judges claims and studies, writes ledger and page, and tells the verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from dissensus.base.words import many
from dissensus.cli.tables import show_table
from dissensus.cli.telling import out, print_json, waiting

if TYPE_CHECKING:
    from dissensus.experiment.chosen import Chosen
    from dissensus.experiment.claims import Ledger
    from dissensus.experiment.judgement import PaperJudgement
    from dissensus.experiment.papers import Evidence, Paper
    from dissensus.experiment.studies import Studied


def judge_and_tell(
    evidence: Evidence, paper: Paper, folder: Path, source: Path, wanted: Chosen, as_json: bool, quiet: bool
) -> None:
    """Judge claims and studies, write ledger and page, and tell what was asked for."""
    from dissensus.experiment.judgement import judge
    from dissensus.report.paper import read_notes, write_page

    with waiting("Judging", quiet):
        judged = judge(evidence, paper, source)
        judged.write(folder)
    with waiting("Drawing the page", quiet):
        page = write_page(judged, folder, read_notes(source))
    named = [one for one in judged.studies if one.study in wanted.studies]
    if not wanted.runs:
        missing = [study.name for study in wanted.studies if study not in [one.study for one in named]]
        _show_studies(named, missing, page, as_json)
    elif as_json:
        print_json({**_json_verdicts(judged), **_json_studies(named), "page": str(page)})
    else:
        _show_verdicts(judged, named, page)


def _json_verdicts(judged: PaperJudgement) -> dict[str, Any]:
    claims, views = _claims_and_views(judged.ledger)
    verdicts = {claim: {view: judged.ledger.row(claim, view).standing for view in views} for claim in claims}
    return {"runs": len(judged.evidence.runs), "answers": [asdict(one) for one in judged.answers], "verdicts": verdicts}


def _show_verdicts(judged: PaperJudgement, studied: Sequence[Studied], page: Path) -> None:
    """A table of verdicts, the answers and what studies found in short; the page has all of it."""
    from dissensus.report.paper import banner
    from dissensus.report.paper.ledger import IN_PART, added_to, in_words, legend, sign

    ledger = judged.ledger
    claims, views = _claims_and_views(ledger)
    titled = {row.claim: f"{row.claim} {row.title}" for row in ledger}
    title = f"{judged.paper.title}, from {many(len(judged.evidence.runs), 'run')}"
    if len(views) > len(claims):  # a line a data set and model that was run
        run = [view for view in views if any(row.seeds for row in ledger.under(view))]
        later = added_to(ledger)
        rows = [
            [f"{view} †" if view in later else view, *(sign(ledger.row(claim, view)) for claim in claims)]
            for view in run
        ]
        show_table(title, ["", *claims], rows)
        mark = ", † added when results had been seen" if later else ""
        out.print("\n".join(["", *map(escape, titled.values()), legend() + mark]))
    else:
        rows = [[titled[claim], *(in_words(ledger.row(claim, view)) for view in views)] for claim in claims]
        show_table(title, ["claim", *views], rows)
        if any(row.in_part for row in ledger):
            out.print(f"\n{IN_PART[:1].upper()}{IN_PART[1:]}.")
    out.print()
    if told := banner(judged):
        out.print(escape(told))
    for one in judged.answers:
        out.print(f"[bold]{escape(one.question)}[/] {escape(one.short)}")
    for study in studied:
        out.print(f"\n[bold]{escape(study.question)}[/] {escape(study.short)}")
    out.print(f"\nThe page: [bold]{escape(str(page))}[/]", soft_wrap=True)


def _claims_and_views(ledger: Ledger) -> tuple[list[str], list[str]]:
    from dissensus.report.paper.ledger import views_of

    return list(dict.fromkeys(row.claim for row in ledger)), views_of(ledger)


def _show_studies(studied: Sequence[Studied], missing: Sequence[str], page: Path, as_json: bool) -> None:
    """What was found, in plain words and by the rules; and of which studies nothing is there yet."""
    if as_json:
        print_json({**_json_studies(studied), "page": str(page)})
        return
    for one in studied:
        out.print(f"[bold]{escape(one.question)}[/] {many(one.seeds, 'seed')}")
        lines = ["", *one.plain, "", "By the rule:", *(f"- {line}" for line in one.verdicts), ""]
        out.print(escape("\n".join(lines)))
    for name in missing:
        out.print(f"There are no scores of {name} yet.\n")
    out.print(f"The page: [bold]{escape(str(page))}[/]", soft_wrap=True)


def _json_studies(studied: Sequence[Studied]) -> dict[str, Any]:
    told = {one.name: {"seeds": one.seeds, "plain": list(one.plain), "verdicts": list(one.verdicts)} for one in studied}
    return {"studies": told} if told else {}
