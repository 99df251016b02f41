"""Models of texts: a pretrained encoder, frozen under a trained head, or fine-tuned as a whole.

An :class:`Encoder` is a folder as Hugging Face writes it, found by its path or name and known by its content.
"""

from __future__ import annotations

from dissensus.models.text.encoder import Encoder, find_encoder, is_hub_name
from dissensus.models.text.fine_tuned import FineTuned, FineTuning
from dissensus.models.text.frozen import Frozen
from dissensus.models.text.sentences import sentence_features
from dissensus.models.text.tokens import tokens

TEXT_MODELS: dict[str, type[Frozen] | type[FineTuned]] = {"frozen": Frozen, "fine-tuned": FineTuned}

__all__ = [
    "TEXT_MODELS",
    "Encoder",
    "FineTuned",
    "FineTuning",
    "Frozen",
    "find_encoder",
    "is_hub_name",
    "sentence_features",
    "tokens",
]
