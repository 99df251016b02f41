from __future__ import annotations

import numpy as np
import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.votes.ids import as_ids


def test_ids_of_one_kind():
    assert as_ids("items", np.array(["a", "b"], dtype=object)).tolist() == ["a", "b"]
    assert as_ids("items", np.array([3, 4], dtype=np.uint8)).dtype == np.int64
    assert as_ids("items", torch.tensor([3, 4])).tolist() == [3, 4]
    assert as_ids("items", []).dtype == np.int64
    for wrong, message in (
        ([True], "True at position 0 is neither"),
        (["a\0"], "position 0 is neither"),
        (np.ones((2, 2), int), r"shape \(n,\)"),
        ("abc", "must be a list of ids, but it is 'abc'"),
        (7, "must be a list of ids, but it is 7"),
        (torch.tensor(7), r"must be a list of ids, but it is tensor\(7\)"),
        (np.array([1.5]), "1.5.* at position 0 is neither"),
    ):
        with pytest.raises(InputError, match=message):
            as_ids("items", wrong)
