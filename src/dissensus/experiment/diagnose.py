"""Diagnostics of stored runs.

From the files of a run alone come its dynamics, and, with other runs beside it, CKA (of runs that kept features) and
sparse targets (of runs with few votes an item). What looks inside needs the weights, where they were kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from dissensus.base.errors import require
from dissensus.datasets import Dataset
from dissensus.delivery import DELIVERIES, METHODS
from dissensus.diagnostics.shared_items import shared_items
from dissensus.diagnostics.similarity import LEAST_ITEMS, debiased_cka, linear_cka
from dissensus.diagnostics.sparse_target import Relation, sparse_target
from dissensus.evaluation import plain_probs
from dissensus.experiment.parts import parts
from dissensus.experiment.plan import Plan
from dissensus.experiment.run import WEIGHTS, device, refuse_other_meaning
from dissensus.experiment.source import Source
from dissensus.experiment.subject import Subject, dynamics_of, look_inside
from dissensus.metrics import soft_nll
from dissensus.records import Diagnosis, Slice, StoredRun, canonical_json, renewed
from dissensus.votes import Votes


def diagnose_runs(runs: Sequence[StoredRun], outside: Sequence[str] = ()) -> dict[str, list[Diagnosis]]:
    """Everything that can be said of these runs, each by itself and in pairs; kept beside them, and returned by name.

    Diagnostics that a run has already stay, unless they are found again.
    """
    found = {run.name: dynamics_of(run.history, len(run.predictions["counts"])) for run in runs}
    for run in runs:
        if has_weights(run):
            looked = look_inside(reopened(run, data_of(run)), outside)
            found[run.name] += [replace(one, weights="best") for one in looked]
    for run, one in [*across_seeds(runs), *against_soft(runs)]:
        found[run.name].append(one)
    for run in runs:
        run.write_diagnostics(renewed(run.diagnostics(), found[run.name]))
    return {run.name: run.diagnostics() for run in runs}


# --- with the model ---------------------------------------------------------------------------------------------------


def has_weights(run: StoredRun) -> bool:
    return (run.path / WEIGHTS).exists()


def data_of(run: StoredRun) -> Dataset:
    """The data that the run was made with, from where they were."""
    source = run.about.get("source") or {"name": run.plan["data"]["name"]}
    return Source(**source).load()


def reopened(run: StoredRun, data: Dataset) -> Subject:
    """The model of a run that kept its weights, those of the best epoch, with the items of the run."""
    from dissensus.models import make
    from dissensus.training.inputs import Normalise, checked

    plan = Plan.from_dict(run.plan)
    refuse_other_meaning(plan, data)
    require("safetensors", extra="train")
    from safetensors.torch import load_file

    split = parts(data, plan.split.test, plan.split.select, plan.seeds.split)
    model = make(plan.model.name, data.inputs.shape[1:], data.votes.n_classes, **plan.model.options)().to(device())
    model.load_state_dict(load_file(run.path / WEIGHTS))
    train = data.inputs[split.train]
    prepare = Normalise.by(plan.recipe.as_recipe(), checked("inputs", train)).to(next(model.parameters()).device)
    human = data.votes.take(split.evaluation).frequencies()
    return Subject(model.eval(), prepare, data.inputs[split.evaluation], human, train)


# --- in pairs ---------------------------------------------------------------------------------------------------------


def across_seeds(runs: Iterable[StoredRun]) -> Iterator[tuple[StoredRun, Diagnosis]]:
    """How alike the features of two seeds of one method are, on the items that neither was trained on."""
    kept = [run for run in runs if "best_features" in run.predictions]
    for group in _alike(kept, lambda plan: plan | {"seeds": None}):
        for run, other in combinations(group, 2):
            here, there = shared_items(run.predictions["ids"], other.predictions["ids"])
            if len(here) < LEAST_ITEMS:
                continue
            x, y = run.predictions["best_features"][here], other.predictions["best_features"][there]
            for name, cka in (("cka", linear_cka), ("debiased_cka", debiased_cka)):
                yield run, Diagnosis(name, cka(x, y), np.nan, np.nan, len(here), weights="best", other=other.name)


def against_soft(runs: Iterable[StoredRun]) -> Iterator[tuple[StoredRun, Diagnosis]]:
    """Where a hard delivery gains over soft labels, for runs that were given few votes an item.

    On the evaluation items that have so many votes, with a target drawn from their votes as those of the training items
    were.
    """
    few = [run for run in runs if run.plan["votes"] != "all"]
    for group in _alike(few, lambda plan: plan | {"method": None, "versions": None}):
        soft = next((run for run in group if run.plan["method"] == "soft"), None)
        for run in group:
            if soft is not None and DELIVERIES[METHODS[run.plan["method"]].delivery].hard:
                yield from ((run, one) for one in _gains(run, soft))


def _gains(run: StoredRun, soft: StoredRun) -> Iterator[Diagnosis]:
    counts, number = run.predictions["counts"], int(run.plan["votes"])
    enough = np.flatnonzero(counts.sum(1) >= number)
    votes = Votes.from_counts(counts[enough])
    full = votes.frequencies()
    sparse = getattr(votes, run.plan["draw"])(number, seed=run.plan["seeds"]["split"]).frequencies()
    theirs, ours = (soft_nll(plain_probs(one, "best")[enough], full) for one in (soft, run))
    found = sparse_target(sparse, full, theirs - ours)
    parts_of: dict[tuple[str, Slice], Relation] = {
        ("js_gain", "all"): found.js,
        ("js_gain", "disputed"): found.js_disputed,
        ("l1_gain", "all"): found.l1,
        ("l1_gain", "disputed"): found.l1_disputed,
    }
    for (name, part), relation in parts_of.items():
        for end, one in (("", relation.plain), ("_given_entropy", relation.given_entropy)):
            yield Diagnosis(name + end, one.value, one.low, one.high, one.items, part, "best", soft.name)


def _alike(runs: Iterable[StoredRun], but: Callable[[dict[str, Any]], dict[str, Any]]) -> Iterable[list[StoredRun]]:
    """Runs whose plans are the same but for some parts, in the order of their names."""
    groups: dict[str, list[StoredRun]] = {}
    for run in sorted(runs, key=lambda run: run.name):
        groups.setdefault(canonical_json(but(run.plan)), []).append(run)
    return groups.values()
