from __future__ import annotations

import numpy as np
import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.models import make
from dissensus.training import Job, Recipe, fit, fit_many

X = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
MLP = make("mlp", (5,), 3)


def deliver(epoch: int) -> np.ndarray:
    return np.arange(40) % 3


def test_every_job_has_the_result_it_has_alone_and_its_own_place() -> None:
    recipe, held_out = Recipe(epochs=2, batch_size=16), (X[:6], np.eye(3)[np.arange(6) % 3])
    jobs = (Job(MLP, X, deliver, recipe, seed=seed, held_out=held_out) for seed in (4, 0, 2))
    found = fit_many(jobs, width=2)
    for seed, fitted in zip((4, 0, 2), found, strict=True):
        alone = fit(MLP, X, deliver, recipe, seed=seed, held_out=held_out)
        np.testing.assert_array_equal(fitted.last.logits, alone.last.logits)
        assert all(torch.equal(a, b) for a, b in zip(fitted.model.parameters(), alone.model.parameters(), strict=True))


def test_no_jobs_no_results() -> None:
    assert fit_many([]) == []


def test_a_width_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="width must be a whole number of at least 1, but is 0"):
        fit_many([], width=0)
