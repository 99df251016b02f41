"""Worlds in which the claims on soft labels hold, or do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np

from dissensus.experiment.claims import Ledger, judge_claims, read_claims
from dissensus.experiment.papers import Cell, Evidence, read_paper

from .conftest import hash_of

PAPER, CLAIMS = read_paper("soft-labels"), read_claims("soft-labels")
NAMES = [claim.name for claim in CLAIMS.claims]
ALONE, MEAN = "chaosnli-snli-frozen", "mean-chaosnli-frozen"
SWEPT = ("chaosnli-snli-frozen", "chaosnli-mnli-frozen", "chaosnli-alpha-frozen")

Base = Callable[[str, Cell, str, bool], float]  # metric, training, slice, tempered


def as_claimed(metric: str, cell: Cell, part: str = "all", tempered: bool = False) -> float:
    """A world in which every claim holds, and all our questions are answered with yes."""
    soft, hard = cell.method not in ("majority", "label-smoothing"), cell.method in ("sls", "multipass")
    few = 0.0 if cell.votes == "all" or cell.votes > 5 else 0.2 / cell.votes
    gain = 0.0 if cell.votes == 1 else 0.02 * hard
    kl = (0.30 if tempered else 0.40) - 0.12 * soft + few - gain
    return {
        "kl": kl,
        "soft_nll": kl + 0.5,
        "js_distance": 0.5 * kl,
        "soft_brier": 0.4 * kl,
        "accuracy": 0.70 + 0.01 * hard,
        "entropy_correlation": 0.20 + 0.2 * soft - few + gain,
        "entropy_correlation_pearson": 0.25 + 0.2 * soft,
        "entropy_gap": -0.1 if soft else -0.3,
        "best_epoch": 20.0 if soft else 8.0,
        "overfitting": 0.01 if soft else 0.2,
        "majority_class": 0.50,
    }[metric]


EPOCHS = {"resnet18": 200, "small-cnn": 60, "frozen": 40, "fine-tuned": 10}
METRICS = ("kl", "soft_nll", "js_distance", "soft_brier", "accuracy", "entropy_correlation",
           "entropy_correlation_pearson", "entropy_gap")  # fmt: skip


def world(
    base: Base = as_claimed,
    noise: float = 1e-3,
    seeds: int = 10,
    protocols: tuple[str, ...] = SWEPT,
    at_last: Base | None = None,
) -> Evidence:
    rows, histories = [], []
    for cell in PAPER.cells():
        if cell.protocol not in protocols or cell.seed >= seeds:
            continue
        histories.append({"cell": cell, "soft_nll": np.zeros(EPOCHS[PAPER.protocols[cell.protocol].model])})
        chance = np.random.default_rng(hash_of(cell))

        def say(name: str, value: float, cell: Cell = cell, chance=chance, **more: object) -> None:
            rows.append({"cell": cell, "name": name, "value": value + noise * chance.normal(), **more})

        for checkpoint in ("best", "last"):
            for tempered in (False, True):
                for metric in METRICS:
                    value = (at_last or base if checkpoint == "last" else base)(metric, cell, "all", tempered)
                    say(metric, value, checkpoint=checkpoint, tempered=tempered)
                gap = base("entropy_gap", cell, "disputed", tempered)
                say("entropy_gap", gap, checkpoint=checkpoint, tempered=tempered, slice="disputed")
        for name in ("best_epoch", "overfitting", "majority_class"):
            say(name, base(name, cell, "all", False))
        if cell.method == "soft" and cell.votes == "all":
            say("kl", 0.45, other="shares")
            say("js_distance", 0.20, other="shares")
    return Evidence.from_rows(rows, histories)


@cache
def good() -> Ledger:
    return judge_claims(world(), PAPER)


def changed(**what: Callable[[float, Cell], float]) -> Base:
    def base(metric: str, cell: Cell, part: str, tempered: bool) -> float:
        value = as_claimed(metric, cell, part, tempered)
        return what[metric](value, cell) if metric in what else value

    return base


def arm(method: str, change: Callable[[float], float]) -> Callable[[float, Cell], float]:
    return lambda value, cell: change(value) if cell.method == method else value


def judged(claim: str, base: Base, view: str = ALONE, noise: float = 1e-3, seeds: int = 10):
    few = replace(CLAIMS, claims=tuple(one for one in CLAIMS.claims if one.name == claim))
    return judge_claims(world(base, noise, seeds), PAPER, few).row(claim, view)
