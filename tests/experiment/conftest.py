from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dissensus.experiment import Comparison, Source

CLASSES = ("maybe", "no", "yes")


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """60 items with three features and seven votes each, as a user has them: two files."""
    folder = tmp_path_factory.mktemp("mine")
    chance = np.random.default_rng(0)
    features = chance.normal(size=(60, 3)).astype(np.float32)
    share = np.exp(2 * features) / np.exp(2 * features).sum(1, keepdims=True)
    lines = ["item,annotator,label"]
    for item in range(60):
        drawn = chance.choice(3, size=7, p=share[item] / share[item].sum())
        lines += [f"{item},ann{k},{CLASSES[label]}" for k, label in enumerate(drawn)]
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")
    np.save(folder / "features.npy", features)
    return folder


@pytest.fixture(scope="session")
def source(folder):
    return Source(votes=str(folder / "labels.csv"), inputs=str(folder / "features.npy"))


@pytest.fixture(scope="session")
def data(source):
    return source.load()


@pytest.fixture(scope="session")
def tiny(source):
    """Two methods, two seeds, two epochs."""
    return Comparison(
        data=source.model_dump(exclude_defaults=True),
        methods=["soft", "sls"],
        seeds=2,
        model={"name": "mlp", "options": {"width": 8, "layers": 1}},
        recipe={"epochs": 2, "batch_size": 16, "lr": 0.05},
    )
