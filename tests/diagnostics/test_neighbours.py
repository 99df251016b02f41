"""Distances on a device are those of the plain arrays."""

import numpy as np
import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.diagnostics import auroc, knn, neighbours
from dissensus.diagnostics.neighbours import knn_on

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
CPU = torch.device("cpu")


@pytest.fixture(params=DEVICES)
def device(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    return torch.device(request.param)


@pytest.mark.parametrize("block", [100, neighbours._BLOCK])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("k", [1, 5, 40])
def test_they_are_those_of_arrays(monkeypatch, device, k, dtype, block):
    monkeypatch.setattr(neighbours, "_BLOCK", block)
    chance = np.random.default_rng(0)
    features, bank = (chance.normal(scale=4, size=(items, 6)).astype(dtype) for items in (25, 40))
    features[3] = 0  # as after a ReLU
    bank[:2] = features[:2]
    found = knn_on(device, features, bank, k)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, knn(features, bank, k), rtol=1e-12, atol=1e-7)  # the root of 1e-16 next to 0


def test_a_score_is_the_same(device):
    chance = np.random.default_rng(1)
    bank, inside, outside = (
        np.maximum(chance.normal(size=(n, 64)) - far, 0) for n, far in ((800, 0), (300, 0), (200, 0.2))
    )
    two = [
        [near(items, bank, 50) for items in (inside, outside)] for near in (knn, lambda *given: knn_on(device, *given))
    ]
    assert auroc(*two[1]) == pytest.approx(auroc(*two[0]), abs=1e-12)


def test_bad_input_is_told_as_for_arrays():
    for features, bank, k in (
        ([[1.0]], [[1.0], [2.0]], 50),
        ([[1.0]], [[1.0, 2.0]], 1),
        ([[0.0], [np.inf]], [[1.0]], 1),
    ):
        with pytest.raises(InputError) as one:
            knn(features, bank, k)
        with pytest.raises(InputError) as two:
            knn_on(CPU, features, bank, k)
        assert str(two.value) == str(one.value)
