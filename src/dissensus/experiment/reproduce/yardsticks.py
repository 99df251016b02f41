"""What a number is held against: people, a guess without a look at the item, the most frequent class; and entropy where
people disagree.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from dissensus.evaluation import human_shares, plain_probs, tempered_probs
from dissensus.experiment.papers import RunNumber
from dissensus.metrics import METRICS, ceiling, corrected_ceiling, entropy_gap, most_disputed
from dissensus.records import CHECKPOINTS, StoredRun

YARDSTICK = "soft"  # the method whose runs yardsticks are told with: all methods of a seed have the same items
OF = ("kl", "js_distance", "soft_nll", "soft_brier", "entropy_correlation", "entropy_correlation_pearson", "accuracy")
DRAWS = 4  # a seed


def yardsticks(run: StoredRun, all_of_them: bool) -> Iterator[RunNumber]:
    """What can be said of the evaluation items without a model; ``other`` says what it is.

    With every run ``majority_class``, the accuracy of saying the most frequent class. Once a seed, of each metric:
    "ceiling", half of the annotators as a prediction of the other half; "corrected-ceiling", the same for correlations
    as if there were as many votes in each half; "uniform", all classes alike; "shares", the shares of the classes among
    all votes on these items, the same for every item.
    """
    counts, labels = run.predictions["counts"], run.predictions["labels"]
    yield RunNumber(run.name, "majority_class", float(np.bincount(labels).max()) / len(labels))
    if not all_of_them:
        return
    human, seed = human_shares(run), run.plan["seeds"]["split"]  # every split deals votes in its own way
    divisible = counts[counts.sum(1) > 1]
    guesses = {"uniform": np.full(human.shape, 1 / human.shape[1]), "shares": np.tile(human.mean(0), (len(human), 1))}
    for name in OF:
        told = {"ceiling": ceiling, "corrected-ceiling": corrected_ceiling}
        for other, estimate in ((other, of(name, divisible, draws=DRAWS, seed=seed)) for other, of in told.items()):
            if estimate is not None:
                yield RunNumber(run.name, name, estimate.mean, other=other)
        for other, probs in guesses.items():
            if METRICS[name].per_item and METRICS[name].needs == "human":  # a guess has one entropy, and ties for a top
                yield RunNumber(run.name, name, METRICS[name](probs, human, labels), other=other)


def entropy_gaps(run: StoredRun) -> Iterator[RunNumber]:
    """Entropy of the model less that of the annotators on the most disputed items, plain and after a temperature.

    On all items it is one of the metrics.
    """
    human = human_shares(run)
    disputed = most_disputed(human)
    for checkpoint in CHECKPOINTS:
        if np.isfinite(run.predictions[f"{checkpoint}_logits"]).all():
            for tempered, probs_of in ((False, plain_probs), (True, tempered_probs)):
                gap = entropy_gap(probs_of(run, checkpoint)[disputed], human[disputed])
                yield RunNumber(run.name, "entropy_gap", float(gap.mean()), checkpoint, tempered, "disputed")
