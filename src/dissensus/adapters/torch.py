r"""A data set and a sampler for PyTorch's DataLoader that carry the epoch with the index.

Labels that change from epoch to epoch usually freeze in a DataLoader with persistent workers: these hold copies of the
data set that nobody tells which epoch it is. Here the sampler, which lives in the main process, hands out
(epoch, index) pairs, so there is nothing to tell. In your own loop two lines change:

.. code-block:: diff

    - loader = DataLoader(dataset, batch_size=128, shuffle=True, num_workers=2)
    + sampler = EpochSampler(Shuffled(len(dataset), seed=0))
    + loader = DataLoader(VotesDataset(WithoutLabel(dataset), deliver), 128, sampler=sampler, num_workers=2)
      for epoch in range(200):
          for x, y in loader:
              loss = F.cross_entropy(model(x), y)

Lightning begins an epoch of its loader before it says which one it is, so after a resume with workers the first epoch
would have the labels of another. Accelerate counts the epochs of a loader that it has prepared, and tells the sampler
so, whatever that was told before: after a resume it begins at 0. With both, ask for labels in the step, as the README
shows.

>>> import torch
>>> from torch.utils.data import DataLoader, TensorDataset
>>> from dissensus.delivery import Multipass
>>> from dissensus.votes import Votes
>>> deliver = Multipass(Votes.from_counts([[3, 1], [0, 2]]), seed=0)
>>> dataset = VotesDataset(TensorDataset(torch.zeros(2, 5)), deliver)
>>> loader = DataLoader(dataset, batch_size=2, sampler=EpochSampler(range(2)))
>>> for epoch in range(3):
...     for x, y in loader:
...         print(epoch, y, bool((y.numpy() == deliver(epoch)).all()))
0 tensor([1, 1]) True
1 tensor([0, 1]) True
2 tensor([0, 1]) True
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from dissensus.base.errors import InputError, require
from dissensus.base.streams import permutation
from dissensus.delivery import Delivery
from dissensus.votes import Votes

if TYPE_CHECKING:
    import torch
    from torch.utils import data
else:
    torch = require("torch", extra="train")
    data = require("torch.utils.data", extra="train")


class Items(Protocol):
    """A map-style data set: anything with a length whose items are asked for by position."""

    def __len__(self) -> int: ...
    def __getitem__(self, index: int, /) -> Any: ...


class Order(Protocol):
    """A sampler: positions of items, as many as its length."""

    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[int]: ...


def refuse_no_delivery(deliver: object) -> None:
    """An error for votes, a delivery's class or anything else in the place of a delivery, which has votes already."""
    if isinstance(deliver, Votes):
        given = "votes were"
    elif isinstance(deliver, type):
        given = f"the class {deliver.__name__} was"
    elif not (callable(deliver) and hasattr(deliver, "n_items")):
        given = f"an object of type {type(deliver).__name__} was"
    else:
        return
    raise InputError(f"{given} given, but a delivery was expected, such as Multipass(votes, seed=0) or Soft(votes).")


class VotesDataset(data.Dataset):
    """The items of a data set with the labels of a delivery: ``self[epoch, index]`` is (\\*item, label).

    The label comes after all that the data set gives. So where the last of several entries may be a label of its own,
    a whole number or a row of shares, it must be said what it is: ``WithoutLabel(dataset)`` takes it away, ``inputs=2``
    says that an item is two inputs. An item that is a mapping gets the label as ``"labels"``. Needs an
    :class:`EpochSampler`.

    >>> from dissensus.delivery import Soft
    >>> scans_and_ages = VotesDataset([("first scan", 31), ("second scan", 28)], Soft([[0.5, 0.5], [1, 0]]), inputs=2)
    >>> scans_and_ages[0, 1]
    ('second scan', 28, tensor([1., 0.]))
    """

    def __init__(self, dataset: Items, deliver: Delivery, *, inputs: int | None = None) -> None:
        refuse_no_delivery(deliver)
        if not hasattr(dataset, "__len__"):
            raise InputError(
                "a delivery needs a data set whose items have positions: one with a length, but "
                f"{type(dataset).__name__} has none."
            )
        if len(dataset) != deliver.n_items:
            raise InputError(f"the data set has {len(dataset)} items, but the delivery has {deliver.n_items}.")
        self.dataset, self.deliver, self.inputs = dataset, deliver, inputs

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, pair: tuple[int, int]) -> Any:
        epoch, index = _epoch_and_index(pair)
        item = self.dataset[index]
        self._refuse_other_inputs([item])
        return _labelled(item, torch.from_numpy(self.deliver(epoch, [index]))[0])

    def __getitems__(self, pairs: Sequence[tuple[int, int]]) -> list[Any]:
        """A whole batch, which a DataLoader prefers: the labels are asked for at once."""
        epochs, indices = zip(*map(_epoch_and_index, pairs), strict=True)
        if len(set(epochs)) > 1:
            return [self[pair] for pair in pairs]
        items = _batch(self.dataset, indices)
        self._refuse_other_inputs(items)
        labels = torch.from_numpy(self.deliver(epochs[0], indices))
        return [_labelled(item, label) for item, label in zip(items, labels, strict=True)]

    def _refuse_other_inputs(self, items: Sequence[Any]) -> None:
        """An error for other inputs than were said, and for what may be a label in all items where nothing was said.

        In all, since a measurement that is 0 once in a while would end a training in the middle.
        """
        item = items[0]
        entries = len(item) if isinstance(item, (tuple, list)) else 1
        if self.inputs is None:
            if entries > 1 and all(_may_be_a_label(one[-1], self.deliver) for one in items):
                raise InputError(
                    f"the last of the {entries} entries of an item may be a label of the data set's own: {item[-1]!r}. "
                    "If it is, VotesDataset(WithoutLabel(dataset), deliver) takes it away; if it is an input, say "
                    f"VotesDataset(dataset, deliver, inputs={entries})."
                )
        elif self.inputs != entries:
            raise InputError(
                f"inputs={self.inputs} was said, but an item has {entries}. WithoutLabel(dataset) takes the last away."
            )


