r"""Votes for the Trainer of Hugging Face, in two changed lines.

.. code-block:: diff

    - from transformers import Trainer
    + from dissensus.adapters.hugging_face import VotesTrainer
    - trainer = Trainer(model, args, train_dataset=dataset, processing_class=tokenizer)
    + trainer = VotesTrainer(model, args, train_dataset=dataset, processing_class=tokenizer, deliver=Multipass(votes))

Item ``i`` of the data set is item ``i`` of the votes; labels that it has are put aside. The sampler, which lives in the
main process, hands out (epoch, index) pairs, so labels change from epoch to epoch with persistent workers, too, and
after a resume.

Rows of floats get cross-entropy. By itself a sequence classifier takes them for independent classes, and trains with
binary cross-entropy without a word.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from dissensus.adapters.torch import EpochSampler, Items, Order, Shuffled, refuse_no_delivery
from dissensus.base.errors import InputError, require
from dissensus.delivery import Delivery

if TYPE_CHECKING:
    import torch
    import torch.nn.functional as F
    from torch.utils import data
    from transformers import Trainer
else:
    torch = require("torch", extra="text")
    data = require("torch.utils.data", extra="text")
    F = require("torch.nn.functional", extra="text")
    Trainer = require("transformers", extra="text").Trainer

LABELS = ("labels", "label", "label_ids")  # what a data set may call its own
Batch = dict[str, Any]


class Asked(NamedTuple):
    """In the place of a label: which one it will be."""

    epoch: int
    item: int


class DeliversVotes:
    """For a Trainer of your own: ``class Mine(DeliversVotes, MyTrainer)``, and then ``Mine(..., deliver=deliver)``.

    Batches come in the order of ``data_seed``, or else ``seed``, of the training arguments. No delivery knows of it, so
    all deliveries of a seed see the same batches. With ``train_sampling_strategy="sequential"`` they are not shuffled.
    """

    def __init__(self, *arguments: Any, deliver: Delivery | None = None, **options: Any) -> None:
        if deliver is None:
            raise InputError(
                f"{type(self).__name__} trains on what a delivery gives: pass deliver=..., such as "
                "deliver=Multipass(votes, seed=0) or deliver=Soft(votes)."
            )
        if options.get("compute_loss_func") is not None:
            raise InputError("compute_loss_func and deliver both say what the loss is; give one of them.")
        refuse_no_delivery(deliver)
        loss = VotesLoss(deliver.multilabel, deliver.n_classes)
        super().__init__(*arguments, **options, compute_loss_func=loss)  # type: ignore[call-arg]
        trainer: Any = self
        refuse_unheeded(trainer.args)
        trainer.train_dataset = Unlabelled(trainer.train_dataset, deliver.n_items)
        trainer.data_collator = LabelsWithBatch(trainer.data_collator, deliver)

    def _get_train_sampler(self, *_: Any) -> EpochSampler:
        trainer: Any = self
        items = len(trainer.train_dataset)
        order: Order = range(items)
        if _strategy(trainer.args) != "sequential":
            seeds = trainer.args.data_seed, trainer.args.seed
            order = Shuffled(items, next(seed for seed in seeds if seed is not None))
        trainer.train_dataset.sampler = EpochSampler(order)
        return trainer.train_dataset.sampler


class VotesTrainer(DeliversVotes, Trainer):
    """The Trainer of Hugging Face, trained on what a delivery gives in each epoch."""


def refuse_unheeded(args: Any) -> None:
    """An error for training arguments that would have no effect: what is asked for is never left out without a word."""
    if args.label_smoothing_factor:
        raise InputError(
            f"label_smoothing_factor={args.label_smoothing_factor} has no effect on what a delivery gives. Leave it at "
            "0; majority labels that are smoothed are a delivery of their own, LabelSmoothing(votes, epsilon=...)."
        )
    own = "would set the order of batches, which VotesTrainer does, so that all deliveries of a seed see the same ones."
    if (strategy := _strategy(args)) not in ("random", "sequential"):
        raise InputError(f'train_sampling_strategy={strategy!r} {own} Give "random" or "sequential".')
    if getattr(args, "group_by_length", False):  # early 5.x has that instead
        raise InputError(f"group_by_length=True {own} Leave it at False.")


def _strategy(args: Any) -> str:
    return getattr(args, "train_sampling_strategy", "random")


class Unlabelled(data.Dataset):
    """The items of a data set of mappings, asked for by (epoch, index), with :class:`Asked` in place of a label.

    Asked for by an index alone, as ``trainer.predict(trainer.train_dataset)`` does, an item is what it was.
    """

    sampler: EpochSampler | None = None  # of the trainer, as soon as it has one

    def __init__(self, dataset: Items | None, n_items: int) -> None:
        if dataset is None or not hasattr(dataset, "__len__"):
            raise InputError("a delivery needs a train_dataset whose items have positions: one with a length.")
        if len(dataset) != n_items:
            raise InputError(f"the train_dataset has {len(dataset)} items, but the delivery has {n_items}.")
        self.dataset = dataset

    def set_epoch(self, epoch: int) -> None:
        """Pass on to the sampler which epoch begins.

        Several processes that resume in the middle of an epoch have the sampler in more wrappers than accelerate looks
        into (SkipBatchSampler, BatchSamplerShard, BatchSampler). Where it finds no sampler it tells the data set.
        """
        if self.sampler is not None:
            self.sampler.set_epoch(epoch)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, pair: tuple[int, int] | int) -> Any:
        if not isinstance(pair, Sequence):
            return self.dataset[pair]
        epoch, index = pair
        item = self.dataset[index]
        if not isinstance(item, Mapping):
            raise InputError(
                f"items of the train_dataset must be mappings, such as a tokenizer gives, but item {index} is of type "
                f"{type(item).__name__}."
            )
        return {name: value for name, value in item.items() if name not in LABELS} | {"labels": Asked(epoch, index)}


class LabelsWithBatch:
    """A collator, and then the labels of the batch, all at once. Batches that ask for none are left as they are."""

    def __init__(self, collate: Callable[[list[Any]], Any], deliver: Delivery) -> None:
        self.collate, self.deliver = collate, deliver

    def __call__(self, items: Sequence[Mapping[str, Any]]) -> Any:
        asked = [item.get("labels") if isinstance(item, Mapping) else None for item in items]
        if not all(isinstance(one, Asked) for one in asked):
            return self.collate(list(items))
        batch = self.collate([{name: value for name, value in item.items() if name != "labels"} for item in items])
        batch["labels"] = self.labels([one for one in asked if one is not None])
        return batch

    def labels(self, asked: Sequence[Asked]) -> torch.Tensor:
        epochs = {one.epoch for one in asked}
        if len(epochs) > 1:  # a batch may run over the end of an epoch
            return torch.stack([self.labels([one])[0] for one in asked])
        return torch.from_numpy(self.deliver(epochs.pop(), [one.item for one in asked]))


class VotesLoss:
    """Cross-entropy to classes or rows; of each class by itself where votes name several. As a Trainer asks for it.

    >>> from types import SimpleNamespace
    >>> outputs = SimpleNamespace(logits=torch.tensor([[2.0, 0.0], [0.0, 0.0]]))
    >>> round(VotesLoss()(outputs, torch.tensor([[0.5, 0.5], [1.0, 0.0]])).item(), 3)
    0.91
    """

    def __init__(self, multilabel: bool = False, n_classes: int | None = None) -> None:
        self.n_classes = n_classes
        self.of = F.binary_cross_entropy_with_logits if multilabel else F.cross_entropy

    def __call__(self, outputs: Any, labels: torch.Tensor | None, num_items_in_batch: Any = None) -> torch.Tensor:
        if labels is None:
            raise InputError("there are no labels to compute a loss from.")
        logits = (outputs["logits"] if isinstance(outputs, Mapping) else outputs.logits).float()
        if self.n_classes is not None and logits.shape[-1] != self.n_classes:
            raise InputError(
                f"the model tells {logits.shape[-1]} classes apart, but the votes have {self.n_classes}; "
                f"make it with num_labels={self.n_classes}."
            )
        rows = labels.ndim == 2
        mean = self.of(logits, labels.to(logits.dtype) if rows else labels)
        if num_items_in_batch is None:
            return mean
        # The Trainer counts labels over all batches of a step, and over all devices; of rows it counts every number.
        return mean * len(labels) * (labels.shape[1] if rows else 1) / num_items_in_batch
