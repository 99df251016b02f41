from __future__ import annotations

from pathlib import Path

import pytest

from dissensus.datasets import Texts
from dissensus.models.text import Encoder, find_encoder

PAIRS = Texts(
    ["a man sleeps .", "a dog runs in the park .", "a man sleeps .", "the cat eats ."],
    ["somebody rests .", "a cat runs .", "the man is not outside in the park .", "a cat eats outside ."],
)


@pytest.fixture
def encoder(tiny_encoder: Path) -> Encoder:
    return find_encoder(tiny_encoder)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data folder of the test's own."""
    monkeypatch.setenv("DISSENSUS_DATA", str(tmp_path))
    return tmp_path / "cache"


@pytest.fixture
def pairs() -> Texts:
    return PAIRS