class WithoutLabel(data.Dataset):
    """The items of a labelled data set, tuples such as (image, label), without their last entry.

    >>> WithoutLabel([("first image", 3), ("second image", 1)])[1]
    ('second image',)
    """

    def __init__(self, dataset: Items) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return _without_last(self.dataset[index])

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        return [_without_last(item) for item in _batch(self.dataset, indices)]


class EpochSampler(data.Sampler):
    """(epoch, index) pairs in the order of any sampler, or of ``range(n)``.

    Each pass is one epoch, from ``epoch`` on; :meth:`set_epoch` says which one comes next, to resume or to repeat.
    A sampler that wants to know the epoch itself (:class:`Shuffled`, ``DistributedSampler``) is told.

    >>> sampler = EpochSampler(range(2))
    >>> list(sampler), list(sampler)
    ([(0, 0), (0, 1)], [(1, 0), (1, 1)])
    """

    def __init__(self, order: Order, epoch: int = 0) -> None:
        self.order = order
        self.set_epoch(epoch)

    def set_epoch(self, epoch: int) -> None:
        self.epoch = operator.index(epoch)

    def __len__(self) -> int:
        return len(self.order)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        # A generator, so that an epoch begins when its first index is taken: DataLoader makes iterators it never uses.
        epoch = self.epoch
        self.epoch += 1
        if hasattr(self.order, "set_epoch"):
            self.order.set_epoch(epoch)
        for index in self.order:
            yield epoch, index


class Shuffled(data.Sampler):
    """Positions 0 to ``n_items`` - 1, in an order that depends on the seed and the epoch alone.

    No delivery knows of it, so all deliveries of a seed see the same batches.

    >>> order = Shuffled(5, seed=0)
    >>> list(order) == list(order), sorted(order)
    (True, [0, 1, 2, 3, 4])
    """

    def __init__(self, n_items: int, seed: int = 0) -> None:
        self.n_items, self.seed, self.epoch = n_items, seed, 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return self.n_items

    def __iter__(self) -> Iterator[int]:
        return iter(permutation(self.n_items, self.seed, "order", self.epoch).tolist())


def _epoch_and_index(pair: Any) -> tuple[int, int]:
    if not (isinstance(pair, Sequence) and len(pair) == 2):
        raise InputError(
            f"VotesDataset was asked for item {pair!r} without an epoch. Give the DataLoader "
            "sampler=EpochSampler(Shuffled(len(dataset), seed=0)) in place of shuffle=True; a sampler of your own goes "
            "inside: sampler=EpochSampler(yours)."
        )
    return pair[0], pair[1]


def _may_be_a_label(entry: Any, deliver: Delivery) -> bool:
    """Whether it is a whole number, the number of a class, or a row of shares, one a class."""
    if isinstance(entry, torch.Tensor):
        value = (entry.double() if entry.is_floating_point() else entry).detach().cpu().numpy()
    elif isinstance(entry, (int, float, list, np.ndarray, np.generic)):
        try:
            value = np.asarray(entry)
        except ValueError:  # rows of several lengths
            return False
    else:
        return False
    if value.dtype.kind not in "biuf":
        return False
    if value.size == 1:
        return value.dtype.kind != "f" or value.item() in range(deliver.n_classes)
    if value.shape != (deliver.n_classes,) or not ((value >= 0) & (value <= 1)).all():
        return False
    return deliver.multilabel or abs(value.sum() - 1) < 1e-2  # of half precision, too


def _without_last(item: Any) -> Any:
    if not isinstance(item, (tuple, list)):
        raise InputError(
            f"WithoutLabel takes the last entry of a tuple away, but an item is of type {type(item).__name__}. "
            "VotesDataset takes it as it is: a mapping's own labels give way to those of the delivery."
        )
    return item[:-1]


def _batch(dataset: Items, indices: Sequence[int]) -> Sequence[Any]:
    """Items at once where the data set can, which saves time, one by one where it cannot."""
    at_once = getattr(dataset, "__getitems__", None)
    return [dataset[index] for index in indices] if at_once is None else at_once(list(indices))


def _labelled(item: Any, label: torch.Tensor) -> Any:
    if isinstance(item, Mapping):
        return {**item, "labels": label}
    return (*item, label) if isinstance(item, (tuple, list)) else (item, label)
