"""Runs as the archives and merges meet them: small, whole, each with numbers of its own."""

import numpy as np
import pytest

from dissensus.records import RunStore, content_name, write_run


def predictions(seed=0, items=30, features=0):
    rng = np.random.default_rng(seed)
    arrays = {
        "ids": np.array([f"item {i}" for i in range(items)]),
        "counts": rng.multinomial(20, [0.5, 0.3, 0.2], size=items).astype(np.int32),
        "labels": rng.integers(0, 3, items),
        "best_logits": rng.normal(size=(items, 3)).astype(np.float32),
        "last_logits": rng.normal(size=(items, 3)).astype(np.float32),
        "best_epoch": 0,
        "last_epoch": 1,
    }
    if features:
        for name in ("best_features", "last_features"):
            arrays[name] = rng.normal(size=(items, features)).astype(np.float32)
    return arrays


@pytest.fixture
def add():
    """Put a run into a store, and return its name, which is that of its plan."""

    def call(store, seed=0, items=30, features=0, **changes):
        plan = {"method": "soft", "seeds": {"split": seed}, "data": {"ordered": False}}
        name = content_name(plan)
        history = [{"epoch": 0, "soft_nll": 1 / 3}, {"epoch": 1, "soft_nll": 0.3}]
        with store.claim(name) as staging:
            write_run(staging, plan, {"seconds": 1.5}, history, predictions(seed, items, features) | changes)
        return name

    return call


@pytest.fixture
def store(tmp_path):
    return RunStore(tmp_path / "runs")
