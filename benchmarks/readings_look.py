"""What readings.py asks of one model, right after its training: the numbers of the paper, each read in many ways.

A row is a :class:`~dissensus.records.Diagnosis`: its name says the question and the number, ``other`` what was chosen.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dissensus.base.streams import stream
from dissensus.diagnostics.correlation import spearman
from dissensus.diagnostics.gradcam import gradcam
from dissensus.diagnostics.gradient_variance import gradient_variance, logit_variance
from dissensus.diagnostics.hvp import Hessian
from dissensus.diagnostics.lanczos import MOST, first, krylov, start
from dissensus.diagnostics.last_layer import LastLayer, last_layer
from dissensus.diagnostics.ood import auroc, energy, msp
from dissensus.diagnostics.trace import estimate, probed, probed_by_item
from dissensus.evaluation.predict import device_of, evaluating
from dissensus.experiment.reproduce.setting import Effort, outside_images
from dissensus.experiment.subject import Kept, Subject
from dissensus.metrics import entropy, most_disputed, soft_nll, softmax
from dissensus.records import Diagnosis
from dissensus.training import Engine
from dissensus.training.precision import arithmetic

Choices = Mapping[str, str]
Found = Iterator[Diagnosis | Kept]
Indices = NDArray[np.int64]

OUTSIDE = "cifar100"
EXACT = "exact"
DRAWS = (2, 5, 10, 20, 50, 100, 200)
CLASSES = ("majority", "predicted", "true")  # of the maps, in the order in which they are kept
LAYERS: dict[str, int] = {"last stage": 7, "stage before": 5}  # the last block of each, among the eight of a ResNet-18


@dataclass(frozen=True)
class Size:
    """How closely a model is looked at."""

    probes: int = 20
    tolerance: float = 0.01
    chunk: int = 1000
    whole: int = 50  # slices are filled up to whole times this: cuDNN tries its algorithms anew for every size
    alone: int = 200  # items whose gradients in all parameters are taken, one by one
    banks: tuple[int, ...] = (5000,)  # beside the whole one
    near: tuple[int, ...] = (1, 5, 10, 50, 100, 200)
    made_up: bool = False


FULL = Size()
TINY = Size(probes=2, tolerance=0.5, chunk=100, whole=4, alone=12, banks=(40,), near=(1, 5, 50), made_up=True)


@dataclass(frozen=True)
class Items:
    """What a subject does not know: the votes on its training items, and the items whose maps are compared."""

    train_human: NDArray[np.float64]
    shown: NDArray[np.uint8]
    majority: NDArray[np.int64]
    true: NDArray[np.int64]


@dataclass(frozen=True)
class Look:
    """All questions, one after the other. One that fails is told, and leaves the others alone."""

    size: Size
    run: str = field(compare=False)
    items: Items = field(compare=False)
    tell: Callable[[str, list[Diagnosis]], None] = field(compare=False)
    failed: Callable[[str, str, str], None] = field(compare=False)

    def __call__(self, subject: Subject) -> Found:
        if "best" not in subject.weights:
            return
        device = device_of(subject.model)
        precision = "tf32" if device.type == "cuda" else "fp32"
        with arithmetic(precision, device, Engine()):
            inputs = subject.prepared(subject.inputs)
            last = last_layer(subject.model, inputs, chunk=self.size.chunk)
            parts: dict[str, Callable[[], Found]] = {
                "context": lambda: context(subject, last),
                "gradients": lambda: gradients(subject, inputs, last, self.size),
                "neighbours": lambda: neighbours(subject, last, self.size),
                "maps": lambda: maps(subject, self.items, self.size),
                "curvature": lambda: curvature(subject, inputs, self.items.train_human, self.size, precision),
            }
            for name, part in parts.items():
                yield from self._kept(name, part)

    def _kept(self, name: str, part: Callable[[], Found]) -> Found:
        began = time.perf_counter()
        found: list[Diagnosis | Kept] = []
        try:
            found.extend(part())
        except Exception:  # hours later nobody can ask this model again, so the other questions go on
            self.failed(self.run, name, traceback.format_exc(limit=-3))
            return
        found.append(row("seconds", name, time.perf_counter() - began, 0, {}))
        self.tell(self.run, [one for one in found if isinstance(one, Diagnosis)])
        yield from found


def row(question: str, number: str, value: float, items: int, choices: Choices) -> Diagnosis:
    return Diagnosis(f"{question}/{number}", float(value), math.nan, math.nan, items, other=worded(choices))


def worded(choices: Choices) -> str:
    """As one text, in the order given.

    >>> worded({"k": "50", "bank": "all"})
    'k: 50; bank: all'
    """
    return "; ".join(f"{name}: {value}" for name, value in choices.items())


def parsed(text: str) -> dict[str, str]:
    """What :func:`worded` wrote.

    >>> parsed("k: 50; bank: all")
    {'k': '50', 'bank': 'all'}
    """
    return dict(part.split(": ", 1) for part in text.split("; ")) if text else {}


def context(subject: Subject, last: LastLayer) -> Found:
    """How good the model is: whether it is one like those of the tables."""
    probs = softmax(last.logits)
    yield row("context", "soft_nll", soft_nll(probs, subject.human).mean(), len(probs), {})
    yield row("context", "accuracy", (last.logits.argmax(1) == subject.labels).mean(), len(probs), {})


# ---------------------------------------------------------------------------------------------------------- curvature


def slices(human: NDArray[np.float64]) -> dict[str, Indices]:
    """What "high disagreement" may mean, by name; without those that hold no item."""
    disagreement, share = entropy(human), human.max(1)
    lowest = np.argsort(share, kind="stable")
    tenth, quarter = most_disputed(human), most_disputed(human, 0.25)
    chance = stream(0, "readings", "slices")
    found = {f"highest entropy {part:.1%}": most_disputed(human, part) for part in (0.025, 0.05, 0.1, 0.2, 0.3)}
    found |= {f"entropy above {word}": np.flatnonzero(disagreement > edge) for word, edge in EDGES.items()}
    found |= {f"majority below {edge}": np.flatnonzero(share < edge) for edge in (0.5, 0.7, 0.8)}
    found |= {f"lowest majority {part:.1%}": np.sort(lowest[: round(part * len(share))]) for part in (0.05, 0.1)}
    found["half of the highest entropy 10.0%"] = chance.permutation(tenth)[: len(tenth) // 2]
    found["quarter of the highest entropy 10.0%"] = chance.permutation(tenth)[: len(tenth) // 4]
    found["128 of the highest entropy 25.0%"] = chance.permutation(quarter)[:128]
    return {name: index for name, index in found.items() if len(index)}


EDGES = {"0.5": 0.5, "1 bit": math.log(2), "1": 1.0}  # in nats where nothing else is said
HARD = ("highest entropy 5.0%", "highest entropy 10.0%")  # slices that are asked with majority labels as well


def curvature(subject: Subject, inputs: Tensor, train_human: NDArray[np.float64], size: Size, precision: str) -> Found:
    def hessian(x: Tensor, targets: NDArray[np.float64]) -> Hessian:
        return Hessian(subject.model, x, targets, chunk=size.chunk, precision=precision)

    human, parts = subject.human, slices(subject.human)
    votes = hessian(inputs, human)
    forms = probed_by_item(votes, size.probes, 0)  # of every item, so that slices need no probes of their own
    everything = np.arange(len(human))
    yield from sharpness("all-items", votes, everything, forms, size, {"slice": "all items"})
    chosen = {"targets": "votes", "items": "evaluation"}
    for name, index in parts.items():
        yield from sharpness("curvature", votes, index, forms, size, {"slice": name} | chosen)
    hard = hessian(inputs, np.eye(human.shape[1])[subject.labels])
    for name in HARD:
        yield from sharpness(
            "curvature", hard, parts[name], None, size, {"slice": name} | chosen | {"targets": "majority"}
        )
    top = most_disputed(train_human)
    trained = hessian(subject.prepared(subject.train[top]), train_human[top])
    where = {"slice": HARD[1]} | chosen | {"items": "training"}
    yield from sharpness("curvature", trained, np.arange(len(top)), None, size, where)


def sharpness(
    question: str,
    hessian: Hessian,
    index: Indices,
    forms: NDArray[np.float64] | None,
    size: Size,
    choices: Choices,
) -> Found:
    """The top eigenvalue, and the trace by deflated probes; ``forms`` are those of all items, where they are known."""
    part, times = filled_up(hessian, index, size.whole)
    space = krylov(lambda v: times * part(v), start(part, 0), 1, size.tolerance, MOST)
    known = times * probed(part, size.probes, 0).plain if forms is None else forms[:, index].mean(1)
    trace = estimate(probed(part, size.probes, 0, space, known).rest, known=float(space.diagonal.sum()))
    yield row(question, "top_eigenvalue", first(space, size.tolerance).value, len(index), choices)
    yield row(question, "trace", trace.value, len(index), choices)
    yield row(question, "trace_se", trace.standard_error, len(index), choices)


def filled_up(hessian: Hessian, index: Indices, whole: int) -> tuple[Hessian, float]:
    """The Hessian of a slice with items that weigh nothing, up to whole times a number; and what it is to be taken
    times, since its mean is over all of them.
    """
    more = -len(index) % whole
    part = hessian.on(np.concatenate([index, np.repeat(index[:1], more)]))
    part.targets[len(index) :] = 0.0
    return part, (len(index) + more) / len(index)


# ---------------------------------------------------------------------------------------------------------- gradients


def gradients(subject: Subject, inputs: Tensor, last: LastLayer, size: Size) -> Found:
    """How the variance of an item's gradient over drawn labels goes with the entropy of its votes.

    Around the mean of the draws it is that of the exact formula with the shares of the draws in place of the votes'
    own, up to a factor that is the same for all items.
    """
    human, disagreement = subject.human, entropy(subject.human)
    said = {EXACT: human} | {str(draws): drawn(human, draws) for draws in (1, *DRAWS)}
    usual = {"of": "weights and bias", "around": "mean", "draws": EXACT, "items": "all", "correlation": "Spearman"}

    def told(variance: NDArray[np.float64], **choices: str) -> Found:
        yield from correlations(variance, disagreement, usual | choices)

    kinds = variances(subject.model, last)
    for draws in (EXACT, *map(str, DRAWS)):
        for of, variance in kinds.items():
            yield from told(variance(said[draws]), of=of, draws=draws)
        yield from told(kinds["weights and bias"](said[draws]), draws=draws, correlation="Pearson")
        yield from told(kinds["weights and bias"](said[draws]), draws=draws, items="with disagreement")
    length = (last.features.astype(np.float64) ** 2).sum(1) + last.bias
    for around, middle in {"soft labels": human, "zero": softmax(last.logits)}.items():
        apart = 1 - 2 * middle + (middle**2).sum(1, keepdims=True)  # of every label: |e_k - middle|^2
        for draws, shares in said.items():
            if (draws, around) != (EXACT, "soft labels"):  # that is the formula
                yield from told((shares * apart).sum(1) * length, around=around, draws=draws)
    few = slice(size.alone)
    whole = of_all_parameters(subject.model, inputs[few], human[few])
    for correlation in ("Spearman", "Pearson"):
        choices = usual | {"of": "all parameters", "correlation": correlation}
        yield from correlations(whole, disagreement[few], choices)


def drawn(human: NDArray[np.float64], draws: int) -> NDArray[np.float64]:
    """The shares of so many labels, drawn from the votes of each item."""
    p = human / human.sum(1, keepdims=True)
    return stream(0, "readings", "draws", draws).multinomial(draws, p) / draws


def variances(model: Any, last: LastLayer) -> dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]]:
    """By what the gradient is taken in; of shares of labels."""
    weight = model.head.weight.detach().double().cpu().numpy()  # (classes, features)

    def of_features(shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """The gradient in what enters the last layer is W'(q - e_y)."""
        return shares @ (weight**2).sum(1) - ((shares @ weight) ** 2).sum(1)

    return {
        "weights and bias": lambda shares: gradient_variance(last.features, shares, bias=last.bias),
        "weights": lambda shares: gradient_variance(last.features, shares, bias=False),
        "logits": logit_variance,
        "features": of_features,
    }


