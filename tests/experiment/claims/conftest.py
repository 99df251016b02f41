"""A world that can be told to be any way: what each number would be, and how much it varies from seed to seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

import numpy as np
import pytest

from dissensus.experiment.claims import Claims, read_claims
from dissensus.experiment.claims.judge import with_temperature
from dissensus.experiment.claims.planned import planned, plans
from dissensus.experiment.claims.quantities import Number, quantities
from dissensus.experiment.papers import Cell, Evidence, Paper, read_paper

Base = Callable[[Number], float]  # what a number is, on average
Noise = Callable[[Number], float]  # its standard deviation over seeds

HARD = ("sls", "multipass", "deterministic-control")
GAIN = {5: 0.05, 10: 0.045, 25: 0.025, 50: 0.02, "all": 0.001}
PAIRWISE = ("cka", "debiased_cka", "cam_stability")
WHOLE_RUN = ("best_epoch", "epochs_to_95")


@pytest.fixture(scope="session")
def paper() -> Paper:
    return read_paper("basins")


@pytest.fixture(scope="session")
def claims() -> Claims:
    return read_claims("basins")


def as_claimed(number: Number) -> float:
    """A world in which every claim holds."""
    hard = number.method in HARD
    table = {
        "soft_nll": _nll,
        "kl": lambda one: _nll(one) - 0.15,
        "accuracy": lambda one: {"mixup": 0.885, "shuffled-sls": 0.105}.get(one.method, 0.870),
        "soft_brier": lambda one: {"majority": 0.19, "label-smoothing": 0.18}.get(one.method, 0.155),
        "ece": _ece,
        "debiased_ece": lambda one: _ece(one) - 0.018,
        "smooth_ece": lambda one: {"majority": 0.08}.get(one.method, 0.019),
        "entropy_correlation": _entropy_correlation,
        "js_distance": lambda one: {"majority": 0.25}.get(one.method, 0.20),
        "total_variation": lambda one: {"majority": 0.22}.get(one.method, 0.19),
        "brier_reliability": lambda one: 0.004,
        "brier_resolution": lambda one: 0.71 if hard else 0.70,
        "best_epoch": lambda one: 120.0 if hard else 167.0,
        "epochs_to_95": lambda one: 100.0 if hard else 136.0,
        "gradient_variance_entropy": lambda one: 0.94,
        "gradient_variance_partial": lambda one: 0.1,
        "proposition1_deviation": lambda one: 1e-15,
        "cka": lambda one: 0.92 if hard else 0.88,
        "debiased_cka": lambda one: 0.90 if hard else 0.85,
        "cam_stability": lambda one: 0.90 if hard else 0.80,
    }
    if number.metric in table:
        return table[number.metric](number)
    if number.metric.startswith("barrier"):
        return 0.1 if number.other.endswith("+reorder") else 0.5
    if number.metric.endswith("_auroc"):
        return {"deterministic-control": 0.90, "soft": 0.86}.get(number.method, 0.88)
    if "gain" in number.metric:
        return 0.1
    return {"soft": 240.0, "shuffled-sls": 18.0}.get(number.method, 104.0)  # curvature


def _nll(number: Number) -> float:
    if number.method == "shuffled-sls":
        return float(np.log(10))
    level = {"majority": 0.73, "label-smoothing": 0.63, "mixup": 0.55}.get(number.method, 0.51)
    stale = {1: 0.0, 5: 0.04, 10: 0.10, 50: 0.17}[number.hold]
    few = 0.0 if number.votes == "all" else 0.07
    return level + stale + few - (GAIN[number.votes] if number.method in HARD else 0.0)


def _ece(number: Number) -> float:
    return {"majority": 0.07, "label-smoothing": 0.06, "mixup": 0.098}.get(number.method, 0.019)


def _entropy_correlation(number: Number) -> float:
    level = {"majority": 0.29, "label-smoothing": 0.21, "mixup": 0.25, "shuffled-sls": 0.0}.get(number.method, 0.39)
    return level + (0.012 if number.method in HARD and number.votes != "all" else 0.0)


def little(number: Number) -> float:
    """Noise that leaves no doubt."""
    level = abs(as_claimed(number))
    return 1e-3 * (level if 0 < level < 1e-9 else max(level, 0.1))


def world(
    claims: Claims,
    paper: Paper,
    base: Base = as_claimed,
    noise: Noise = little,
    seeds: Iterable[int] = range(10),
    only: str | None = None,
) -> Evidence:
    """Evidence of all planned numbers that the claims (or the one that is named) ask for, in all views."""
    seeds = list(seeds)
    rows: dict[tuple[object, ...], dict[str, object]] = {}
    for view in claims.views:
        known = plans(paper, view.protocol)
        for claim in claims.claims:
            if only not in (None, claim.name):
                continue
            for part in with_temperature(claim):
                if part.kind in ("identity", "follows"):
                    continue
                for quantity in quantities(part):
                    kept = planned(quantity, known, part.fewer)
                    for number in kept.numbers if kept else ():
                        for row in _rows(number, view.protocol, view.checkpoint, base, noise, seeds):
                            rows[tuple(row[key] for key in KEYS)] = row
    return Evidence.from_rows(rows.values())


KEYS = ("cell", "name", "checkpoint", "tempered", "slice", "where", "other")


def _rows(
    number: Number, protocol: str, checkpoint: str, base: Base, noise: Noise, seeds: list[int]
) -> Iterable[dict[str, object]]:
    chance = np.random.default_rng(abs(hash_of(number, protocol, checkpoint)))

    def cell(seed: int, method: str = number.method, reorder: int = 0) -> Cell:
        return Cell(protocol, method, number.votes, number.hold, seed, reorder)

    told = {
        "name": number.metric,
        "checkpoint": "" if number.metric in WHOLE_RUN else checkpoint,
        "tempered": number.tempered,
        "slice": number.slice,
        "where": number.where,
    }
    if number.metric in PAIRWISE:
        for one, two in combinations(seeds, 2):
            value = base(number) + noise(number) * chance.normal()
            yield {**told, "cell": cell(one), "other": cell(two), "value": value}
        return
    for seed in seeds:
        value = base(number) + noise(number) * chance.normal()
        other: object = {"far": "streetview", "textures": "dtd", "near": "cifar100"}.get(number.outside, "")
        if number.other:
            again = number.other.endswith("+reorder")
            other = cell(seed, number.other.removesuffix("+reorder"), 500 if again else 0)
        yield {**told, "cell": cell(seed), "other": other, "value": value}


def hash_of(*what: object) -> int:
    """The same in every process."""
    import zlib

    return zlib.crc32(repr(what).encode())
