"""A study: what is trained, how it is judged, and what is left on disk."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import dissensus
from dissensus.base.files import written_whole
from dissensus.experiment.about import commit
from dissensus.experiment.studies.finding import Finding, write_findings
from dissensus.experiment.studies.score import Score, read_scores, write_scores

Say = Callable[[str], object]


def quiet(line: str) -> None:
    """Say nothing of how far a study is."""


@dataclass(frozen=True)
class Study:
    """One question. ``judge`` and ``verdicts`` are functions of the scores alone, and need no training."""

    name: str
    question: str
    judge: Callable[[Sequence[Score]], list[Finding]]
    verdicts: Callable[[Sequence[Finding]], list[str]]
    make: Callable[..., list[Score]] | None = None  # (seeds, say, model, encoder); None: from stored predictions

    def with_model(self, model: str) -> Study:
        """The same question to another model: tables of another name."""
        return self if model == "frozen" else replace(self, name=f"{self.name}-{model}")

    def write(self, rows: Sequence[Score], folder: str | os.PathLike[str], command: str) -> list[str]:
        """The scores of every model, and with them how they were made; then what follows. Returns the verdicts."""
        here = Path(folder)
        write_scores(here / f"{self.name}-scores.csv", rows)
        made = {"command": command, "dissensus": dissensus.__version__, "commit": commit(), "machine": _machine()}
        _write_json(here / f"{self.name}-made.json", {"study": self.name, "question": self.question, **made})
        return self.rebuild(folder)

    def rebuild(self, folder: str | os.PathLike[str]) -> list[str]:
        """Findings and verdicts from the scores in a folder."""
        here = Path(folder)
        findings = self.judge(read_scores(here / f"{self.name}-scores.csv"))
        told = self.verdicts(findings)
        write_findings(here / f"{self.name}.csv", findings)
        with written_whole(here / f"{self.name}.md") as part:
            lines = [f"# {self.question}", "", *(f"- {line}" for line in told), "", *(f"    {one}" for one in findings)]
            part.write_text("\n".join(lines) + "\n", "utf-8")
        return told


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"


def _write_json(path: Path, content: dict[str, object]) -> None:
    with written_whole(path) as part:
        part.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
