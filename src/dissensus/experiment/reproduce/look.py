"""What is looked for in a model right after its training, so that no weights need be kept.

Numbers go beside the run; what numbers over seeds are computed from later (features, Grad-CAM maps, logits of training
items) is kept with its predictions, in half precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dissensus.diagnostics.findings import correlated, estimated
from dissensus.experiment.pairs import LAST_BLOCK, barriers
from dissensus.experiment.papers import Cell, Paper, RunNumber
from dissensus.experiment.plan import Plan
from dissensus.experiment.reproduce.lines import LineBetween, Models, lines_of
from dissensus.experiment.reproduce.setting import Effort, outside_images
from dissensus.experiment.subject import Kept, Subject
from dissensus.metrics import softmax
from dissensus.records import Diagnosis, Slice, StoredRun

Found = Iterator[Diagnosis | Kept]
HALF = float(np.finfo(np.float16).max)
CURVED = 23_000_000  # bytes an item of a ResNet-18 takes in a product with its Hessian, in single precision


@dataclass(frozen=True)
class Ends:
    """Where the lines from a run lead, and the weights of those that wait there."""

    run: str
    others: tuple[tuple[str, bool], ...]  # runs, and whether their units are put in order as well
    models: Models


@dataclass(frozen=True)
class Look:
    """What is looked for. Two that are equal take as long; where a line leads is no part of that."""

    model: str  # by its name, which says where Grad-CAM looks
    effort: Effort
    curvature: tuple[Slice, ...] = ()
    trace: bool = False  # with its curvature, too
    gradient_variance: bool = False
    outside: tuple[str, ...] = ()
    features: bool = False
    maps: bool = False
    train_logits: bool = False
    lines: int = 0
    ends: Ends | None = field(default=None, compare=False)

    def __bool__(self) -> bool:
        """Whether anything is looked for."""
        kept = self.features or self.maps or self.train_logits
        return bool(self.curvature or self.gradient_variance or self.outside or kept or self.lines)

    def __call__(self, subject: Subject) -> Found:
        from dissensus.evaluation.predict import device_of
        from dissensus.training import Engine
        from dissensus.training.precision import arithmetic

        device = device_of(subject.model)
        precision = self.effort.precision if device.type == "cuda" else "fp32"
        inputs = subject.prepared(subject.inputs)
        with arithmetic(precision, device, Engine()):
            if self.curvature:
                yield from self._curvature(subject, inputs, precision)
            yield from self._last_layer(subject, inputs)
            if self.maps:
                yield Kept("maps", _maps(self.model, subject, inputs, self.effort.chunk))
            if self.train_logits:
                yield Kept("train_logits", _half(_logits(subject, self.effort.chunk)))
            if self.ends is not None:
                yield from _lines(self.ends, subject, inputs, self.effort)

    def lacks(self, run: StoredRun) -> list[str]:
        """What a run should have beside it, had this been looked for in it, and has not: a word each."""
        lost = self.lacks_numbers(one for one in run.diagnostics() if one.weights == "best")
        kept = [name for name in ("features", "maps", "train_logits") if getattr(self, name)]
        held = run.array_names() if kept else set()
        return lost + [name.replace("_", " ") for name in kept if f"best_{name}" not in held]

    def lacks_numbers(self, found: Iterable[Diagnosis | RunNumber]) -> list[str]:
        """The same, of the numbers alone: those that are there, in a store or in results."""
        numbers = {(one.name, one.slice, one.other) for one in found}
        wanted = {f"curvature of {part} items": ("top_eigenvalue", part, "") for part in self.curvature}
        wanted |= {f"trace of {part} items": ("trace", part, "") for part in self.curvature if self.trace}
        wanted |= {f"scores of {name}": ("energy_auroc", "all", name) for name in self.outside}
        wanted |= {"gradient variance": ("gradient_variance", "all", "")} if self.gradient_variance else {}
        return [word for word, subject in wanted.items() if subject not in numbers]

    def _curvature(self, subject: Subject, inputs: Any, precision: str) -> Found:
        from dissensus.diagnostics.card import sharpness
        from dissensus.evaluation.predict import device_of

        few = slice(self.effort.curved)
        yield from sharpness(
            subject.model,
            inputs[few],
            subject.human[few],
            self.curvature,
            probes=self.effort.probes if self.trace else 0,
            tolerance=self.effort.tolerance,
            chunk=_at_once(device_of(subject.model), self.effort.chunk),
            precision=precision,
        )

    def _last_layer(self, subject: Subject, inputs: Any) -> Found:
        from dissensus.diagnostics.card import of_gradients, ood_scores, told_apart
        from dissensus.diagnostics.gradient_variance import against_entropy
        from dissensus.diagnostics.last_layer import last_layer

        if not (self.gradient_variance or self.outside or self.features):
            return
        chunk = self.effort.chunk
        last = last_layer(subject.model, inputs, chunk=chunk)
        if self.features:
            yield Kept("features", _half(last.features))
        if self.gradient_variance:
            found = against_entropy(last.features, softmax(last.logits), subject.human, bias=last.bias)
            yield from of_gradients(found)
            yield correlated("gradient_variance_sampled", found.sampled_correlation)
            yield Kept("gradient_variance", found.exact.astype(np.float32))
        if self.outside:
            bank = last_layer(subject.model, subject.prepared(subject.train), chunk=chunk).features
            inside = ood_scores(subject.model, inputs, last, bank, chunk)
            for name in self.outside:
                others = subject.prepared(outside_images(name, subject.inputs, self.effort))
                away = last_layer(subject.model, others, chunk=chunk)
                yield from told_apart(inside, ood_scores(subject.model, others, away, bank, chunk), name)


def looks_of(plans: Mapping[Cell, Plan], paper: Paper, effort: Effort, models: Models) -> dict[str, Look]:
    """By run, what is looked for in it, of all trainings of a paper; runs in which nothing is are left out."""
    leading: dict[Cell, list[LineBetween]] = {}
    for line in lines_of(plans, paper):
        for cell in line.ends:
            leading.setdefault(cell, []).append(line)
    looks = {}
    for cell, plan in plans.items():
        lines = leading.get(cell, [])
        others = tuple((plans[line.other(cell)].name, not line.within) for line in lines)
        ends = Ends(plan.name, others, models) if lines else None
        if look := _look(cell, paper, effort, plan.model.name, ends):
            looks[plan.name] = look
    return looks


def _look(cell: Cell, paper: Paper, effort: Effort, model: str, ends: Ends | None) -> Look:
    wanted = paper.diagnostics_of(cell)
    slices: Any = wanted.get("curvature", ())
    return Look(
        model=model,
        effort=effort,
        curvature=slices,
        trace="trace" in wanted,
        gradient_variance="gradient_variance" in wanted,
        outside=tuple(name for told in paper.outside_of(cell) for name in paper.sets_for(told)),
        features="cka" in wanted,
        maps="gradcam" in wanted and model in LAST_BLOCK,
        train_logits="sparse_target" in wanted,
        lines=0 if ends is None else len(ends.others),
        ends=ends,
    )


def _at_once(device: Any, least: int) -> int:
    """Items in a pass of curvature. On a large GPU many: with few it waits for launches, a third of the time.

    What torch holds for others to come is free, too: after the first look that is most of the memory. And whole times
    the least, since cuDNN tries its algorithms anew for every number of items.
    """
    import torch

    if device.type != "cuda":
        return least
    idle = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    free = torch.cuda.mem_get_info(device)[0] + idle
    return max(1, free // (2 * CURVED * least)) * least


def _maps(model: str, subject: Subject, inputs: Any, chunk: int) -> NDArray[np.float16]:
    """Grad-CAM of the class with most votes, each map in units of its highest place: what follows has no scale."""
    from dissensus.diagnostics.gradcam import gradcam

    maps = gradcam(subject.model, LAST_BLOCK[model](subject.model), inputs, subject.labels, chunk=chunk)
    highest = maps.max((1, 2), keepdims=True)
    return _half(np.divide(maps, highest, out=np.zeros_like(maps), where=highest > 0))


def _logits(subject: Subject, chunk: int) -> NDArray[np.float32]:
    from dissensus.evaluation.predict import predict

    return predict(subject.model, subject.prepared(subject.train), batch_size=chunk)


def _lines(ends: Ends, subject: Subject, inputs: Any, effort: Effort) -> Found:
    """Leave the weights for those who come later, then draw the lines to those who were here before."""
    for weights in subject.weights:
        ends.models.save(ends.run, weights, subject.model)
    other = deepcopy(subject.model)
    every = max(1, len(subject.train) // effort.statistics)
    train = subject.prepared(subject.train[::every])
    for weights in subject.weights:
        for run, ordered in ends.others:
            if (state := ends.models.load(run, weights)) is not None:
                other.load_state_dict(state)
                pair = subject.model, other, inputs, subject.human, train, ordered and weights == "best"
                for name, line in barriers(*pair, points=effort.points, chunk=effort.chunk).items():
                    yield estimated(name, line.height, line.standard_error, len(inputs), weights=weights, other=run)
                    yield Kept(f"{name}_{run}", line.losses.astype(np.float32), weights)


def _half(array: NDArray[Any]) -> NDArray[np.float16]:
    with np.errstate(over="ignore"):
        return np.clip(array, -HALF, HALF).astype(np.float16)
