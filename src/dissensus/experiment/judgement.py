"""What is made of results: a verdict on every claim of a paper, what a reader wants to know, and the studies beside it.

Evidence and the scores of studies are all that it takes: no torch, no pydantic, no store.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from dissensus.base.errors import InputError
from dissensus.experiment.claims import (
    Answer,
    Enough,
    Ledger,
    answers,
    enough_by_set,
    judge_claims,
    read_claims,
    rules,
    votes_needed,
)
from dissensus.experiment.papers import Evidence, Paper, smoke_part
from dissensus.experiment.studies import FOLDER, Studied, studies_of


@dataclass(frozen=True)
class PaperJudgement:
    """Evidence on a paper, and what follows from it."""

    paper: Paper
    evidence: Evidence
    ledger: Ledger
    studies: Sequence[Studied]  # those whose scores are there

    @cached_property
    def answers(self) -> list[Answer]:
        return answers(self.ledger, self.evidence)

    @cached_property
    def smoke(self) -> bool:
        """Whether the runs are those of a smoke test, whose numbers say nothing about the paper."""
        return not self.evidence.comparable(self.paper)

    @property
    def tried(self) -> Paper:
        """The part of the paper that the runs are counted against."""
        return smoke_part(self.paper, self.evidence) if self.smoke else self.paper

    @property
    def rules(self) -> Mapping[str, Sequence[str]]:
        """By which claims are judged, in words."""
        return {claim.name: rules(claim) for claim in read_claims(self.paper.name).claims}

    @property
    def enough(self) -> list[tuple[str, str, list[Enough]]]:
        """How many votes are enough, by data set and method."""
        return enough_by_set(self.evidence)

    @property
    def votes_needed(self) -> Answer:
        """The same in a sentence."""
        return votes_needed(self.evidence)

    def write(self, folder: str | os.PathLike[str]) -> None:
        """The ledger, and the findings of each study."""
        self.ledger.write(folder)
        for one in self.studies:
            one.write(Path(folder) / FOLDER)


def judge(evidence: Evidence, paper: Paper, results: str | os.PathLike[str]) -> PaperJudgement:
    """Claims from the evidence, studies from their scores in the folder of results."""
    read = (study.read(Path(results) / FOLDER) for study in studies_of(paper.name).values())
    return PaperJudgement(paper, evidence, judge_claims(evidence, paper), [one for one in read if one is not None])


def results_of(paper: Paper, folder: str | os.PathLike[str], runs: bool = True) -> Evidence:
    """The evidence that lies in a folder. It must be the paper's; without ``runs``, there may be none."""
    if not (Path(folder) / "runs.csv").exists():
        if not runs:
            return Evidence({})
        if made := [name for name, study in studies_of(paper.name).items() if study.seeds_in(Path(folder) / FOLDER)]:
            raise InputError(f"{folder} holds studies, but no results of runs; name studies: --only {','.join(made)}")
    evidence = Evidence.read(folder)
    if foreign := [cell.protocol for cell in evidence.runs.values() if cell.protocol not in paper.protocols]:
        raise InputError(
            f"{folder} holds no results of {paper.name}: its runs are of the protocol {foreign[0]!r}, which is of "
            "another paper. Name that one."
        )
    return evidence
