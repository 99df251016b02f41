"""The README's part on soft labels: the answer, and a line a data set and model with its verdicts, as far as it is."""

from __future__ import annotations

import textwrap
from pathlib import Path

from dissensus.experiment.claims import Ledger
from dissensus.experiment.claims.answer import answer
from dissensus.experiment.papers import Evidence, read_paper
from dissensus.report.paper.ledger import SIGNS
from dissensus.report.paper.measured import Subject, measured
from dissensus.report.tables import number

CLAIMS = ("S1", "S2", "S3", "S4", "S5")


def soft_labels(results: Path, link: str = "results/soft-labels") -> str:
    """The whole part; nothing while no run is in ``results``."""
    if not (results / "runs.csv").exists() or not (results / "ledger.csv").exists():
        return ""
    evidence, paper = Evidence.read(results), read_paper("soft-labels")
    if not evidence.runs:
        return ""
    ledger = Ledger.from_csv((results / "ledger.csv").read_text("utf-8"))
    run = list(dict.fromkeys(cell.protocol for cell in evidence.runs.values()))
    title = f'"{paper.title}" ([arXiv {paper.arxiv}](https://arxiv.org/abs/{paper.arxiv}))'
    parts = [
        "## The soft-labels paper, on images and texts",
        _wrapped(
            f"""{title} claims that training on the votes instead of their majority keeps what people disagree about. Of
            the paper only the abstract was at hand, so `dissensus reproduce soft-labels` runs its design anew:
            {len(evidence.runs):,} of {len(paper.cells()):,} runs so far, on {len(run)} of {len(paper.protocols)} data
            sets and models."""
        ),
        "\n".join(f"{place}. {sentence}" for place, sentence in enumerate(answer(ledger, evidence), 1)),
        _table(evidence, ledger, [name for name in paper.protocols if name in run]),
        _wrapped(
            f"""Means over ten seeds, majority vote → soft labels. {", ".join(f"{s} {v}" for v, s in SIGNS.items())}, by
            rules that were written before the runs (`src/dissensus/experiment/papers/soft_labels_claims.toml`); ? also
            where the hard arm does not beat the most frequent class by five points. Every number and verdict:
            [{link}]({link}); `dissensus reproduce soft-labels --from {link}` makes tables, figures and the page from
            it."""
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _table(evidence: Evidence, ledger: Ledger, protocols: list[str]) -> str:
    head = ["data set and model", "KL ↓", "KL with a temperature ↓", "EntCorr ↑", "accuracy ↑", *CLAIMS]
    rows = ["| " + " | ".join(head) + " |", "|---" + "|---:" * 4 + "|:---:" * len(CLAIMS) + "|"]
    for name in protocols:
        numbers = [
            _both(evidence, name, metric, tempered)
            for metric, tempered in (("kl", False), ("kl", True), ("entropy_correlation", False), ("accuracy", False))
        ]
        signs = [SIGNS[ledger.row(claim, name).verdict] for claim in CLAIMS]
        rows.append("| " + " | ".join([name, *numbers, *signs]) + " |")
    return "\n".join(rows)


def _both(evidence: Evidence, protocol: str, metric: str, tempered: bool) -> str:
    hard, soft = (
        measured(evidence, Subject(metric, method, protocol=protocol, tempered=tempered))
        for method in ("majority", "soft")
    )
    return f"{number(hard.mean)} → {number(soft.mean)}" if hard and soft else "–"


def _wrapped(text: str) -> str:
    return textwrap.fill(" ".join(text.split()), 120, break_long_words=False, break_on_hyphens=False)
