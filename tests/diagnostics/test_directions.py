"""Directions are those of their seed, whether they are kept or not."""

import numpy as np
import pytest
import torch

from dissensus.base.streams import bits, stream
from dissensus.diagnostics import Hessian, directions
from dissensus.diagnostics.directions import normals, packed_signs
from dissensus.diagnostics.lanczos import start


@pytest.mark.parametrize("kept", [directions.KEPT, 0])
def test_they_are_those_of_the_named_stream(kept, monkeypatch):
    monkeypatch.setattr(directions, "KEPT", kept)
    for seed in (0, 1, 0):
        np.testing.assert_array_equal(normals(70, seed, "a"), stream(seed, "a").standard_normal(70, np.float32))
        np.testing.assert_array_equal(packed_signs(70, seed, 3), bits(seed, "hutchinson", 3, at=2).view(np.uint8))


def test_large_ones_are_not_kept(monkeypatch):
    assert normals(70, 5, "b") is normals(70, 5, "b")
    assert packed_signs(70, 5, 0) is packed_signs(70, 5, 0)
    monkeypatch.setattr(directions, "KEPT", 69)
    assert normals(70, 5, "b") is not normals(70, 5, "b")
    assert packed_signs(70, 5, 0) is not packed_signs(70, 5, 0)


def test_who_changes_a_start_does_not_change_the_next():
    model = torch.nn.Linear(2, 3)
    hessian = Hessian(model, torch.randn(4, 2), torch.arange(4) % 3)
    before = start(hessian, 0).clone()
    start(hessian, 0).zero_()
    hessian._directions(1).zero_()
    assert torch.equal(start(hessian, 0), before)
    assert hessian._directions(1).any()
