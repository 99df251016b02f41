"""Predictions, human distributions and labels to score: ordinary, and as extreme as they come."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

ITEMS = 300


@dataclass(frozen=True)
class Case:
    probs: np.ndarray
    human: np.ndarray
    labels: np.ndarray


def _dirichlet(classes: int, spread: float, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.full(classes, spread), ITEMS)


def _one_hot(classes: int, seed: int) -> np.ndarray:
    return np.eye(classes)[np.random.default_rng(seed).integers(0, classes, ITEMS)]


def _votes(classes: int, each: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.multinomial(each, rng.dirichlet(np.full(classes, 0.5), ITEMS)) / each


CASES = {
    "ordinary": (_dirichlet(10, 0.5, 1), _votes(10, 50, 2)),
    "few votes": (_dirichlet(3, 1.0, 3), _votes(3, 5, 4)),
    "two classes": (_dirichlet(2, 1.0, 5), _dirichlet(2, 1.0, 6)),
    "one-hot predictions": (_one_hot(4, 7), _votes(4, 5, 8)),
    "one-hot votes": (_dirichlet(4, 0.3, 9), _one_hot(4, 10)),
    "one-hot both": (_one_hot(4, 11), _one_hot(4, 12)),
    "uniform predictions": (np.full((ITEMS, 5), 0.2), _votes(5, 20, 13)),
    "uniform votes": (_dirichlet(5, 0.5, 14), np.full((ITEMS, 5), 0.2)),
    "float32": (_dirichlet(10, 0.5, 15).astype(np.float32), _votes(10, 50, 16).astype(np.float32)),
    "saturated": (1 / (1 + np.exp(-np.linspace(-40, 40, ITEMS)[:, None] * [1, -1])), _votes(2, 50, 17)),
    "one item": (_dirichlet(3, 1.0, 18)[:1], _votes(3, 5, 19)[:1]),
}


@pytest.fixture(params=CASES)
def case(request) -> Case:
    probs, human = CASES[request.param]
    labels = np.random.default_rng(20).integers(0, probs.shape[1], len(probs))
    likely = probs.argmax(1)
    return Case(probs, human, np.where(np.arange(len(probs)) % 3 > 0, likely, labels))


@pytest.fixture
def ordinary() -> Case:
    probs, human = CASES["ordinary"]
    return Case(probs, human, human.argmax(1))
