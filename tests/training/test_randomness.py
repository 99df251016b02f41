from __future__ import annotations

import pytest
import torch

from dissensus.training.randomness import private_randomness


def test_numbers_are_those_of_the_seed_and_the_names() -> None:
    def draw(*path: int | str) -> float:
        with private_randomness() as reseed:
            reseed(*path)
            return float(torch.rand(1))

    assert draw(0, "layers", 1) == draw(0, "layers", 1)
    assert len({draw(0, "layers", 1), draw(0, "layers", 2), draw(1, "layers", 1), draw(0, "init")}) == 4


def test_the_caller_s_state_comes_back_even_after_an_error() -> None:
    before = torch.get_rng_state()

    def fail() -> None:
        with private_randomness() as reseed:
            reseed(0, "init")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert torch.equal(torch.get_rng_state(), before)
