"""Runs as a GPU machine hands them over, with made-up predictions whose scores are known beforehand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from dissensus.experiment import Plan
from dissensus.experiment.defaults import CIFAR
from dissensus.models import ResNet18
from dissensus.records import RunStore, write_run

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
ITEMS = 40
ABOUT = {
    "dissensus": "0.1.0",
    "commit": None,
    "python": "3.11.7",
    "packages": {"torch": "2.13.0"},
    "device": "NVIDIA H200",
    "width": 4,
    "engine": {"graph": True},
}


@pytest.fixture(autouse=True)
def benchmarks_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def plan_of(
    method: str, votes: int | str, seed: int, precision: str, select: float, version: int, options: dict[str, str]
) -> Plan:
    """As the comparison files beside the benchmarks ask for it."""
    return Plan(
        data={"name": "cifar10h", "votes": "a" * 64, "inputs": "b" * 64, "classes": ["cat", "dog"]},
        method=method,
        votes=votes,
        draw="subsample" if votes == "all" else "resample",
        seeds=seed,
        split={"test": 0.2, "select": select},
        model={"name": CIFAR.model, "options": options},
        recipe={**CIFAR.recipe, "precision": precision},
        versions={"model": version},
    )


def predictions(nll: float, wrong: int = 0) -> dict[str, np.ndarray]:
    """Two classes, almost all votes for the first; the model gives it exp(-nll), but 1/6 for the first ``wrong``."""
    right = np.full(ITEMS, np.exp(-nll))
    right[:wrong] = 1 / 6
    right = right * (1 - 1e-6 * np.arange(ITEMS))  # no two alike: the entropies can be ranked
    logits = np.log(np.stack([right, 1 - right], 1)).astype(np.float32)
    counts = np.zeros((ITEMS, 2), np.int32)
    counts[:, 0] = 50
    counts[::2, 1] = np.arange(ITEMS // 2) % 3  # some disagreement, so that entropies differ
    return {
        "ids": np.array([f"item {i}" for i in range(ITEMS)]),
        "counts": counts,
        "labels": np.zeros(ITEMS, np.int64),
        "best_logits": logits,
        "last_logits": logits,
        "best_epoch": np.array(0),
        "last_epoch": np.array(1),
    }


@pytest.fixture
def add() -> Callable[..., str]:
    """Put a run into a store, and return its name."""

    def call(
        store: RunStore,
        method: str,
        votes: int | str,
        seed: int,
        precision: str,
        nll: float,
        wrong: int = 0,
        select: float = 0.0,
        about: dict | None = None,
        version: int = ResNet18.version,
        options: dict | None = None,
        **changes: np.ndarray,
    ) -> str:
        plan = plan_of(method, votes, seed, precision, select, version, options or {})
        history = [{"epoch": epoch, "soft_nll": nll, "train_loss": nll} for epoch in range(2)]
        with store.claim(plan.name) as staging:
            write_run(staging, plan.to_dict(), ABOUT | (about or {}), history, predictions(nll, wrong) | changes)
        return plan.name

    return call
