"""A derivative needs a function: models whose outputs change by themselves are refused, with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from dissensus.base.errors import InputError
from dissensus.evaluation.predict import evaluating

REPEAT = 1e-5  # relative: two passes over the same items differ by rounding at most, on any device
ALONE = 1e-3  # relative: another number of items may choose another algorithm, which sums in another order


def refuse_random(model: nn.Module, inputs: Tensor) -> None:
    r"""An error unless, in evaluation mode, :math:`f(x)` is the same twice and does not depend on the items beside x.

    The first fails where dropout is left on, the second where batch-norm uses the statistics of the batch. The model's
    modes and buffers and the state of the random numbers are what they were when this returns.

    >>> refuse_random(nn.Sequential(nn.Linear(4, 3), nn.Dropout()), torch.ones(8, 4))
    >>> class LeftOn(nn.Dropout):
    ...     def train(self, mode=True):
    ...         return super().train(True)
    >>> refuse_random(nn.Sequential(nn.Linear(4, 3), LeftOn()), torch.ones(8, 4))
    Traceback (most recent call last):
    dissensus.base.errors.InputError: the model gives other outputs for the same inputs, in evaluation mode, too; ...
    """
    refuse_batch_statistics(model)
    with evaluating(model), torch.no_grad(), _undisturbed(model, inputs.device):
        first, second = _recorded(model, inputs), _recorded(model, inputs)
        if not all(value.isfinite().all() for value in first[-1][2]):
            raise InputError(
                "the model's outputs are not finite. Its weights or the inputs hold NaN, or numbers that are too large."
            )
        if not _close(first[-1][2], second[-1][2], REPEAT):
            raise InputError(
                "the model gives other outputs for the same inputs, in evaluation mode, too; it begins in "
                f"{_culprit(first, second)}. Curvature needs a deterministic model: turn off dropout and sampling."
            )
        half = (len(inputs) + 1) // 2
        beside_others = tuple(output[:half] for output in first[-1][2])
        if not _close(beside_others, _tensors(model(inputs[:half])), ALONE):
            raise _mixes()


def refuse_batch_statistics(model: nn.Module) -> None:
    """An error where it can be told beforehand: batch-norm without statistics of its own fails for a single item."""
    for name, module in model.named_modules():
        if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_mean is None:
            raise _mixes(f": {name!r} ({type(module).__name__}) has no running statistics")


def _mixes(told: str = "") -> InputError:
    return InputError(
        f"the model's output for an item depends on the other items of the batch, in evaluation mode, too{told}. "
        "Curvature needs one function an item: give batch-norm its running statistics (track_running_stats=True)."
    )


Record = tuple[str, tuple[Tensor, ...], tuple[Tensor, ...]]  # a module in words, what entered it, what left it


def _recorded(model: nn.Module, inputs: Tensor) -> list[Record]:
    """What entered and left every module, in the order in which they finish: the model itself is the last."""
    records: list[Record] = []

    def note(words: str) -> Any:
        def hook(_: nn.Module, entered: Any, left: Any) -> None:
            records.append((words, _tensors(entered), _tensors(left)))

        return hook

    handles = [
        module.register_forward_hook(note(f"{name!r} ({type(module).__name__})" if name else type(module).__name__))
        for name, module in model.named_modules()
    ]
    try:
        model(inputs)
    finally:
        for handle in handles:
            handle.remove()
    return records


def _culprit(first: list[Record], second: list[Record]) -> str:
    """The first module that turned the same input into another output."""
    for (words, entered, left), (_, entered_again, left_again) in zip(first, second, strict=False):
        if _close(entered, entered_again, REPEAT) and not _close(left, left_again, REPEAT):
            return words
    return first[-1][0]


def _tensors(value: Any) -> tuple[Tensor, ...]:
    """Copies, since a module may work in place on what entered it."""
    values = value if isinstance(value, (tuple, list)) else (value,)
    return tuple(item.clone() for item in values if isinstance(item, Tensor))


def _close(a: tuple[Tensor, ...], b: tuple[Tensor, ...], relative: float) -> bool:
    return all(
        x.shape == y.shape and bool((x - y).abs().max() <= relative * y.abs().max())
        for x, y in zip(a, b, strict=True)
        if y.numel()
    )


@contextmanager
def _undisturbed(model: nn.Module, device: torch.device) -> Iterator[None]:
    """Buffers, and the state of the random numbers, as before: looking must not change what is looked at."""
    before = [(buffer, buffer.clone()) for buffer in model.buffers()]
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        try:
            yield
        finally:
            for buffer, value in before:
                buffer.copy_(value)
