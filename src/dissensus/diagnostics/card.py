"""A model's card: what every instrument that takes one model says of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from dissensus.base.arrays import PerItem, as_simplex, same_length
from dissensus.diagnostics.curvature import curvature_by, tops_by
from dissensus.diagnostics.findings import correlated, estimated, within
from dissensus.diagnostics.given import as_inputs, as_model
from dissensus.diagnostics.gradient_variance import GradientVariance, against_entropy
from dissensus.diagnostics.hvp import Hessian
from dissensus.diagnostics.last_layer import LastLayer, last_layer
from dissensus.diagnostics.neighbours import knn_on
from dissensus.diagnostics.odin import odin
from dissensus.diagnostics.ood import auroc, auroc_error, energy, entropy_score, knn, margin, msp
from dissensus.diagnostics.trace import probed_by_item
from dissensus.evaluation.predict import device_of
from dissensus.metrics import most_disputed, softmax
from dissensus.records import Diagnosis, Slice

NEIGHBOURS = 50


def card(
    model: nn.Module,
    inputs: Tensor | NDArray,
    human: ArrayLike,
    *,
    outside: Mapping[str, Tensor | NDArray] | None = None,
    bank: Tensor | NDArray | None = None,
    seed: int = 0,
    chunk: int = 500,
    precision: str = "fp32",
) -> list[Diagnosis]:
    r"""Curvature, gradient variance and out-of-distribution scores of one model, a row each with its 95 % interval.

    An estimate with the standard error s has the interval :math:`\pm 1.96 s`, an eigenvalue that of its residual. What
    each row says, with its formula, is told by :func:`~dissensus.diagnostics.curvature`,
    :func:`~dissensus.diagnostics.gradient_variance` and the scores of :mod:`dissensus.diagnostics.ood`. (Cards of
    models are due to Mitchell et al., 2019.)

    ``inputs`` are items that the model was not trained on, as it takes them (normalised, where it wants that), and
    ``human`` what annotators said of them, (items, classes). ``outside`` are other sets of inputs by name, which the
    scores should tell from ``inputs``; ``bank`` are training inputs, which KNN measures distances to (the 50th
    nearest, or the farthest of fewer). ODIN, which takes a step from each input, is left out for whole numbers, such as
    tokens. The model may be any that ends in an ``nn.Linear``; it is in evaluation mode
    meanwhile, and left as it was. ``precision`` is that of the curvature: "fp32", or "tf32" on a GPU.

    >>> model, x = nn.Linear(1, 2), torch.ones(60, 1)
    >>> _ = nn.init.zeros_(model.weight), nn.init.zeros_(model.bias)
    >>> found = {row.name: row for row in card(model, x, np.full((60, 2), 0.5), outside={"far": 9 * x})}
    >>> round(found["top_eigenvalue"].value, 4), found["gradient_variance"].value  # (1 + x^2) / 2 each
    (1.0, 1.0)
    >>> found["energy_auroc"].value, found["energy_auroc"].other  # zero weights cannot tell one set from the other
    (0.5, 'far')
    """
    p = as_simplex("human", human)
    model = as_model(model)
    inputs = as_inputs(model, inputs)
    same_length(inputs=inputs, human=p)
    last = last_layer(model, inputs, chunk=chunk)
    variance = against_entropy(last.features, softmax(last.logits), p, bias=last.bias, seed=seed)
    rows = [*sharpness(model, inputs, p, seed=seed, chunk=chunk, precision=precision), *of_gradients(variance)]
    if outside:
        near = None if bank is None else last_layer(model, bank, chunk=chunk).features
        inside = ood_scores(model, inputs, last, near, chunk)
        for name, others in outside.items():
            away = ood_scores(model, others, last_layer(model, others, chunk=chunk), near, chunk)
            rows += told_apart(inside, away, name)
    return rows


def ood_scores(
    model: nn.Module,
    inputs: Tensor | NDArray,
    last: LastLayer,
    bank: NDArray[np.floating] | None = None,
    chunk: int = 500,
) -> dict[str, PerItem]:
    """Every score of the items, by name; KNN only with features to measure distances to, ODIN not for whole numbers."""
    z, x = last.logits, as_inputs(model, inputs)
    step = {"odin": odin(model, x, chunk=chunk)} if x.is_floating_point() else {}
    near = {} if bank is None else {"knn": _near(device_of(model), last.features, bank)}
    return {"energy": energy(z), "msp": msp(z), **step, "entropy": entropy_score(z), "margin": margin(z), **near}


def _near(device: torch.device, features: NDArray[np.floating], bank: NDArray[np.floating]) -> PerItem:
    k = min(NEIGHBOURS, len(bank))
    return knn_on(device, features, bank, k) if device.type == "cuda" else knn(features, bank, k)


def sharpness(
    model: nn.Module,
    inputs: Tensor | NDArray,
    human: NDArray[np.float64],
    slices: Iterable[Slice] = ("all", "disputed"),
    *,
    probes: int = 50,
    tolerance: float = 0.01,
    seed: int = 0,
    chunk: int = 500,
    precision: str = "fp32",
) -> Iterator[Diagnosis]:
    """Curvature on all items, and on the tenth of them with most disagreement, whose probes are those of all items.

    Without probes there is no trace, and it takes a quarter of the time.
    """
    wanted = tuple(slices)
    hessian = Hessian(model, inputs, human, chunk=chunk, precision=precision)
    by_item = probed_by_item(hessian, probes, seed) if probes and {"all", "disputed"} <= set(wanted) else None
    for part in wanted:
        index = np.arange(len(human)) if part == "all" else most_disputed(human)
        on = hessian if part == "all" else hessian.on(index)
        if not probes:
            tops = tops_by(on, tolerance, seed)
            for name, top in ("top_eigenvalue", tops.plain), ("filter_normalised_top", tops.filter_normalised):
                yield within(name, top.value, top.residual, len(index), part)
            continue
        known = None if by_item is None else by_item[:, index].mean(1)
        found = curvature_by(on, probes, tolerance, seed, known=known)
        n, norm = len(index), found.weight_norm**2
        yield within("top_eigenvalue", found.top_eigenvalue, found.top_residual, n, part)
        yield estimated("trace", found.trace, found.trace_se, n, part)
        yield estimated("deflated_trace", found.deflated_trace, found.deflated_trace_se, n, part)
        yield estimated("trace_times_norm", found.trace_times_norm, found.trace_se * norm, n, part)
        yield within("filter_normalised_top", found.filter_normalised_top, found.filter_normalised_residual, n, part)


def of_gradients(found: GradientVariance) -> Iterator[Diagnosis]:
    """The mean over items, and how closely it follows their entropy."""
    n = len(found.exact)
    error = found.exact.std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
    yield estimated("gradient_variance", float(found.exact.mean()), float(error), n)
    yield correlated("gradient_variance_entropy", found.correlation)
    yield correlated("gradient_variance_partial", found.partial)


def told_apart(inside: Mapping[str, PerItem], away: Mapping[str, PerItem], name: str) -> Iterator[Diagnosis]:
    """How well each score tells the items from those of another set."""
    for score, values in inside.items():
        value, error = auroc(values, away[score]), auroc_error(values, away[score])
        yield estimated(f"{score}_auroc", value, error, len(values), other=name)