def of_all_parameters(model: nn.Module, inputs: Tensor, human: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same in all parameters, exactly: an item alone, and a gradient for every class that somebody chose."""
    parameters = [value for value in model.parameters() if value.requires_grad]
    found = np.zeros(len(human))
    with evaluating(model), torch.enable_grad():
        for item in np.flatnonzero((human > 0).sum(1) > 1):
            logits = model(inputs[item : item + 1])[0]
            mean, squares = torch.zeros((), device=logits.device), 0.0
            for label in np.flatnonzero(human[item]):
                gradient = torch.autograd.grad(logits[int(label)], parameters, retain_graph=True)
                flat = torch.cat([part.flatten() for part in gradient])
                share = float(human[item, label])
                mean, squares = mean + share * flat, squares + share * float(flat @ flat)
            found[item] = squares - float(mean @ mean)
    return found


def correlations(variance: NDArray[np.float64], disagreement: NDArray[np.float64], choices: Choices) -> Found:
    """Over the items; and how much it would scatter with a tenth of them, since the published range is a wide one."""
    if choices["items"] != "all":
        variance, disagreement = variance[disagreement > 0], disagreement[disagreement > 0]
    measure = pearson if choices["correlation"] == "Pearson" else lambda a, b: spearman(a, b).value
    tenths = [measure(variance[part::10], disagreement[part::10]) for part in range(10)]
    yield row("gradients", "correlation", measure(variance, disagreement), len(variance), choices)
    yield row("gradients", "sd_of_tenths", float(np.std(tenths, ddof=1)), len(variance) // 10, choices)


def pearson(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    a, b = a - a.mean(), b - b.mean()
    size = math.sqrt((a @ a) * (b @ b))
    return float(a @ b) / size if size > 0 else math.nan


# --------------------------------------------------------------------------------------------------------- neighbours


def neighbours(subject: Subject, last: LastLayer, size: Size) -> Found:
    """How well the distance to training items tells other images from the evaluation items.

    Beside it, less what the maximum probability does: images and seeds move both, the reading one.
    """
    model, effort = subject.model, Effort(made_up=size.made_up)
    others = subject.prepared(outside_images(OUTSIDE, subject.inputs, effort))
    away = last_layer(model, others, chunk=size.chunk)
    bank = last_layer(model, subject.prepared(subject.train), chunk=size.chunk).features
    plain = auroc(msp(last.logits), msp(away.logits))
    yield row("context", "msp_auroc", plain, len(last.logits), {})
    yield row("context", "energy_auroc", auroc(energy(last.logits), energy(away.logits)), len(last.logits), {})
    order = stream(0, "readings", "bank").permutation(len(bank))
    banks = {"all": bank} | {str(number): bank[order[:number]] for number in size.banks}
    for word, part in banks.items():
        for scaled in ("length 1", "as they are"):
            most = min(max(size.near), len(part))
            here, there = (
                nearest(device_of(model), one.features, part, most, scaled == "length 1") for one in (last, away)
            )
            for k in (k for k in size.near if k <= most):
                choices = {"k": str(k), "features": scaled, "bank": word}
                for how, score in DISTANCES.items():
                    if k > 1 or how == "k-th":
                        found, which = auroc(-score(here, k), -score(there, k)), choices | {"distance": how}
                        yield row("neighbours", "knn_auroc", found, len(here), which)
                        yield row("neighbours", "knn_less_msp", found - plain, len(here), which)


DISTANCES: dict[str, Callable[[NDArray[np.float64], int], NDArray[np.float64]]] = {
    "k-th": lambda distances, k: distances[:, k - 1],
    "mean of k": lambda distances, k: distances[:, :k].mean(1),
}


def nearest(
    device: torch.device, features: NDArray[np.float32], bank: NDArray[np.float32], most: int, scaled: bool
) -> NDArray[np.float64]:
    """The distances to the nearest of the bank, (items, most), nearest first."""
    f, g = (torch.from_numpy(rows).to(device).double() for rows in (features, bank))
    if scaled:
        f, g = nn.functional.normalize(f), nn.functional.normalize(g)
    return torch.cdist(f, g).topk(most, largest=False).values.cpu().numpy()


# --------------------------------------------------------------------------------------------------------------- maps


class Turned(nn.Module):
    """The same with the sign of its logits turned: its Grad-CAM is what the model's own cuts off."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, x: Tensor) -> Tensor:
        return -self.model(x)


def maps(subject: Subject, items: Items, size: Size) -> Found:
    """Grad-CAM before its ReLU, (classes, items, height, width) for every layer, in units of its largest place."""
    model: Any = subject.model
    inputs = subject.prepared(items.shown)
    predicted = last_layer(model, inputs, chunk=size.chunk).logits.argmax(1)
    wanted = dict(zip(CLASSES, (items.majority, predicted, items.true), strict=True))
    for name, block in LAYERS.items():
        layer = model.stages[block]
        signed = np.stack(
            [
                gradcam(model, layer, inputs, labels, chunk=size.chunk)
                - gradcam(Turned(model), layer, inputs, labels, chunk=size.chunk)
                for labels in wanted.values()
            ]
        )
        largest = np.abs(signed).max((2, 3), keepdims=True)
        yield Kept(kept_name(name), (signed / np.where(largest > 0, largest, 1)).astype(np.float16))


def kept_name(layer: str) -> str:
    return f"maps_{layer.replace(' ', '_')}"
