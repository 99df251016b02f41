"""KNN scores where the model is: on a GPU the distances to a bank take milliseconds, on a core two seconds."""

from __future__ import annotations

import torch
from numpy.typing import ArrayLike
from torch import Tensor

from dissensus.base.arrays import PerItem, as_matrix
from dissensus.diagnostics.ood import not_finite, refuse_bank

_BLOCK = 1 << 26  # distances at once: 0.5 GB


def knn_on(device: torch.device, features: ArrayLike, bank: ArrayLike, k: int = 50) -> PerItem:
    r""":func:`~dissensus.diagnostics.ood.knn` on this device, in float64 like that one: negative distances to the
    ``k``-th nearest item of the bank, :math:`-\lVert f_i / |f_i| - g_{(k)} / |g_{(k)}| \rVert`.

    They are the same to rounding (Sun et al., ICML 2022).

    >>> cpu = torch.device("cpu")
    >>> knn_on(cpu, [[2.0, 0.0], [0.0, 1.0]], bank=[[1.0, 0.0], [3.0, 0.0], [-1.0, 0.0]], k=2).round(4) + 0.0
    array([ 0.    , -1.4142])
    """
    f, g = _of_length_one("features", features, device), _of_length_one("bank", bank, device)
    refuse_bank(f.shape, g.shape, k)
    scores = []
    for part in f.split(max(1, _BLOCK // len(g))):
        squares = (part**2).sum(1)[:, None] + (g**2).sum(1) - 2 * part @ g.T
        scores.append(-squares.topk(k, largest=False).values[:, -1].clamp(min=0).sqrt())
    return torch.cat(scores).cpu().numpy()


def _of_length_one(name: str, value: ArrayLike, device: torch.device) -> Tensor:
    rows = torch.from_numpy(as_matrix(name, value)).to(device).double()
    finite = rows.isfinite().all(1)
    if not finite.all():
        raise not_finite(name, int((~finite).nonzero()[0]))
    lengths = rows.norm(dim=1, keepdim=True)
    return rows / torch.where(lengths > 0, lengths, 1)
