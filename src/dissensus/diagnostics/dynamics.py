"""How fast a run learned, and what it lost after its best epoch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.base.arrays import same_length
from dissensus.base.errors import InputError

NEAR = 0.05  # of the way from the first epoch to the best one


@dataclass(frozen=True)
class Dynamics:
    """Epochs are numbered as in the history, from 0; the rest is in nats."""

    best_epoch: int
    epochs_to_95: int
    area: float
    overfitting: float


def dynamics(history: Mapping[str, ArrayLike] | Sequence[Mapping[str, Any]]) -> Dynamics:
    r"""What a learning curve says, from the soft NLL :math:`\ell_t` of the evaluation items after every epoch.

    ``best_epoch``
        the first epoch with the lowest value, :math:`\ell^* = \min_t \ell_t`
    ``epochs_to_95``
        the first epoch with :math:`\ell_t \le \ell^* + 0.05\, (\ell_0 - \ell^*)`: 95 % of the way from the first epoch
        to the best one. A later rise does not count against it.
    ``area``
        the mean of :math:`\ell_t` over the epochs: the area under the curve by its length
    ``overfitting``
        the last epoch less the best one, :math:`\ell_T - \ell^* \ge 0`

    By the first two "earlier" means one thing: arXiv 2605.20642 compares epochs to 95 % of the best soft NLL, and
    leaves open of what. The history is that of a run: ``run.history``, ``fitted.history``, or any table with the
    columns ``epoch`` and ``soft_nll``. Where selection items pick the checkpoint, its epoch need not be the best one
    here.

    >>> dynamics({"epoch": range(5), "soft_nll": [2.0, 1.03125, 1.0, 1.25, 1.5]})
    Dynamics(best_epoch=2, epochs_to_95=1, area=1.35625, overfitting=0.5)
    """
    epochs, nll = _curve(history)
    best = nll.min()
    return Dynamics(
        best_epoch=int(epochs[nll.argmin()]),
        epochs_to_95=int(epochs[(nll <= best + NEAR * (nll[0] - best)).argmax()]),
        area=float(nll.mean()),
        overfitting=float(nll[-1] - best),
    )


def _curve(
    history: Mapping[str, ArrayLike] | Sequence[Mapping[str, Any]],
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Epochs and their soft NLL, in rising order."""
    if not isinstance(history, Mapping):
        history = {name: [row[name] for row in history if name in row] for name in ("epoch", "soft_nll")}
    missing = [name for name in ("epoch", "soft_nll") if not np.size(history.get(name, ()))]
    if missing:
        raise InputError(
            f"history has no {' and no '.join(missing)}. Dynamics need the soft NLL of evaluation items after every "
            "epoch: train with held_out=(inputs, human)."
        )
    epochs, nll = np.asarray(history["epoch"], np.int64), np.asarray(history["soft_nll"], np.float64)
    same_length(epoch=epochs, soft_nll=nll)
    if not np.isfinite(nll).all():
        at = int(np.flatnonzero(~np.isfinite(nll))[0])
        raise InputError(f"soft_nll must be finite, but that of epoch {epochs[at]} is {nll[at]}: the run diverged.")
    order = np.argsort(epochs, kind="stable")
    return epochs[order], nll[order]
