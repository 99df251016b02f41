from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from dissensus.datasets import Dataset
from dissensus.experiment.studies.score import Score
from dissensus.experiment.studies.together import Whole, together
from dissensus.experiment.studies.trial import Asked, Making, Trial, TrialSetting, setting
from dissensus.training import many
from dissensus.votes import Votes


@dataclass(frozen=True)
class Small:
    """Items that can be learnt, with many votes each, and how to learn them in a moment."""

    data: Dataset
    how: TrialSetting


class Alone(Whole):
    """Remembers its scores."""

    rows: list[Score]

    def begun(self) -> None:
        pass

    def over(self, rows: list[Score]) -> None:
        self.rows = rows

    def failed(self, error: Exception) -> None:
        pass


def make_scores(*makings: Making) -> list[Score]:
    whole = Alone(makings)
    together([whole])
    return whole.rows


def make_trials(asked: Sequence[Asked]) -> list[Trial]:
    said: list[Trial] = []
    make_scores(Making(asked, lambda trials: said.extend(trials) or []))
    return said


@pytest.fixture(scope="session")
def scores_of() -> Callable[..., list[Score]]:
    """The scores of makings, one after the other."""
    return make_scores


@pytest.fixture(scope="session")
def trials() -> Callable[[Sequence[Asked]], list[Trial]]:
    """What trainings say that are asked for together, in the order of asking."""
    return make_trials


@pytest.fixture
def beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let trainings on a CPU go side by side, as if it were a GPU."""
    monkeypatch.setattr(many, "has_room", lambda under_way, width: len(under_way) < width)


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
