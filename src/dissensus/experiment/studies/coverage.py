"""Downstream: risk against coverage, from stored predictions.

A user who may leave hard items to people answers the items that the model is surest of. Which labels make a model whose
surest answers are right? Risk is how often an answer is not the class with most votes; *soft* risk how often a person,
asked at random, would contradict it (:func:`~dissensus.metrics.soft_risk_coverage`).

**Rule** (each word by :mod:`~dissensus.experiment.studies.finding`; soft against majority labels, at the best epoch,
plain; margins .01). Per data set and model:

- Soft labels make answers **safer** if the area under the curve of soft risk is lower, **less safe** if it is higher,
  **as safe** if it is the same; else it is undecided. Risk against the class with most votes is told beside it.
- They put the items in a **better order** if the excess area is lower: what is left when accuracy is taken out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from dissensus.evaluation import human_shares, plain_probs, tempered_probs
from dissensus.experiment.papers import Cell, read_paper
from dissensus.experiment.studies.finding import BEYOND_CLASS, Contrast, Finding, class_doubt, in_words
from dissensus.experiment.studies.score import Score, Scores
from dissensus.experiment.studies.study import Given, OneSeed, Study
from dissensus.experiment.studies.trial import Making
from dissensus.metrics import accuracy, excess_aurc, risk_coverage, soft_risk_coverage
from dissensus.records import CHECKPOINTS, StoredRun

PAPER = read_paper("soft-labels")
COVERAGES = tuple(share / 10 for share in range(1, 11))
JUDGED = ("soft_aurc", "aurc", "excess_aurc")


def coverage(runs: Mapping[Cell, StoredRun]) -> list[Score]:
    """The curves of runs, at ten coverages, with their areas."""
    rows = [row for cell, run in runs.items() if run.diverged is None for row in _rows(cell, run)]
    return sorted(rows, key=lambda row: (row.data, row.condition, row.method, row.seed))


def make(given: Given) -> OneSeed:
    """Of the runs that are in the store, those of the paper's main table, whatever number of votes that means."""
    main = [one for one in PAPER.experiments if one.name == "main"]
    runs = {cell: run for cell, run in given.runs().items() if any(cell in one for one in main)}

    def made(seed: int) -> list[Score]:
        return coverage({cell: run for cell, run in runs.items() if cell.seed == seed})

    return lambda seed: [Making((), lambda said: made(seed))]


def _rows(cell: Cell, run: StoredRun) -> Iterator[Score]:
    human, labels = human_shares(run), run.predictions["labels"]
    for checkpoint in CHECKPOINTS:
        for tempered, probs_of in ((False, plain_probs), (True, tempered_probs)):
            probs = probs_of(run, checkpoint)
            curve, soft = risk_coverage(probs, labels), soft_risk_coverage(probs, human)
            hits = accuracy(probs, labels)
            values = {"accuracy": hits, BEYOND_CLASS: hits - np.bincount(labels).max() / len(labels)}
            values |= {"aurc": curve.area, "excess_aurc": excess_aurc(probs, labels), "soft_aurc": soft.area}
            values |= {f"risk at {share:g}": curve.at(share) for share in COVERAGES}
            values |= {f"soft risk at {share:g}": soft.at(share) for share in COVERAGES}
            yield Score(
                run.plan["data"]["name"],
                PAPER.protocols[cell.protocol].model,  # and not the run's: in a small test all have one
                cell.method,
                cell.seed,
                "votes",
                checkpoint,
                tempered,
                len(labels),
                values,
            )


def _contrasts(scores: Scores, metric: str) -> Iterator[Contrast]:
    for data in scores.names("data"):
        for model in scores.where(data=data).names("condition"):
            here = _whole(scores.where(data=data, condition=model))
            if len(here.names("seed")) < 2 or not {"soft", "majority"} <= set(here.names("method")):
                continue  # a sweep that has hardly begun
            doubt, soft = class_doubt(here.where(method="majority")), here.where(method="soft")[metric]
            for method in here.names("method"):
                if method != "soft":
                    other = here.where(method=method)[metric]
                    yield Contrast(f"{data}, {model}", "risk against coverage", "soft", method, soft, other, doubt)


def _whole(scores: Scores) -> Scores:
    """The seeds that every method has: a sweep may still be under way."""
    seeds = [{row.seed for row in scores.rows if row.method == method} for method in scores.names("method")]
    return Scores(row for row in scores.rows if row.seed in set.intersection(*seeds))


def _told(data: str, findings: Sequence[Finding]) -> Iterator[str]:
    here = {(one.second, one.metric): one for one in findings if one.data == data}
    soft, plain, order = (here["majority", metric] for metric in JUDGED)
    safe = soft.said("safer than", "less safe than", "as safe as", "neither safer nor less safe, for certain, than")
    spread = f"{soft.difference:+.4f} [{soft.low:+.4f}, {soft.high:+.4f}]"
    beside = (
        f"area of soft risk {soft.first_mean:.3f}, {spread}, of risk {plain.first_mean:.3f}, {plain.difference:+.4f}"
    )
    why = f"; {soft.doubt}" if soft.doubt else ""
    yield f"{data}: soft labels make answers {safe} majority labels ({beside}{why})."
    good = order.said("better", "worse", "equally good", "neither better nor worse for certain")
    spread = f"{order.difference:+.4f} [{order.low:+.4f}, {order.high:+.4f}]"
    yield f"{data}: the order of items is {good} (excess area {spread})."


def plain(findings: Sequence[Finding]) -> Iterator[str]:
    """How often people contradict the answers, on average over all shares of items that are answered."""
    against = [one for one in findings if one.second == "majority"]
    if told := in_words((one for one in against if one.metric == "soft_aurc"), _contradicted, _percent):
        yield f"If a model answers only what it is surest of, {told}."
    if told := in_words((one for one in against if one.metric == "excess_aurc"), _ordered):
        yield f"Accuracy apart, {told}."


def _contradicted(one: Finding) -> str:
    often = one.said(
        "less often with soft than", "more often with soft than", "as often with soft as",
        "neither more nor less, for certain, with soft than",
    )  # fmt: skip
    return f"people contradict it {often} with majority labels"


def _percent(one: Finding) -> str:
    points = f"{100 * one.difference:+.1f} [{100 * one.low:+.1f}, {100 * one.high:+.1f}] points"
    return f"{100 * one.first_mean:.1f} % of its answers instead of {100 * one.second_mean:.1f} %, {points}"


def _ordered(one: Finding) -> str:
    well = one.said("better", "worse", "equally well", "neither better nor worse for certain")
    return f"soft labels tell hard items from easy ones {well}"


STUDY = Study(
    "coverage",
    "Are the surest answers of a model safer with soft labels?",
    make,
    _contrasts,
    _told,
    plain,
    model="",
    views=tuple((metric, False) for metric in JUDGED),
)
