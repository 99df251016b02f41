"""Votes in the Trainer of Hugging Face: two changed lines, and no binary cross-entropy by surprise."""

import tempfile
from pathlib import Path

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, BertTokenizer, TrainingArguments

from dissensus import Multipass, Soft, Votes
from dissensus.adapters.hugging_face import VotesTrainer

# A tiny model of its own, so that nothing is downloaded; yours comes from from_pretrained.
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "film", "was", "fine", "dull", "long", "fun", "not"]
folder = Path(tempfile.mkdtemp())
(folder / "vocab.txt").write_text("\n".join(words))
tokenizer = BertTokenizer(vocab=str(folder / "vocab.txt"))

texts = [f"the film was {first} {second}" for first in words[8:] for second in words[8:]]
dataset = [dict(tokenizer(text)) for text in texts]
good = np.array([0.2 + 0.3 * text.count("fun") + 0.2 * text.count("fine") for text in texts]).clip(0.05, 0.95)
yes = np.random.default_rng(0).binomial(6, good)  # six annotators a text: is it praise?
votes = Votes.from_counts(np.stack([6 - yes, yes], 1), classes=["no", "yes"])


def trained(deliver):
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64,
        initializer_range=0.2, num_labels=2,
    )  # fmt: skip
    arguments = TrainingArguments(
        output_dir=str(folder / "out"), num_train_epochs=20, per_device_train_batch_size=5, learning_rate=3e-3,
        save_strategy="no", logging_strategy="no", report_to=[], disable_tqdm=True, use_cpu=True,
        dataloader_pin_memory=False,
    )  # fmt: skip
    model = BertForSequenceClassification(config)
    VotesTrainer(model, arguments, train_dataset=dataset, processing_class=tokenizer, deliver=deliver).train()
    assert model.config.problem_type is None  # the model never saw the labels, so it guessed no loss
    with torch.no_grad():
        batch = tokenizer(texts, return_tensors="pt", padding=True)
        return torch.softmax(model.eval()(**batch).logits, 1)[:, 1].numpy()


error = {name: float(np.abs(trained(deliver) - good).mean()) for name, deliver in (
    ("soft", Soft(votes)), ("multipass", Multipass(votes, seed=0)),
)}  # fmt: skip
guess = np.abs(good.mean() - good).mean()
told = ", ".join(f"{name} {value:.3f}" for name, value in error.items())
print(f"mean error of the predicted share of praise: {told}, of a constant guess: {guess:.3f}")
assert max(error.values()) < guess
