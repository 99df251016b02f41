"""The model and the recipe of a comparison that names none: those of the data set's papers, or small ones.

A plan spells them out, so a change here renames no run; it changes what a command without options asks for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dissensus.datasets import Dataset


@dataclass(frozen=True)
class Defaults:
    """What is not said; each field of the recipe counts where the comparison does not set it."""

    model: str
    recipe: Mapping[str, Any]


# Half the time of TF32, and the same results by the rule of benchmarks/gate.py.
CIFAR_PRECISION = "bf16"

# arXiv 2605.20642; mean and std are those of CIFAR-10's train images.
CIFAR = Defaults(
    "resnet18",
    {
        "epochs": 200,
        "batch_size": 128,
        "lr": 0.1,
        "momentum": 0.9,
        "weight_decay": 5e-4,
        "schedule": "cosine",
        "crop": 4,
        "flip": True,
        "precision": CIFAR_PRECISION,
        "mean": (0.4914, 0.4822, 0.4465),
        "std": (0.2470, 0.2435, 0.2616),
    },
)

DEFAULTS = {"cifar10h": CIFAR, "cifar10n": CIFAR}

SMALL = {"epochs": 30, "batch_size": 64, "lr": 0.05}  # a few thousand items on a CPU


# A head on a frozen encoder, and an encoder that is fine-tuned with it, on a few thousand texts.
TEXT = {
    # By seeds 100 to 102: on ChaosNLI KL is the same from 3e-5 to 3e-4, HS-Brexit needs 1e-4. With these the best epoch
    # is on average the first (ChaosNLI's abductive part, which stays at chance) to the 41st (HS-Brexit, soft).
    "frozen": {"epochs": 60, "batch_size": 32, "lr": 1e-4, "weight_decay": 0.01, "optimizer": "adamw"},
    # Those that are usual for encoders of this size; not tuned.
    "fine-tuned": {
        "epochs": 10,
        "batch_size": 32,
        "lr": 5e-5,
        "weight_decay": 0.01,
        "optimizer": "adamw",
        "schedule": "linear",
        "warmup": 0.1,
    },
}


def defaults_for(name: str | None, data: Dataset, model: str | None = None) -> Defaults:
    """Those of the named set; of any other, and of a user's own files (no name), by the kind of their inputs.

    For texts the recipe is that of the model that was asked for, if one was.
    """
    if data.texts:
        return Defaults("frozen", TEXT.get(model or "frozen", {}))
    return DEFAULTS.get(name or "") or Defaults("small-cnn" if data.images else "mlp", SMALL)
