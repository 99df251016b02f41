"""What ``Recipe.precision`` means on a device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from dissensus.base.errors import InputError
from dissensus.training.engine import Engine


@contextmanager
def arithmetic(precision: str, device: torch.device, engine: Engine) -> Iterator[None]:
    """fp32: products in 32 bits, also where a GPU would round them to 19 (TF32) by default. tf32: with that rounding.

    bf16 is autocast around the forward pass (:func:`autocast`), on top of TF32 where there is a GPU; weights, momentum
    and batch-norm stay in fp32. With graphs, cuDNN measures its algorithms and takes the fastest; without, it takes
    deterministic ones. The caller's own settings come back at the end.
    """
    if device.type != "cuda":
        if precision == "tf32":
            raise InputError("precision tf32 is for CUDA devices, but the model is on the CPU. Use fp32.")
        yield
        return
    tf32 = precision != "fp32"
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    try:
        with torch.backends.cudnn.flags(
            enabled=True, benchmark=engine.graph, deterministic=not engine.graph, allow_tf32=tf32
        ):
            yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def autocast(precision: str, device: torch.device) -> torch.autocast:
    """The context of a forward pass."""
    return torch.autocast(device.type, torch.bfloat16, enabled=precision == "bf16")
