from __future__ import annotations

import numpy as np
import pytest
import torch

from dissensus import metrics
from dissensus.base.errors import InputError
from dissensus.training.engine import Engine
from dissensus.training.held_out import HeldOut, closeness, multilabel_closeness

RNG = np.random.default_rng(0)
TRAINING, CPU = torch.zeros(4, 3), torch.device("cpu")


def test_closeness_is_what_the_metrics_say() -> None:
    logits = RNG.normal(size=(200, 5)).astype(np.float32) * 3
    human = RNG.multinomial(6, [0.2] * 5, 200) / 6  # with zeros and ties
    found = closeness(torch.from_numpy(logits), torch.from_numpy(human))
    probs = metrics.softmax(logits)
    assert float(found.soft_nll) == pytest.approx(metrics.soft_nll(probs, human).mean(), rel=1e-12)
    assert float(found.kl) == pytest.approx(metrics.kl(probs, human).mean(), rel=1e-9)
    assert float(found.accuracy) == metrics.accuracy(probs, human.argmax(1))


def test_multilabel_closeness_is_binary_cross_entropy() -> None:
    logits, human = RNG.normal(size=(50, 4)), RNG.integers(0, 4, (50, 4)) / 3
    found = multilabel_closeness(torch.from_numpy(logits), torch.from_numpy(human))
    q = 1 / (1 + np.exp(-logits))
    assert float(found.soft_nll) == pytest.approx(-(human * np.log(q) + (1 - human) * np.log(1 - q)).mean())
    exact = torch.from_numpy(np.clip(human, 1e-300, 1 - 1e-16))
    assert float(multilabel_closeness(exact.logit(), torch.from_numpy(human)).kl) == pytest.approx(0, abs=1e-12)
    assert float(found.accuracy) == ((logits > 0) == (human > 0.5)).mean()


@pytest.mark.parametrize(
    ("given", "multilabel", "message"),
    [
        (None, False, r"held_out must be a pair \(inputs, human\), but is of type NoneType"),
        ((np.zeros((2, 4)), np.eye(2)), False, r"held_out must have items of the shape \(3,\)"),
        ((np.zeros((2, 3)), np.eye(3)), False, "inputs of held_out has 2, human of held_out has 3"),
        ((np.zeros((2, 3)), np.ones((2, 2))), False, "the human of held_out must have rows that sum to 1"),
        (
            (np.zeros((2, 3)), 2 * np.ones((2, 2))),
            True,
            "the human of held_out must lie in 0 to 1, but row 0, column 0",
        ),
    ],
)
def test_a_wrong_pair_is_told_by_its_name(given: tuple, multilabel: bool, message: str) -> None:
    with pytest.raises(InputError, match=message):
        HeldOut.check("held_out", given, TRAINING, multilabel, CPU, Engine())


def test_multilabel_shares_need_not_sum_to_one() -> None:
    pair = np.zeros((2, 3)), np.ones((2, 2))
    assert HeldOut.check("held_out", pair, TRAINING, True, CPU, Engine()).human.sum() == 4
