"""What is not begun: runs that this machine cannot make."""

from __future__ import annotations

from dissensus.base.errors import InputError
from dissensus.base.words import many
from dissensus.experiment.machine import device, needs_gpu
from dissensus.experiment.reproduce.reproduction import Reproduction
from dissensus.experiment.reproduce.several import Several
from dissensus.experiment.reproduce.standing import Standing


def refuse_without_gpu(of: Reproduction | Several, now: Standing) -> None:
    """Published models are trained in a precision of GPUs."""
    if now.left and any(map(needs_gpu, now.plans.values())) and device() == "cpu":
        are = "is" if len(now.left) == 1 else "are"
        raise InputError(
            f"{many(len(now.left), 'run')} of {of.paper.name} {are} left, for which a CUDA GPU is needed, and this "
            "machine has none. Without one: --smoke tries everything on small data, --plan says what would run, "
            "--results-only collects what is in the store, and --from rebuilds all from results."
            + ("" if of.paper.data else " Models of texts that need none: --protocol frozen.")
        )
