"""The README's part on soft labels: what holds where, whether hard delivery helps, votes needed, cost, and studies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from in_markdown import table, table_row, wrapped

from dissensus.base.words import listed
from dissensus.experiment.claims import Ledger
from dissensus.experiment.claims.ledger import CONTRADICTED, SUPPORTED, Measured, Row
from dissensus.experiment.claims.soft_labels_answer import at_the_end, by_how_much, votes_sentence
from dissensus.experiment.papers import Evidence, read_paper
from dissensus.experiment.studies import studies_of
from dissensus.report.paper.ledger import SIGNS, sign
from dissensus.report.paper.measured import Sought, measured
from dissensus.report.tables import number

CLAIMS = ("S1", "S2", "S3", "S4", "S5")
HARD = ("sls", "multipass")
COSTS = Path(__file__).resolve().parents[1] / "benchmarks" / "results"


def soft_labels(results: Path, link: str = "results/soft-labels") -> str:
    """The whole part; nothing while no run is in ``results``."""
    if not (results / "runs.csv").exists() or not (results / "ledger.csv").exists():
        return ""
    evidence, paper = Evidence.read(results), read_paper("soft-labels")
    if not evidence.runs:
        return ""
    ledger = Ledger.from_csv((results / "ledger.csv").read_text("utf-8"))
    made = {(cell.protocol, cell.method) for cell in evidence.runs.values()}
    run = [name for name in paper.protocols if {(name, "majority"), (name, "soft")} <= made]
    title = f'"{paper.title}" ([arXiv {paper.arxiv}](https://arxiv.org/abs/{paper.arxiv}))'
    parts = [
        "## The soft-labels paper, on images and texts",
        wrapped(
            f"""{title} claims that training on the votes instead of their majority keeps what people disagree about. Of
            the paper only the abstract was at hand, so `dissensus reproduce soft-labels` runs its design anew:
            {len(evidence.runs):,} of {len(paper.cells()):,} runs so far, on {len(run)} of {len(paper.protocols)} data
            sets and models."""
        ),
        wrapped(f"**Does it?** {' '.join(_held(ledger, run))}"),
        _table(evidence, ledger, run),
        wrapped(
            f"""Means over seeds, majority vote → soft labels. {", ".join(f"{s} {v}" for v, s in SIGNS.items())}. S1 KL
            is lower, with a temperature in both arms too; S2 the model's entropy follows that of people more closely;
            S3 accuracy is the same; S4 less overfitting; S5 less false confidence where people disagree most."""
        ),
        wrapped(f"**Does hard delivery help on text, and with how many votes?** {_hard(ledger)}"),
        *_hard_table(ledger),
        wrapped(f"**How many votes?** {votes_sentence(evidence)}"),
        wrapped(f"**What do whole distributions cost as targets?** {_cost()}"),
        *_studies(results, link),
        wrapped(
            f"""Rules came before runs: `src/dissensus/experiment/papers/soft_labels_claims.toml` and the docstrings of
            `src/dissensus/experiment/studies`. Every number and verdict is in [{link}]({link}), curves by the number of
            votes in [figure 2]({link}/figures/figure2.png), risk against coverage in
            [its figure]({link}/figures/coverage.png). `dissensus reproduce soft-labels --from {link}`
            makes tables, figures and the page; `--only real-sparsity` one study."""
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _held(ledger: Ledger, run: Sequence[str]) -> Iterator[str]:
    """By verdict, which claims where; and where none can be had."""
    for verdict in (SUPPORTED, CONTRADICTED):
        by_claims: dict[tuple[str, ...], list[str]] = {}
        for name in run:
            here = tuple(claim for claim in CLAIMS if ledger.row(claim, name).verdict == verdict)
            by_claims.setdefault(here, []).append(name)
        for claims, names in by_claims.items():
            if claims:
                which = "All five claims are" if claims == CLAIMS else f"{listed(list(claims))} {_are(claims)}"
                yield f"{which} {verdict} on {listed(names)}."
    barred = [name for name in run if ledger.row("S1", name).barred]
    if barred:
        where = "the others" if len(barred) < len(run) else "all of them"
        yield (
            f"On {where} ({len(barred)}) the model does not even learn to beat the most frequent class by five points, "
            "so none of the five is decided there, whatever the numbers."
        )


def _are(claims: Sequence[str]) -> str:
    return "is" if len(claims) == 1 else "are"


def _table(evidence: Evidence, ledger: Ledger, protocols: Sequence[str]) -> str:
    head = ("data set and model", "KL ↓", "KL with a temperature ↓", "EntCorr ↑", "accuracy ↑", *CLAIMS)
    rows = []
    for name in protocols:
        numbers = [
            _both(evidence, name, metric, tempered)
            for metric, tempered in (("kl", False), ("kl", True), ("entropy_correlation", False), ("accuracy", False))
        ]
        signs = [sign(ledger.row(claim, name)) for claim in CLAIMS]
        rows.append(table_row(name, *numbers, *signs))
    return table(head, rows, centred=len(CLAIMS))


def _both(evidence: Evidence, protocol: str, metric: str, tempered: bool) -> str:
    hard, soft = (
        measured(evidence, Sought(metric, method, protocol=protocol, tempered=tempered))
        for method in ("majority", "soft")
    )
    return f"{number(hard.mean)} → {number(soft.mean)}" if hard and soft else "–"


def _judged(ledger: Ledger, claim: str) -> list[Row]:
    """The data sets and models on which a question could be asked of a model that has learned something."""
    rows = [row for row in ledger if row.claim == claim and not row.view.startswith("mean-") and row.seeds]
    return [row for row in rows if not row.barred]


def _hard(ledger: Ledger) -> str:
    """All votes, and few."""
    full, few = _judged(ledger, "A3"), _judged(ledger, "A4")
    if not full:
        return "Not known yet."
    helps = [f"{row.view} with all votes" for row in full if row.verdict == SUPPORTED]
    helps += [f"{row.view} with {cell.cell}" for row in few for cell in _cells(row) if cell.verdict == SUPPORTED]
    loses = [row.view for row in full if row.verdict == CONTRADICTED]
    told = f"It helps on {listed(helps)}" if helps else "At the best epoch it is not shown to, with any number"
    told += f"{at_the_end(ledger)}."
    told += f" With all votes it loses to soft labels on {listed(loses)}{by_how_much(full)}." if loses else ""
    if few:
        told += (
            f" Soft NLL of soft labels less that of a hard delivery, on {listed([row.view for row in few])} (above 0: "
            "hard delivery is better; in brackets 95 % intervals, ✓ and ✗ after Holm):"
        )
    return told


def _hard_table(ledger: Ledger) -> Iterator[str]:
    """A row a hard delivery, a column a number of votes."""
    full = {row.view: row for row in _judged(ledger, "A3")}
    for row in _judged(ledger, "A4"):
        cells = {(cell.cell.partition(" votes, ")[0], cell.cell.rpartition(", ")[2]): cell for cell in _cells(row)}
        if row.view in full:
            cells |= {("all", cell.cell): cell for cell in _cells(full[row.view])}
        votes = list(dict.fromkeys(number for number, _ in cells))
        rows = [table_row(method, *(_cell(cells[k, method]) for k in votes)) for method in HARD]
        yield table((row.view, *(f"{k} votes" for k in votes)), rows)


def _cells(row: Row) -> Sequence[Measured]:
    return row.deciding[0].cells


def _cell(cell: Measured) -> str:
    if cell.mean is None or cell.low is None or cell.high is None:
        return "–"
    mark = f" {SIGNS[cell.verdict]}" if cell.verdict in (SUPPORTED, CONTRADICTED) else ""
    mean, low, high = (number(value, 4) for value in (cell.mean, cell.low, cell.high))  # they are of a few thousandths
    return f"{mean} [{low}, {high}]{mark}"


def _cost() -> str:
    """Time and memory of soft against hard targets, by the number of classes."""
    rows, on_gpu = (_cost_rows(name) for name in ("target_cost.json", "target_cost_gpu.json"))
    loss, layer = (_times(rows, what) for what in ("loss", "last layer"))
    gpu_loss, gpu_layer = (_times(on_gpu, what) for what in ("loss", "last layer"))
    kept = [f"{row['kept_bytes']['soft'] / row['kept_bytes']['hard']:.1f}" for row in rows]
    dense = [f"{row['storage_bytes']['dense float32'] / 1e9:g}" for row in rows]
    votes = [f"{row['storage_bytes']['votes'] / 1e6:.0f}" for row in rows]
    return f"""On a CPU, with {listed([f"{row['classes']:,}" for row in rows])} classes, the loss of a batch takes
        {loss} times as long as with hard labels, with one layer before it {layer} times (on a GPU {gpu_loss}, with the
        layer {gpu_layer}), and keeps {listed(kept)} times the memory for its backward pass. The targets of a million
        items take {listed(dense)} GB as rows, and {listed(votes)} MB as five votes an item, which is how they are kept
        here ([CPU](benchmarks/results/target_cost.json), [GPU](benchmarks/results/target_cost_gpu.json))."""


def _cost_rows(name: str) -> list[dict[str, Any]]:
    return list(json.loads((COSTS / name).read_text("utf-8"))["result"]["rows"])


def _times(rows: Sequence[Mapping[str, Any]], what: str) -> str:
    return listed([f"{row['times_hard'][what]['soft']:.2f}" for row in rows])


def _studies(results: Path, link: str) -> Iterator[str]:
    """A line a study: what it asks, and the first thing that it found."""
    read = (study.read(results / "studies") for study in studies_of("soft-labels").values())
    rows = [f"| [{one.question}]({link}/studies/{one.name}.md) | {one.plain[0]} |" for one in read if one and one.plain]
    if rows:
        yield "Beside the table, one question at a time:"
        yield "\n".join(["| question | what was found |", "|---|---|", *rows])
