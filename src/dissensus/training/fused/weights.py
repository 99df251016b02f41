"""All parameters of a model in one piece of memory, so that one kernel updates them."""

from __future__ import annotations

from collections.abc import Collection

import torch
from torch import Tensor, nn

from dissensus.training.fused.stem import DEPTH

ALIGNED = 64  # numbers a parameter begins at a multiple of: whole rows of memory


class Weights:
    """fp32 weights, momentum and gradients, and for bf16 a copy of the weights in it; the model's parameters are views.

    Filters lie as (out, height, width, in), the channels-last order, and those of the stem are 32 numbers apart.
    """

    def __init__(self, model: nn.Module, stem: Tensor, half: bool, apart: Collection[Tensor] = ()) -> None:
        """Parameters that are updated ``apart`` lie behind the others, which are the first ``together`` numbers."""
        self.stem = stem
        self.begins: dict[int, int] = {}
        length = self.together = 0
        later = {id(parameter) for parameter in apart}
        for parameter in sorted(model.parameters(), key=lambda parameter: id(parameter) in later):
            self.begins[id(parameter)] = length
            size = len(parameter) * DEPTH if parameter is stem else parameter.numel()
            length += -(-size // ALIGNED) * ALIGNED
            if id(parameter) not in later:
                self.together = length
        self.values, self.momentum, self.grad = torch.zeros((3, length), device=stem.device)
        self.half = torch.zeros(length, device=stem.device, dtype=torch.bfloat16) if half else None
        for parameter in model.parameters():
            place = self.view(self.values, parameter)
            place.copy_(parameter.detach())
            parameter.data = place
        self.refresh()

    def view(self, memory: Tensor, parameter: Tensor) -> Tensor:
        """The parameter's part of ``values``, ``momentum`` or ``grad``, as the model has it."""
        begin = self.begins[id(parameter)]
        if parameter.ndim != 4:
            return memory[begin : begin + parameter.numel()].view(parameter.shape)
        _, ins, height, width = parameter.shape
        step = DEPTH if parameter is self.stem else height * width * ins
        return memory[begin:].as_strided(parameter.shape, (step, 1, width * ins, ins))

    def matrix(self, memory: Tensor, parameter: Tensor) -> Tensor:
        """The same of a filter as a matrix, (out, height * width * in); of the stem with its zeros."""
        begin, outs = self.begins[id(parameter)], len(parameter)
        depth = DEPTH if parameter is self.stem else parameter.numel() // outs
        return memory[begin : begin + outs * depth].view(outs, depth)

    def computing(self) -> Tensor:
        """The weights that convolutions use."""
        return self.values if self.half is None else self.half

    def refresh(self) -> None:
        """Bring the copy in half precision up to date, after somebody else wrote to the weights."""
        if self.half is not None:
            self.half.copy_(self.values)
