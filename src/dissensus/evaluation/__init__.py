"""Model and inputs to predictions to records. Scoring needs no torch; ``evaluation.predict`` does."""

from dissensus.evaluation.predictions import Predictions
from dissensus.evaluation.score import (
    human_shares,
    plain_probs,
    records_of,
    score,
    selected_temperature,
    tempered_probs,
)

__all__ = [
    "Predictions",
    "human_shares",
    "plain_probs",
    "records_of",
    "score",
    "selected_temperature",
    "tempered_probs",
]
