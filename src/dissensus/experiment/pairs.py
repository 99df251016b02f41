"""What is said of two runs: whether they see alike, lie in one basin, and where one gains over the other.

Of stored runs the functions give pairs of a run and a number about it, in which the other run is named. What two runs
of a paper give (:mod:`dissensus.experiment.reproduce`) is computed here, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dissensus.delivery import is_hard
from dissensus.diagnostics.cam_stability import cam_stability
from dissensus.diagnostics.findings import correlated, estimated
from dissensus.diagnostics.shared_items import shared_items
from dissensus.diagnostics.similarity import LEAST_ITEMS, cka_errors, debiased_cka, linear_cka
from dissensus.diagnostics.sparse_target import Relation, SparseTarget, sparse_target
from dissensus.evaluation import plain_probs
from dissensus.experiment.machine import device, threads
from dissensus.experiment.parts import sparse_targets
from dissensus.experiment.subject import Subject
from dissensus.metrics import most_disputed, soft_nll
from dissensus.records import Checkpoint, Diagnosis, Slice, StoredRun, canonical_json

if TYPE_CHECKING:
    from torch import Tensor, nn

    from dissensus.diagnostics.barrier import Barrier

Found = Iterator[tuple[StoredRun, Diagnosis]]
Opened = Callable[[str], Subject | None]  # a run by its name; None where its weights are gone
Indices = NDArray[np.int64]

CKAS = {"cka": linear_cka, "debiased_cka": debiased_cka}
# The last layer that still has places, where Grad-CAM looks.
LAST_BLOCK: dict[str, Callable[[Any], nn.Module]] = {
    "resnet18": lambda model: model.stages[-1],
    "small-cnn": lambda model: model.trunk[-1],
}


def across_seeds(runs: Iterable[StoredRun], opened: Opened) -> Found:
    """How alike two seeds of one method are on the items that neither was trained on.

    CKA and Grad-CAM stability of every two; and barriers, which take longer, of neighbours in a ring of the seeds. What
    lies between two methods says little unless it is more than what lies between two seeds of each.
    """
    for group in _alike(runs, lambda plan: plan | {"seeds": None}):
        place = {run.name: i for i, run in enumerate(group)}
        for run, other, here, there in on_shared_items(group):
            yield from ((run, one) for one in _representations(run, other, here, there))
            yield from ((run, one) for one in _maps(run, other, here, there, opened))
            split = {one.plan["seeds"]["split"] for one in (run, other)}  # runs of one split: see between_models
            if len(split) == 2 and place[other.name] - place[run.name] in (1, len(group) - 1):
                yield from ((run, one) for one in _barriers(opened(run.name), opened(other.name), other.name, here))


def on_shared_items(runs: Iterable[StoredRun]) -> Iterator[tuple[StoredRun, StoredRun, Indices, Indices]]:
    """Every two runs that were evaluated on enough items in common, and where these are in either."""
    for run, other in combinations(runs, 2):
        ids = run.predictions["ids"], other.predictions["ids"]
        if share_enough(*ids):
            yield run, other, *shared_items(*ids)


def share_enough(first: ArrayLike, second: ArrayLike) -> bool:
    """Whether two lists of evaluation items have so many in common that models can be compared on them.

    >>> share_enough(["a", "b", "c", "d"], ["d", "c", "b", "a"]), share_enough(["a", "b", "c", "d"], ["a", "b", "c"])
    (True, False)
    """
    return len(np.intersect1d(first, second)) >= LEAST_ITEMS


def kept_by_both(
    name: str, run: StoredRun, other: StoredRun, here: Indices, there: Indices
) -> tuple[NDArray[Any], NDArray[Any]] | None:
    """An array of each, of the items that they share; None where one of them has not kept it."""
    if name not in run.predictions or name not in other.predictions:
        return None
    return run.predictions[name][here], other.predictions[name][there]


def _representations(run: StoredRun, other: StoredRun, here: Indices, there: Indices) -> Iterator[Diagnosis]:
    if (features := kept_by_both("best_features", run, other, here, there)) is not None:
        for (name, cka), error in zip(CKAS.items(), cka_errors(*features), strict=True):
            yield estimated(name, cka(*features), error, len(here), weights="best", other=other.name)


def _maps(run: StoredRun, other: StoredRun, here: Indices, there: Indices, opened: Opened) -> Iterator[Diagnosis]:
    block = LAST_BLOCK.get(run.plan["model"]["name"])
    one, two = opened(run.name), opened(other.name)
    if block is None or one is None or two is None:
        return
    from dissensus.diagnostics.gradcam import gradcam

    labels = run.predictions["labels"][here]
    maps = [
        gradcam(subject.model, block(subject.model), subject.prepared(subject.inputs[index]), labels)
        for subject, index in ((one, here), (two, there))
    ]
    yield from maps_alike(maps[0], maps[1], one.human[here], "best", other.name)


def maps_alike(
    maps: NDArray[Any], others: NDArray[Any], human: NDArray[Any], weights: Checkpoint, other: str
) -> Iterator[Diagnosis]:
    """How well Grad-CAM maps of the same items agree, over all of them and over the most disputed."""
    slices: dict[Slice, Indices] = {"all": np.arange(len(maps)), "disputed": most_disputed(human)}
    for part, index in slices.items():
        found = cam_stability(maps[index], others[index])
        kept = len(index) - found.dropped
        yield estimated("cam_stability", found.mean, found.standard_error, kept, part, weights, other)


def between_models(runs: Iterable[StoredRun], opened: Opened) -> Found:
    """The barriers between every two models that were trained on the same items, on their evaluation items."""
    for group in _alike(runs, lambda plan: plan | {"method": None, "versions": None, "seeds": plan["seeds"]["split"]}):
        for run, other in combinations(group, 2):
            yield from ((run, one) for one in _barriers(opened(run.name), opened(other.name), other.name))


def _barriers(
    one: Subject | None, two: Subject | None, other: str, items: Indices | slice = slice(None)
) -> Iterator[Diagnosis]:
    """Those between two models, on these of the first's evaluation items."""
    if one is None or two is None:
        return
    inputs, train = one.prepared(one.inputs[items]), one.prepared(one.train)
    for name, line in barriers(one.model, two.model, inputs, one.human[items], train).items():
        yield estimated(name, line.height, line.standard_error, len(inputs), weights="best", other=other)


