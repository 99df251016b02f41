"""Runs as a store would hold them, made without training: logits are the truth, sharpened and disturbed."""

from __future__ import annotations

import hashlib
import json
from functools import partial
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from dissensus.base.streams import stream
from dissensus.records import StoredRun, write_run
from dissensus.report import Comparison, collect

CLASSES = ("cat", "dog", "owl", "fox")
# sharpness and noise of the logits: majority is too sure, the others differ by chance
WORLD = {"majority": (3.0, 0.6), "soft": (1.0, 0.3), "sls": (1.0, 0.3), "multipass": (1.0, 0.3)}


VOID = {"meta", "img", "br", "col"}


class Outline(HTMLParser):
    """Tags with their attributes, and the text; fails where tags do not close in order."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.said: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.said.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.said).split())

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


@pytest.fixture(scope="session")
def outline_of():
    return Outline


def plan_of(method: str, seed: int, **changes) -> dict:
    plan = {
        "data": {"name": "pets", "votes": "a" * 64, "inputs": "b" * 64, "classes": list(CLASSES), "version": 1},
        "split": {"test": 0.2, "select": 0.1},
        "votes": "all",
        "draw": "subsample",
        "target": "shares",
        "method": method,
        "hold": 1,
        "model": {"name": "mlp", "options": {}},
        "recipe": {"epochs": 6, "lr": 0.1, "mixup": 0.0},
        "seeds": dict.fromkeys(("split", "init", "order", "delivery"), seed),
        "versions": {"delivery": 1, "model": 1, "recipe": 1},
    }
    return {
        field: value | changes.get(field, {}) if isinstance(value, dict) else changes.get(field, value)
        for field, value in plan.items()
    }


def items_of(seed: int, items: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    random = stream(seed, "items")
    truth = random.dirichlet(np.full(classes, 0.5), items) * 0.98 + 0.02 / classes
    return truth, random.multinomial(20, truth)


def logits_of(truth: np.ndarray, method: str, seed: int, name: str) -> np.ndarray:
    sharp, noise = WORLD.get(method, (1.0, 0.5))
    random = stream(seed, "logits", method, name)
    return (sharp * np.log(truth) + noise * random.normal(size=truth.shape)).astype(np.float32)


def make(folder: Path, method: str, seed=0, *, items=60, classes=4, truth=True, select=True, edit=None, **changes):
    """A run in ``folder``; ``edit`` is given its predictions to change, ``changes`` are fields of its plan."""
    plan = plan_of(method, seed, **changes)
    name = hashlib.sha256(json.dumps(plan, sort_keys=True).encode()).hexdigest()[:16]
    real, counts = items_of(seed, items, classes)
    predictions = {
        "ids": np.array([f"item-{seed}-{i}" for i in range(items)]),
        "counts": counts.astype(np.int32),
        "labels": counts.argmax(1),
        "best_logits": logits_of(real, method, seed, "best"),
        "last_logits": logits_of(real, method, seed, "last"),
        "best_epoch": 3,
        "last_epoch": 5,
    }
    if truth:
        predictions["truth"] = real.astype(np.float32)
    if select:
        other, votes = items_of(seed + 1000, items // 2, classes)
        predictions["select_ids"] = np.array([f"select-{i}" for i in range(len(other))])
        predictions["select_target"] = (votes / votes.sum(1, keepdims=True)).astype(np.float32)
        predictions["select_best_logits"] = logits_of(other, method, seed, "select best")
        predictions["select_last_logits"] = logits_of(other, method, seed, "select last")
    if edit is not None:
        edit(predictions)
    epochs = np.arange(6)
    history = {"epoch": epochs, "soft_nll": 1.2 - 0.2 * epochs + 0.03 * epochs**2 + 0.01 * seed}
    about = {"dissensus": "0.1.0", "device": "cpu", "packages": {"numpy": "2.0"}, "seconds": 1.5, "source": {}}
    path = folder / name
    path.mkdir(parents=True, exist_ok=True)
    write_run(path, plan, about, history, predictions)
    return StoredRun(name, path)


@pytest.fixture
def make_run(tmp_path: Path):
    return partial(make, tmp_path / "runs")


@pytest.fixture(scope="session")
def runs(tmp_path_factory) -> list[StoredRun]:
    """Four methods, eight seeds: what the rules ask for."""
    folder = tmp_path_factory.mktemp("runs")
    return [make(folder, method, seed) for method in WORLD for seed in range(8)]


@pytest.fixture(scope="session")
def comparison(runs) -> Comparison:
    return collect(runs)
