"""Do a few votes an item foretell what many would say? On data whose items have fifty votes or a hundred.

Run: python benchmarks/votes_needed.py
The spread over items is fitted to 2, 3 or 5 votes an item, drawn from all. From it come the KL that 40 votes gain over
fewer, and on how many items a few votes have the majority of all people. What really happens is counted: some votes of
an item are drawn, and the others judge them. Means over five draws.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from measure import no_options, write_result
from numpy.typing import NDArray

from dissensus.base.streams import stream
from dissensus.datasets import load
from dissensus.votes import Votes
from dissensus.votes.nearness import Spread

SETS = ("chaosnli-snli", "chaosnli-mnli", "chaosnli-alpha", "cifar10h")
PILOTS = (2, 3, 5)
NUMBERS = (1, 2, 3, 5, 10, 20, 40)
DRAWS = 5

Counts = NDArray[np.int64]


def drawn(votes: Votes, number: int, draw: int) -> tuple[Counts, Counts]:
    """So many votes of every item, and the others."""
    few = votes.subsample(number, seed=draw).counts()
    return few, votes.counts() - few


def loss(few: Counts, others: Counts, spread: Spread) -> float:
    """Of the others' votes, predicted by few."""
    told = (few + spread.strength * spread.shares) / (few.sum(1, keepdims=True) + spread.strength)
    return float(-((others * np.log(told)).sum(1) / others.sum(1)).mean())


def same_majority(few: Counts, others: Counts, draw: int) -> float:
    """Ties by lot, on both sides."""
    random = stream(draw, "ties")
    chosen, judged = ((counts + random.random(counts.shape)).argmax(1) for counts in (few, others))
    return float((chosen == judged).mean())


def foretold(votes: Votes, pilot: int) -> dict[str, Any]:
    spreads = [Spread.of(votes.subsample(pilot, seed=100 + draw)) for draw in range(DRAWS)]
    rows = []
    for number in NUMBERS:
        halves = [drawn(votes, number, draw) for draw in range(DRAWS)]
        rows.append(
            {
                "votes": number,
                "loss": float(np.mean([loss(*half, spread) for half, spread in zip(halves, spreads, strict=True)])),
                "kl_foretold": float(np.mean([spread.distance(number) for spread in spreads])),
                "same_majority": float(np.mean([same_majority(*half, draw) for draw, half in enumerate(halves)])),
                "same_majority_foretold": float(np.mean([spread.same_majority(number) for spread in spreads])),
            }
        )
    last = rows[-1]
    gains = [
        {
            "votes": row["votes"],
            "gain": round(row["loss"] - last["loss"], 4),
            "gain_foretold": round(row["kl_foretold"] - last["kl_foretold"], 4),
            "same_majority": round(row["same_majority"], 4),
            "same_majority_foretold": round(row["same_majority_foretold"], 4),
        }
        for row in rows
    ]
    return {"pilot": pilot, "strength": round(float(np.mean([one.strength for one in spreads])), 3), "rows": gains}


def main() -> None:
    result = {name: [foretold(load(name).votes, pilot) for pilot in PILOTS] for name in SETS}
    path = write_result("votes_needed", result, "python benchmarks/votes_needed.py", packages=("numpy", "scipy"))
    for name, pilots in result.items():
        for pilot in pilots:
            told = (f"{row['votes']}: {row['gain']:.3f} ({row['gain_foretold']:.3f})" for row in pilot["rows"][:-1])
            print(f"{name}, from {pilot['pilot']} votes: {', '.join(told)}")
            told = (f"{row['same_majority']:.3f} ({row['same_majority_foretold']:.3f})" for row in pilot["rows"])
            print(f"  same majority: {', '.join(told)}")
    print(path.relative_to(path.parents[2]))


if __name__ == "__main__":
    no_options(__doc__)
    main()
