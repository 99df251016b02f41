"""Two models whose weights can be put side by side."""

from __future__ import annotations

from torch import nn

from dissensus.base.errors import InputError


def same_weights(model_a: nn.Module, model_b: nn.Module) -> None:
    """An error unless the two models have weights and buffers of the same names and shapes.

    >>> same_weights(nn.Linear(2, 3), nn.Linear(2, 3))
    >>> same_weights(nn.Linear(2, 3), nn.Linear(4, 3))
    Traceback (most recent call last):
    dissensus.base.errors.InputError: the two models must have the same architecture, but weight has the shape (3, 2)
    in the first and (3, 4) in the second.
    """
    first, second = model_a.state_dict(), model_b.state_dict()
    odd = sorted(first.keys() ^ second.keys())
    if odd:
        where = "first" if odd[0] in first else "second"
        raise InputError(f"the two models must have the same architecture, but only the {where} one has {odd[0]}.")
    for name, value in first.items():
        if value.shape != second[name].shape:
            raise InputError(
                f"the two models must have the same architecture, but {name} has the shape {tuple(value.shape)} in "
                f"the first and {tuple(second[name].shape)} in the second."
            )
