"""A study: what is made for a seed, what is compared with what, and in which words; and what is left on disk."""

from __future__ import annotations

import json
import os
import platform
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import dissensus
from dissensus.base.errors import StoreError
from dissensus.base.files import written_whole
from dissensus.experiment.about import commit
from dissensus.experiment.papers import Cell
from dissensus.experiment.studies.finding import VIEWS, Contrast, Finding, decide, write_findings
from dissensus.experiment.studies.score import Score, Scores, joined, read_scores, write_scores
from dissensus.experiment.studies.trial import Making
from dissensus.records import StoredRun

SEEDS = range(10)
FOLDER = "studies"  # of results, where scores and tables lie
OneSeed = Callable[[int], Sequence[Making]]


@dataclass(frozen=True)
class Given:
    """What a study is made from: a model to train, or runs of the paper that are there."""

    model: str
    runs: Callable[[], Mapping[Cell, StoredRun]] = dict
    encoder: str | None = None  # where it lies, if it is not the default


@dataclass(frozen=True)
class Study:
    """One question. All but ``make`` are functions of the scores alone, and need no training."""

    name: str
    question: str
    make: Callable[[Given], OneSeed]  # reads the data, and says what is to be made for a seed
    contrasts: Callable[[Scores, str], Iterable[Contrast]]  # every comparison that the rule needs, of a metric
    told: Callable[[str, Sequence[Finding]], Iterable[str]]  # the rule's sentences on a data set
    plain: Callable[[Sequence[Finding]], Iterable[str]]  # what was found, in plain words
    model: str = "frozen"  # that is trained; "" where runs of the paper are read instead
    checkpoint: str = "best"
    views: Sequence[tuple[str, bool]] = VIEWS  # metrics, and whether after a temperature
    leading: int = 1  # of the plain sentences, how many answer the question

    @property
    def trains(self) -> bool:
        return bool(self.model)

    @property
    def rule(self) -> list[str]:
        """By which it is judged: a sentence on the words, then a line each; from where it was fixed, the docstring."""
        text = (sys.modules[self.make.__module__].__doc__ or "").partition("**Rule**")[2]
        text = re.sub(r":\w+:`~?[\w.]*?(\w+)`", r"\1", text).replace("**", "").replace("*", "")
        return [" ".join(part.split()) for part in text.split("\n- ")]

    def judge(self, rows: Sequence[Score]) -> list[Finding]:
        """Every comparison by the one rule for all studies; nothing can be said of a single seed."""
        found: list[Finding] = []
        if len({row.seed for row in rows}) > 1:
            for metric, tempered in self.views:
                scores = Scores(rows).where(checkpoint=self.checkpoint, tempered=tempered)
                found += decide([*self.contrasts(scores, metric)], metric, tempered)
        return found

    def verdicts(self, findings: Sequence[Finding]) -> list[str]:
        """The rule's sentences, data set by data set."""
        names = dict.fromkeys(one.data for one in findings)
        return [sentence for data in names for sentence in self.told(data, findings)]

    def seeds_in(self, folder: str | os.PathLike[str]) -> set[int]:
        """The seeds whose scores lie there."""
        path = self._scores(folder)
        return {row.seed for row in read_scores(path)} if path.exists() else set()

    def encoders(self, folder: str | os.PathLike[str]) -> set[str | None]:
        """By which the scores that lie there were made; None is the default one."""
        made = made_of(Path(folder) / f"{self.name}-made.json") or {}
        return {one.get("encoder") for one in made.get("made", [])}

    def left(self, folder: str | os.PathLike[str], seeds: Iterable[int] = SEEDS) -> list[int]:
        """The seeds that are still to be made; where nothing is trained it takes moments, and all are made again."""
        there = self.seeds_in(folder) if self.trains else set()
        return [seed for seed in seeds if seed not in there]

    def keep(
        self, rows: Sequence[Score], folder: str | os.PathLike[str], command: str, encoder: str | None = None
    ) -> None:
        """Add scores to those that lie there, and say how they were made.

        That comes first: killed in between, the seed counts as left, and is made again. Where runs are read, they may
        be those of some data sets and models alone: what is known of the others stays, with how it was made.
        """
        path, here = self._scores(folder), Path(folder) / f"{self.name}-made.json"
        before = read_scores(path) if path.exists() else []
        arms = {row.arm for row in rows}
        stays = {(row.seed, _place(row)) for row in before if row.arm not in arms}
        version = {"dissensus": dissensus.__version__, "commit": commit()}
        how: dict[str, Any] = {"command": command, **version, "machine": _machine()}
        how |= {} if encoder is None else {"encoder": encoder}
        how |= {} if self.trains else {"of": sorted({_place(row) for row in rows})}
        makings = added((made_of(here) or {}).get("made", []), sorted({row.seed for row in rows}), how, stays)
        content = {"study": self.name, "question": self.question, "made": makings}
        with written_whole(here) as part:
            part.write_text(json.dumps(content, indent=2) + "\n", "utf-8")
        write_scores(path, joined(before, rows))

    def read(self, folder: str | os.PathLike[str]) -> Studied | None:
        """What the scores in a folder say; None where there are none."""
        path = self._scores(folder)
        if not path.exists():
            return None
        rows = read_scores(path)
        findings = self.judge(rows)
        made = made_of(Path(folder) / f"{self.name}-made.json") or {}
        return Studied(self, rows, findings, self.verdicts(findings), list(self.plain(findings)), made)

    def _scores(self, folder: str | os.PathLike[str]) -> Path:
        return Path(folder) / f"{self.name}-scores.csv"


