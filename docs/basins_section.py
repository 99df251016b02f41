"""The README's part on Basins: the answer, the verdicts, the headline table and Figure 1, as measured so far."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from in_markdown import CHANGED, item, table, table_row, wrapped

from dissensus.experiment.claims import Ledger, answers
from dissensus.experiment.claims.ledger import Row
from dissensus.experiment.papers import Evidence, Paper, read_paper
from dissensus.report.output import signed
from dissensus.report.paper.chances import read_chances
from dissensus.report.paper.coverage import coverage
from dissensus.report.paper.differences import compared, counted, read_notes
from dissensus.report.paper.ledger import IN_PART, NOT_JUDGED, SIGNS, counts, legend, sign, views_of
from dissensus.report.paper.measured import FEW, Sought, gap, measured
from dissensus.report.tables import number

METHODS = ("soft", "sls", "multipass", "deterministic-control")
VOTES = (5, 10, 25, 50)
STAR = r"\*"
COLUMNS = {"published": "published", "audited": "audited", "last": "published, last", "audited-last": "audited, last"}
HEADING = "### The Basins paper"
SANITY = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "sanity.json"


def basins(results: Path, link: str = "results/basins") -> str:
    """The whole part; nothing while no run is in ``results``."""
    if not (results / "runs.csv").exists() or not (results / "ledger.csv").exists():
        return ""
    evidence, paper = Evidence.read(results), read_paper("basins")
    if not evidence.runs:
        return ""
    ledger = Ledger.from_csv((results / "ledger.csv").read_text("utf-8"))
    title = f'"{paper.title}" ([arXiv {paper.arxiv}](https://arxiv.org/abs/{paper.arxiv}))'
    asks = f"""{title} asks how the votes of CIFAR-10H should reach a ResNet-18. `dissensus reproduce basins` repeats
    it; {_runs(evidence, paper)} have been made."""
    if _seeds(evidence) < FEW:
        so_far = f"Too few seeds to judge a claim by: what was measured so far is in [{link}]({link})."
        return f"{HEADING}\n\n{wrapped(f'{asks} {so_far}')}\n"
    parts = [
        HEADING,
        wrapped(f"{asks} What should someone with a few votes an item train on, and how sure are we?"),
        "\n".join(item(f"**{one.question}** {signed(one.short)}") for one in answers(ledger, evidence)),
        wrapped(
            """Every claim of the paper has a rule that was written before the runs (rules that were added or changed
            later are marked), and a verdict that follows from it alone. *Published* is the paper's protocol, with our
            choices where it leaves any. *Audited* mends what weakens it: the best epoch is picked on items that are not
            scored, few votes are real ones, five within ten within twenty-five, and whatever is compared has ten
            seeds. *Last* scores the last epoch, which nobody picked."""
        ),
        _verdicts(ledger),
        wrapped(_legend(ledger)),
        wrapped(
            f"""{read_chances(paper.name).sentence} How that was counted, claim by claim:
            [benchmarks/results/rules_power.json](benchmarks/results/rules_power.json)."""
        ),
        *_few_votes(evidence, paper, link),
        wrapped(
            f"""{_differences(evidence, paper, results)} Every number and verdict is in [{link}]({link}): the ledger,
            tables, the other figures, what differs. `dissensus reproduce basins --from {link}` makes all of them again,
            and the page that shows them together."""
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _runs(evidence: Evidence, paper: Paper) -> str:
    told = []
    for protocol in paper.protocols:
        made = coverage(evidence, paper, protocol=protocol)
        of = f"{made.done} of {made.wanted}" if made.done < made.wanted else f"all {made.wanted}"
        told.append(f"{of} runs under the {protocol} protocol")
    return " and ".join(told)


def _seeds(evidence: Evidence) -> int:
    """Of what was run most often."""
    return max(Counter(replace(cell, seed=0) for cell in evidence.runs.values()).values())


def _verdicts(ledger: Ledger) -> str:
    """A line a claim, a column a view; below, how many of the paper's claims have which verdict."""
    views = views_of(ledger)
    claims = {row.claim: row for row in ledger}
    rows = [
        table_row(
            f"{name} {row.title}{' (our question)' * row.ours}{CHANGED * row.changed}",
            *(_sign(ledger.row(name, v)) for v in views),
        )
        for name, row in claims.items()
    ]
    found = {view: counts(ledger, view) for view in views}
    rows += [table_row(f"*{word}*", *(f"*{found[view][word]}*" for view in views)) for word in (*SIGNS, NOT_JUDGED)]
    return table(("claim", *(COLUMNS[view] for view in views)), rows, centred=len(views))


def _sign(row: Row) -> str:
    """With a star, where it is judged on a part of what it says."""
    return f"{sign(row)}{STAR * row.in_part}"


def _legend(ledger: Ledger) -> str:
    changed = f"; {CHANGED.strip()} its rule was changed when results had been seen" * any(
        row.changed for row in ledger
    )
    return f"{legend()}{f'; {STAR} {IN_PART}' if any(row.in_part for row in ledger) else ''}{changed}."


def _sanity() -> str:
    """Runs of other seeds, made before all of these."""
    rows = json.loads(SANITY.read_text("utf-8"))["result"]["rows"]
    agree = sum(row["verdict"] == "agrees" for row in rows)
    return f"""Four other seeds were held against the published means before ({agree} of {len(rows)} agree:
        [docs/speed.md](docs/speed.md))."""


def _few_votes(evidence: Evidence, paper: Paper, link: str) -> Iterator[str]:
    """The headline table and Figure 1, once there are runs of it."""
    if any(measured(evidence, Sought("soft_nll", method, votes)) for method in METHODS for votes in VOTES):
        yield wrapped(
            """Soft NLL by the number of votes an item, published protocol: mean and 95 % interval over our seeds, the
            published mean in brackets, ≠ where the two are more than two standard errors apart:"""
        )
        yield _headline(evidence, paper)
    if any(cell.votes != "all" for cell in evidence.runs.values()):
        shown = "Soft NLL, accuracy and entropy correlation by the number of votes an item"
        yield f"![{shown}]({link}/figures/figure1.png)"


def _headline(evidence: Evidence, paper: Paper) -> str:
    rows = [table_row(method, *(_cell(evidence, paper, method, votes) for votes in VOTES)) for method in METHODS]
    return table(("method", *(f"{votes} votes" for votes in VOTES)), rows)


def _cell(evidence: Evidence, paper: Paper, method: str, votes: int) -> str:
    published = paper.published.value("table1", method, "soft_nll", votes=votes)
    ours = measured(evidence, Sought("soft_nll", method, votes))
    if ours.interval is None:
        return f"– ({published.mean:.3f})"
    apart = gap(ours, published)
    mark = " ≠" if apart is not None and apart.differs else ""
    interval = f"[{number(ours.interval.low)}, {number(ours.interval.high)}]"
    return f"{number(ours.interval.mean)} {interval} ({published.mean:.3f}){mark}"


def _differences(evidence: Evidence, paper: Paper, results: Path) -> str:
    told = compared(evidence, paper, read_notes(results))
    explained = sum(bool(one.explained) for one in told if one.differs)
    how_many = f" {explained} of those that differ are explained." if any(one.differs for one in told) else ""
    if not any(one.gap for one in told):
        return f"No published mean could be held against ours yet. {counted(told)} {_sanity()}"
    return f"Every published mean was held against ours, so far as it was measured. {counted(told)}{how_many}"
