"""How many votes an item are enough: the fewest from which on more of them buy nothing that counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

import numpy as np
from numpy.typing import NDArray

from dissensus.experiment.claims.measured import MAY_DIVERGE
from dissensus.experiment.papers import Evidence
from dissensus.metrics import METRICS
from dissensus.stats.correction import rejected_in_order
from dissensus.stats.student import p_not_worse

ALPHA = 0.05


@dataclass(frozen=True)
class Enough:
    """Of one metric: the fewest votes that are enough, "all" where none fewer are; None before all seeds are there."""

    metric: str
    margin: float
    votes: int | str | None
    p: dict[int, float]  # of the numbers of votes that were tested: that it is not worse by the margin
    barred: bool = False  # whether the model has learned too little for that to count
    added: bool = False  # whether the margin was set when results had been seen


def votes_enough(
    evidence: Evidence,
    metric: str,
    margin: float,
    *,
    protocols: Sequence[str],
    method: str,
    votes: Sequence[int],
    checkpoint: str = "best",
    seeds: int = 10,
) -> Enough:
    """From the largest number of votes downwards, each against all votes; the first that may be worse ends it.

    Of several protocols, their mean by seed. The order is fixed before, so the tests need no correction: a number of
    votes is only tested where all larger ones were enough. A seed in which a run diverged is left out; if there are
    more than claims may lose so, nothing is said.
    """
    downwards = sorted(votes, reverse=True)
    lost = [_lost(evidence, metric, protocols, method, number, checkpoint) for number in downwards]
    few = [_diverged(evidence, protocols, method, number) for number in downwards]
    whole = takewhile(lambda one: len(one[0]) >= seeds - min(one[1], MAY_DIVERGE * seeds), zip(lost, few, strict=True))
    p = [float(f"{p_not_worse(one, margin):.6g}") for one, _ in whole]
    shown = rejected_in_order(p, ALPHA)
    tested = dict(zip(downwards, p[: shown + 1], strict=False))
    if shown == len(p) < len(downwards):  # the next one is still to be made
        return Enough(metric, margin, None, tested)
    return Enough(metric, margin, downwards[shown - 1] if shown else "all", tested)


def _lost(
    evidence: Evidence, metric: str, protocols: Sequence[str], method: str, votes: int, checkpoint: str
) -> NDArray[np.float64]:
    """By how much it is worse than with all votes, a number a seed."""
    sign = -1.0 if METRICS[metric].higher_is_better else 1.0
    by_protocol = []
    for protocol in protocols:
        few, full = (
            evidence.numbers(metric, protocol=protocol, method=method, votes=number, checkpoint=checkpoint)
            for number in (votes, "all")
        )
        by_protocol.append({seed: sign * (few[seed] - full[seed]) for seed in few if seed in full})
    shared = sorted(set.intersection(*(set(one) for one in by_protocol)))
    lost = np.array([np.mean([one[seed] for one in by_protocol]) for seed in shared], np.float64)
    return lost[np.isfinite(lost)]


def _diverged(evidence: Evidence, protocols: Sequence[str], method: str, votes: int) -> int:
    """In how many seeds a run with so many votes, or with all, diverged."""
    wanted = {(protocol, method, number, 1, 0) for protocol in protocols for number in (votes, "all")}
    return len({cell.seed for cell in evidence.diverged if cell.family in wanted})
