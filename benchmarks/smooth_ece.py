"""Is smooth ECE the same number as relplot's, and at least as fast, on 10^5 predictions?

Run: python benchmarks/smooth_ece.py
Three kinds of predictions, ten classes; both take the same predictions: ours (items, classes) with all its checks,
relplot the confidences that it works on. Interleaved, the median of the repeats.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import relplot
from measure import no_options, write_result

from dissensus.metrics import smooth_ece, softmax

ITEMS, CLASSES, REPEATS = 100_000, 10, 15


def predictions(scale: float, sharper: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities, and labels drawn from them; then the probabilities are made ``sharper`` than the truth."""
    random = np.random.default_rng(seed)
    logits = random.normal(size=(ITEMS, CLASSES)) * scale
    below = softmax(logits).cumsum(1) < random.random((ITEMS, 1))
    return softmax(logits, 1 / sharper), np.minimum(below.sum(1), CLASSES - 1)


CASES = {"calibrated": (2.0, 1.0), "overconfident": (2.0, 2.0), "saturated": (12.0, 1.0)}


def seconds(function: Callable[[], Any]) -> float:
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def compare(probs: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    confidence, hits = relplot.multiclass_logits_to_confidences(probs, labels, probs=True)
    ours, theirs = smooth_ece(probs, labels), float(relplot.smECE(confidence, hits))
    times = np.array(
        [
            (seconds(lambda: smooth_ece(probs, labels)), seconds(lambda: relplot.smECE(confidence, hits)))
            for _ in range(REPEATS)
        ]
    )
    ratio = times[:, 1] / times[:, 0]
    return {
        "value": ours,
        "value_relplot": theirs,
        "difference": abs(ours - theirs),
        "milliseconds": round(1e3 * float(np.median(times[:, 0])), 2),
        "milliseconds_relplot": round(1e3 * float(np.median(times[:, 1])), 2),
        "times_faster": round(float(np.median(ratio)), 2),
        "times_faster_quartiles": [round(float(q), 2) for q in np.quantile(ratio, [0.25, 0.75])],
    }


def main() -> None:
    cases = {name: compare(*predictions(*how, seed=0)) for name, how in CASES.items()}
    result = {"items": ITEMS, "classes": CLASSES, "repeats": REPEATS, "cases": cases}
    path = write_result("smooth_ece", result, "python benchmarks/smooth_ece.py", packages=("numpy", "scipy", "relplot"))
    for name, case in cases.items():
        print(f"{name}: {case['difference']:.1e} apart, {case['times_faster']} times as fast")
        assert case["difference"] < 1e-3, name
        assert case["times_faster"] >= 1, name
    print(path.relative_to(path.parents[2]))


if __name__ == "__main__":
    no_options(__doc__)
    main()
