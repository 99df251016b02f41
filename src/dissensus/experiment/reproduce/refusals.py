"""What is not begun: runs that this machine cannot make, and results that would take the place of better ones."""

from __future__ import annotations

from pathlib import Path

from dissensus.base.errors import InputError
from dissensus.base.words import many
from dissensus.experiment.papers import Evidence
from dissensus.experiment.reproduce.reproduction import Reproduction
from dissensus.experiment.reproduce.several import Several
from dissensus.experiment.reproduce.standing import Standing
from dissensus.experiment.run import device


def refuse_without_gpu(of: Reproduction | Several, now: Standing) -> None:
    """Published models are trained in TF32, which only a GPU has."""
    if now.left and any(plan.recipe.precision == "tf32" for plan in now.plans.values()) and device() == "cpu":
        are = "is" if len(now.left) == 1 else "are"
        raise InputError(
            f"{many(len(now.left), 'run')} of {of.paper.name} {are} left, for which a CUDA GPU is needed, and this "
            "machine has none. Without one: --smoke tries everything on small data, --plan says what would run, "
            "--results-only collects what is in the store, and --from rebuilds all from results."
            + ("" if of.paper.data else " Models of texts that need none: --protocol frozen.")
        )


def refuse_loss(of: Reproduction | Several, before: Evidence, folder: Path) -> None:
    """Results that cannot be made again from this store are not written over."""
    if lost := len(of.loses(before)):
        raise InputError(
            f"{folder} holds results of {many(lost, 'run')} that {'is' if lost == 1 else 'are'} not in the store "
            f"{of.store.path}, and would lose them. Bring the runs (dissensus runs merge), or give the --store that "
            "has them; or write elsewhere with --out, make runs alone with --runs-only, or build the page of what is "
            f"there with --from {folder}."
        )
