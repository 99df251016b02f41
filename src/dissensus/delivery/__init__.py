"""From a target to what the learner sees, epoch by epoch; one file per delivery."""

from __future__ import annotations

from dissensus.delivery.code import code_of
from dissensus.delivery.delivery import Delivery
from dissensus.delivery.deterministic_control import DeterministicControl
from dissensus.delivery.label_smoothing import LabelSmoothing
from dissensus.delivery.majority_vote import MajorityVote
from dissensus.delivery.methods import Method
from dissensus.delivery.multipass import Multipass
from dissensus.delivery.shuffled_sls import ShuffledSLS
from dissensus.delivery.sls import StochasticLabelSampling
from dissensus.delivery.soft import Soft

DELIVERIES: dict[str, type[Delivery]] = {
    delivery.name: delivery
    for delivery in (
        Soft,
        StochasticLabelSampling,
        Multipass,
        DeterministicControl,
        ShuffledSLS,
        MajorityVote,
        LabelSmoothing,
    )
}
"""Name -> class, called as ``DELIVERIES[name](source, seed=0, hold=1)``."""

METHODS: dict[str, Method] = {name: Method(name, name) for name in DELIVERIES} | {
    "mixup": Method("mixup", "majority", {"mixup": 1.0})
}
"""Name -> method: every delivery is one, and mixup of majority labels is another."""

PUBLISHED = (
    *("soft", "sls", "multipass", "deterministic-control", "shuffled-sls", "majority", "label-smoothing"),
    "mixup",
)
"""Methods of a release: tests hold what a version of them means, so that their code may be written anew."""


def is_hard(method: str) -> bool:
    """Whether the learner sees classes and not distributions.

    >>> is_hard("sls"), is_hard("mixup"), is_hard("soft")
    (True, True, False)
    """
    return DELIVERIES[METHODS[method].delivery].hard


__all__ = [
    "DELIVERIES",
    "METHODS",
    "PUBLISHED",
    "Delivery",
    "DeterministicControl",
    "LabelSmoothing",
    "MajorityVote",
    "Method",
    "Multipass",
    "ShuffledSLS",
    "Soft",
    "StochasticLabelSampling",
    "code_of",
    "is_hard",
]
