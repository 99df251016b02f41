"""The rules by which a comparison is judged. They are stated here, before any run is made, and nowhere else.

- Score: the metric's mean over the evaluation items, one number a seed and method.
- Checkpoint: the epoch with the lowest soft NLL on the selection items, which are neither trained on nor scored.
- Temperature: one number a run, fitted by soft cross-entropy on the selection items with the votes that the run was
  given, in every method alike. A KL that a temperature could have bought is told apart from one that it could not.
- Test: two-sided exact Wilcoxon over paired seeds, Holm over all pairs of methods, 5 %. One of two is better where the
  mean difference is on the side of the ranks.
- Margin: what counts as the same (one seed-to-seed standard deviation of the published runs for KL), tested as
  equivalence, 5 %, Holm over all pairs.

With four methods there are six pairs, so eight seeds are the fewest that can ever reject: 6 · 2 / 2⁸ = .047.
"""

from __future__ import annotations

from dataclasses import dataclass

ALPHA = 0.05


@dataclass(frozen=True)
class Rule:
    """One row of the verdict: a metric, whether a temperature was fitted first, and what counts as the same."""

    metric: str
    margin: float
    tempered: bool = False


RULES = (
    Rule("kl", margin=0.025),
    Rule("kl", margin=0.025, tempered=True),
    Rule("entropy_correlation", margin=0.02),
)
