import pytest
from torch import nn

from dissensus.base.errors import InputError
from dissensus.diagnostics.weights import same_weights
from dissensus.models import MLP, SmallCNN


def test_models_of_one_architecture_pass():
    assert same_weights(SmallCNN((1, 8, 8), 2), SmallCNN((1, 8, 8), 2)) is None


def test_what_only_one_of_them_has_is_named():
    with pytest.raises(InputError, match=r"only the second one has trunk\.2\.bias"):
        same_weights(MLP((4,), 2, layers=1), MLP((4,), 2, layers=2))
    with pytest.raises(InputError, match="only the first one has bias"):
        same_weights(nn.Linear(2, 2), nn.Linear(2, 2, bias=False))


def test_a_width_that_differs_is_named():
    with pytest.raises(InputError, match=r"trunk\.0\.weight has the shape \(8, 4\) in the first and \(9, 4\)"):
        same_weights(MLP((4,), 2, width=8), MLP((4,), 2, width=9))