@dataclass(frozen=True)
class Studied:
    """A study with its scores, and what follows from them."""

    study: Study
    scores: Sequence[Score]
    findings: Sequence[Finding]
    verdicts: Sequence[str]
    plain: Sequence[str]
    made: Mapping[str, Any]  # by which commands

    @property
    def name(self) -> str:
        return self.study.name

    @property
    def question(self) -> str:
        return self.study.question

    @property
    def seeds(self) -> int:
        return len({row.seed for row in self.scores})

    @property
    def short(self) -> str:
        """The answer in a line or two."""
        return " ".join(self.plain[: self.study.leading])

    def write(self, folder: str | os.PathLike[str]) -> None:
        """A table of findings, and a page to read: the answer, the rule's sentences, every comparison."""
        here = Path(folder)
        write_findings(here / f"{self.name}.csv", self.findings)
        lines = [f"# {self.question}", "", *self.plain, "", "## By the rule", ""]
        lines += [*(f"- {line}" for line in self.verdicts), "", "## Every comparison", ""]
        lines += [f"    {one}" for one in self.findings]
        with written_whole(here / f"{self.name}.md") as part:
            part.write_text("\n".join(lines) + "\n", "utf-8")


def made_of(path: Path) -> dict[str, Any] | None:
    """How scores were made, as it was written beside them."""
    if not path.exists():
        return None
    try:
        return dict(json.loads(path.read_text("utf-8")))
    except ValueError as error:
        raise StoreError(f"{path} is damaged ({error}).") from None


def added(
    made: Sequence[Mapping[str, Any]],
    seeds: Sequence[int],
    how: Mapping[str, Any],
    stays: Collection[tuple[int, str]] = (),
) -> list[dict[str, Any]]:
    """What was made how, with these seeds more; they may have been there, and were made again.

    An older making keeps such a seed where a score that it made ``stays``: (seed, what it is of).

    >>> added([{"command": "old", "seeds": [0, 1]}], [1, 2], {"command": "new"})
    [{'command': 'old', 'seeds': [0]}, {'command': 'new', 'seeds': [1, 2]}]
    >>> added([{"command": "new", "seeds": [0]}], [1], {"command": "new"})
    [{'command': 'new', 'seeds': [0, 1]}]
    >>> added([{"command": "old", "of": ["mine"], "seeds": [0, 1]}], [0, 1], {"command": "new"}, {(1, "mine")})
    [{'command': 'old', 'of': ['mine'], 'seeds': [1]}, {'command': 'new', 'seeds': [0, 1]}]
    """

    def left(one: Mapping[str, Any]) -> list[int]:
        known = {seed for seed, place in stays if place in one.get("of", [place])}
        return [seed for seed in one["seeds"] if seed not in seeds or seed in known]

    kept = [{**one, "seeds": left(one)} for one in made]
    alike = {seed for one in kept if one == {**how, "seeds": one["seeds"]} for seed in one["seeds"]}
    others = [one for one in kept if one["seeds"] and one != {**how, "seeds": one["seeds"]}]
    return [*others, {**how, "seeds": sorted(alike | set(seeds))}]


def _place(row: Score) -> str:
    return f"{row.data}, {row.condition}"


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
