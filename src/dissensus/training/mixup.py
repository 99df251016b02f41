"""Mixup (Zhang et al., ICLR 2018): inputs and losses of two items of a batch, in one proportion a batch."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from dissensus.base.streams import bits, uniform

Loss = Callable[[Tensor, Tensor], Tensor]


def mixed_loss(
    model: Callable[[Tensor], Tensor], loss: Loss, x: Tensor, y: Tensor, share: Tensor, partner: Tensor
) -> Tensor:
    r"""The loss :math:`\lambda\,\ell(q, y) + (1 - \lambda)\,\ell(q, y_{\pi})`.

    Of :math:`q = f(\lambda x + (1 - \lambda) x_{\pi})`, with :math:`\lambda` the share and :math:`\pi` the partners.

    For class indices and for rows of probabilities alike. Cross-entropy is linear in its target, so for rows this is
    the loss against the mixed target :math:`\lambda y + (1 - \lambda) y_{\pi}`.
    """
    mine, theirs = share.float(), (1 - share).float()
    q = model(mine * x + theirs * x[partner]).float()
    return mine * loss(q, y) + theirs * loss(q, y[partner])


def shares(alpha: float, steps: int, seed: int, epoch: int) -> NDArray[np.float64]:
    r"""One :math:`\lambda \sim \mathrm{Beta}(\alpha, \alpha)` for every batch of an epoch.

    By inverting the distribution function at a hash of the batch's number: no generator's algorithm is part of it.

    >>> bool((shares(1.0, 3, seed=0, epoch=0) == uniform(0, "mixup-share", 0, at=3)).all())  # Beta(1, 1) is uniform
    True
    """
    from scipy.special import betaincinv

    return betaincinv(alpha, alpha, uniform(seed, "mixup-share", epoch, at=steps))


def partners(n_items: int, batch_size: int, seed: int, epoch: int) -> NDArray[np.int64]:
    """For every place in the order of an epoch, the place *within its batch* of the item it is mixed with.

    Within each batch, the last one included, this is a permutation.

    >>> [sorted(part.tolist()) for part in np.split(partners(5, 3, seed=0, epoch=0), [3])]
    [[0, 1, 2], [0, 1]]
    """
    batch = np.arange(n_items) // batch_size
    return np.lexsort((bits(seed, "mixup-partner", epoch, at=n_items), batch)) - batch * batch_size
