"""For all tests: drawn examples are the same in every run, and a slow machine is no failure.

One thread a process: pytest has a worker a core, and threads that wait for a core spin.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before anything imports torch

import pytest
from hypothesis import settings

settings.register_profile("dissensus", derandomize=True, deadline=None)
settings.load_profile("dissensus")

TEXT = "a man woman dog cat sleeps runs eats is not outside somebody rests in the park ."


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a BERT of two layers and 16 units, with random weights and a vocabulary of a few words."""
    return make_tiny_bert(tmp_path_factory.mktemp("encoders") / "tiny-bert")


def make_tiny_bert(folder: Path, seed: int = 0) -> Path:
    transformers = pytest.importorskip("transformers")
    torch = pytest.importorskip("torch")
    folder.mkdir()
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *TEXT.split()]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    config = transformers.BertConfig(
        vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=64, initializer_range=0.2,
    )  # fmt: skip
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        transformers.BertModel(config).save_pretrained(folder)
    tokenizer = transformers.BertTokenizer(vocab=str(folder / "vocab.txt"))
    tokenizer.save_pretrained(folder)
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "BertTokenizer"}))
    return folder