def barriers(
    model: nn.Module,
    other: nn.Module,
    inputs: Tensor,
    human: NDArray[Any],
    train: Tensor,
    ordered: bool = True,
    **how: int,
) -> dict[str, Barrier]:
    """With stale batch-norm statistics, as published; with those of ``train``, computed anew; and, if ``ordered``, with
    the other model's units in the order of the first's besides: what is left then is neither of the two.
    """
    from dissensus.diagnostics.alignment import aligned
    from dissensus.diagnostics.barrier import barrier, barrier_with_reset_statistics, has_statistics

    def anew(second: nn.Module) -> Barrier:
        if not has_statistics(model):
            return barrier(model, second, inputs, human, **how)
        return barrier_with_reset_statistics(model, second, inputs, human, train, **how)

    found = {"barrier": barrier(model, other, inputs, human, **how)}
    if has_statistics(model):
        found["barrier_reset"] = anew(other)
    if ordered:
        # half a minute of one core for a ResNet-18, while a GPU waits
        with threads(os.cpu_count() or 1) if device() == "cuda" else nullcontext():
            renamed = aligned(other, to=model)
        found["barrier_aligned"] = anew(renamed)
    return found


def against_soft(runs: Iterable[StoredRun]) -> Found:
    """Where a hard delivery gains over soft labels, for runs that were given few votes an item.

    On the evaluation items, with a target drawn from their votes as those of the training items were; where that is
    without replacement, on those that have so many votes.
    """
    few = [run for run in runs if run.plan["votes"] != "all"]
    for group in _alike(few, lambda plan: plan | {"method": None, "versions": None}):
        soft = next((run for run in group if run.plan["method"] == "soft"), None)
        for run in group:
            if soft is not None and is_hard(run.plan["method"]):
                yield from ((run, one) for one in _gains(run, soft))


def _gains(run: StoredRun, soft: StoredRun) -> Iterator[Diagnosis]:
    how = int(run.plan["votes"]), run.plan["draw"], run.plan["seeds"]["split"]
    enough, sparse, full = sparse_targets(run.predictions["counts"], *how)
    theirs, ours = (soft_nll(plain_probs(one, "best")[enough], full) for one in (soft, run))
    found = sparse_target(sparse, full, theirs - ours)
    for distance, part, relation in relations_of(found):
        yield correlated(f"{distance}_gain", relation.plain, part, "best", soft.name)
        yield correlated(f"{distance}_gain_given_entropy", relation.given_entropy, part, "best", soft.name)


def relations_of(found: SparseTarget) -> list[tuple[str, Slice, Relation]]:
    """By distance and slice."""
    return [
        ("js", "all", found.js),
        ("js", "disputed", found.js_disputed),
        ("l1", "all", found.l1),
        ("l1", "disputed", found.l1_disputed),
    ]


def _alike(
    runs: Iterable[StoredRun], but: Callable[[dict[str, Any]], Mapping[str, Any]]
) -> Iterator[Sequence[StoredRun]]:
    """Runs whose plans are the same but for some parts, in the order of their names."""
    groups: dict[str, list[StoredRun]] = {}
    for run in sorted(runs, key=lambda run: run.name):
        groups.setdefault(canonical_json(but(run.plan)), []).append(run)
    yield from groups.values()
