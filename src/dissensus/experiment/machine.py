"""The machine that runs are made on: its device, what it cannot make, and how many threads a run takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager

from dissensus.base.errors import InputError
from dissensus.experiment.plan import Plan


def device() -> str:
    """Where runs are made here."""
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def device_name() -> str:
    """As ``about.json`` has it."""
    import torch

    return torch.cuda.get_device_name() if device() == "cuda" else "cpu"


def needs_gpu(plan: Plan) -> bool:
    """A CPU has no TF32, and most of them go through bf16 slower than through 32 bits."""
    return plan.recipe.precision in ("tf32", "bf16")


def refuse_other_machine(plans: Iterable[Plan]) -> None:
    """What a plan means does not depend on the machine, so a precision that this one lacks is no other in its place."""
    lost = [plan for plan in plans if needs_gpu(plan)]
    if lost and device() == "cpu":
        runs = "this run asks" if len(lost) == 1 else f"{len(lost)} runs ask"
        precisions = " and ".join(sorted({plan.recipe.precision for plan in lost}))
        raise InputError(
            f"{runs} for the precision {precisions}, made for CUDA GPUs, and this machine has none. Give the same "
            "command on a machine that has one; or train in 32 bits here, which makes other runs: --recipe "
            'precision=fp32 (precision = "fp32" under [recipe] in a plan). On a CPU a resnet18 takes about a day for '
            "its 200 epochs; to try things out, add --epochs 2 or --model small-cnn to that."
        )


def one_thread() -> AbstractContextManager[None]:
    """The same numbers in one process as in many; and on small models one thread is the fastest, too."""
    return threads(1)


@contextmanager
def threads(number: int) -> Iterator[None]:
    """So many inside, and as many as before after it."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
