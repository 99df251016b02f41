"""Splits that part no group: all items of one premise, or of one comment, come to the same side."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.base.streams import bits
from dissensus.votes.ids import as_ids


def group_numbers(groups: Any) -> NDArray[np.int64]:
    """Groups by number, in the order in which they first appear; they may be named by whole numbers or text.

    >>> group_numbers(["b", "a", "b"])
    array([0, 1, 0])
    """
    _, first, number = np.unique(as_ids("groups", groups), return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[number]


def whole_groups(
    group: NDArray[np.int64], stratum: NDArray[np.int64], wanted: NDArray[np.int64], seed: int
) -> NDArray[np.bool_]:
    r"""(items,) which items are chosen: whole groups, with about ``wanted[s]`` items of each stratum ``s``.

    Groups are asked in an order drawn with ``seed``, and one is chosen if it brings the items that are still missing,
    :math:`m`, nearer to none: :math:`\|m - c\|^2 < \|m\|^2` for a group with :math:`c_s` items of stratum ``s``. In the
    end groups are chosen or given back, that which helps most first, while that brings :math:`m` nearer still.
    Where every group is a single item, this is a stratified draw, exact in every stratum.

    >>> premise, label = np.array([0, 0, 1, 1, 2, 3]), np.array([0, 1, 0, 1, 0, 1])
    >>> whole_groups(premise, label, np.array([1, 1]), seed=0)
    array([False, False, False, False,  True,  True])
    """
    order = np.argsort(bits(seed, "split", at=int(group.max()) + 1), kind="stable")
    place = np.argsort(order)  # of a group in that order
    content = np.zeros((len(order), len(wanted)), np.int64)
    np.add.at(content, (place[group], stratum), 1)
    missing = wanted.copy()
    chosen = np.zeros(len(content), bool)
    for number, items in enumerate(content):
        if items @ (2 * missing - items) > 0:
            chosen[number] = True
            missing -= items
    while True:
        change = np.where(chosen[:, None], -content, content)
        gain = (change * (2 * missing - change)).sum(1)
        best = int(gain.argmax())
        if gain[best] <= 0:
            break
        chosen[best] ^= True
        missing -= change[best]
    if chosen.all() or not chosen.any():
        most = np.bincount(group).max()
        raise InputError(
            f"the {len(content)} groups of these {len(group)} items cannot be split in this share without parting one: "
            f"the largest holds {most} items. Smaller groups are needed, or another share."
        )
    return chosen[place[group]]
