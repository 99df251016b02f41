"""Models and tokenizers of Hugging Face, from a folder: no network, no code from it, no bars on the screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from dissensus.base.errors import InputError, require
from dissensus.models.text.encoder import Encoder


def load_tokenizer(encoder: Encoder) -> Any:
    """The tokenizer, with something to pad with."""
    transformers = require("transformers", extra="text")
    with quiet(encoder):
        tokenizer = transformers.AutoTokenizer.from_pretrained(encoder.folder, local_files_only=True)
    if set(tokenizer.get_vocab()) <= set(tokenizer.all_special_tokens):
        raise InputError(
            f"the tokenizer in {encoder.folder} knows not one word, so all texts would read alike. "
            "Save that of the model beside it: tokenizer.save_pretrained(folder)."
        )
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def load_model(auto_class: str, encoder: Encoder, **options: Any) -> Any:
    """A model of this class in fp32, in evaluation mode; the caller's random numbers are left alone."""
    transformers = require("transformers", extra="text")
    with quiet(encoder), torch.random.fork_rng(devices=[]):
        return getattr(transformers, auto_class).from_pretrained(
            encoder.folder, local_files_only=True, use_safetensors=True, dtype=torch.float32, **options
        )


@contextmanager
def quiet(encoder: Encoder) -> Iterator[None]:
    """Without the reports and bars of transformers, whose errors become one sentence."""
    logging = require("transformers.utils.logging", extra="text")
    broken = require("safetensors", extra="text").SafetensorError
    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, broken) as error:
        reason = str(error).strip().partition("\n")[0]
        raise InputError(f"the text encoder in {encoder.folder} cannot be loaded: {reason}") from error
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()
