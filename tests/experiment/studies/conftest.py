from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from dissensus.datasets import Dataset
from dissensus.experiment.studies.trial import TrialSetting, setting
from dissensus.votes import Votes


@dataclass(frozen=True)
class Small:
    """Items that can be learnt, with many votes each, and how to learn them in a moment."""

    data: Dataset
    how: TrialSetting


@pytest.fixture(scope="session")
def small() -> Small:
    return make_small()


def make_small(items: int = 90, votes: int = 40, seed: int = 0, name: str = "small", classes: int = 3) -> Small:
    chance = np.random.default_rng(seed)
    features = chance.normal(size=(items, classes)).astype(np.float32)
    share = np.exp(2 * features) / np.exp(2 * features).sum(1, keepdims=True)
    counts = np.stack([chance.multinomial(votes, row / row.sum()) for row in share.astype(np.float64)])
    table = Votes.from_counts(counts, classes=[f"class {number}" for number in range(classes)])
    data = Dataset(name, features, table, counts.argmax(1).astype(np.int64), groups=np.arange(items) // 2)
    return Small(data, setting(data, "mlp", options={"width": 8, "layers": 1}, epochs=10, batch_size=16))
