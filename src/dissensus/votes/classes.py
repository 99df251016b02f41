"""Classes of sets whose files name them by keys: apart from the readers, which need Polars, as arrays alone do not."""

from __future__ import annotations

from dissensus.votes.table import Class

# the order of the counts, by the keys under which the file has them once more; they are one or the other
CHAOSNLI: dict[tuple[str, ...], tuple[Class, ...]] = {
    ("e", "n", "c"): ("entailment", "neutral", "contradiction"),
    ("1", "2"): (1, 2),
}
