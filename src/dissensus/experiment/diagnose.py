"""Diagnostics of stored runs, each by itself and in pairs.

From the files of a run alone come its dynamics, and, with other runs beside it, CKA (of runs that kept features) and
sparse targets (of runs with few votes an item). What looks inside needs the weights, where they were kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path

from dissensus.base.errors import InputError
from dissensus.datasets import Dataset
from dissensus.experiment.machine import device
from dissensus.experiment.pairs import across_seeds, against_soft, between_models
from dissensus.experiment.parts import parts
from dissensus.experiment.plan import Plan
from dissensus.experiment.run import refuse_other_meaning
from dissensus.experiment.seen import factory, seen
from dissensus.experiment.source import Source
from dissensus.experiment.subject import Subject, dynamics_of, look_inside
from dissensus.experiment.trained import load_weights
from dissensus.records import Diagnosis, StoredRun, renewed

OPEN = 8  # models in memory at once


def diagnose_runs(
    runs: Sequence[StoredRun], outside: Sequence[str] = (), progress: Callable[[str], object] = lambda _: None
) -> dict[str, list[Diagnosis]]:
    """Everything that can be said of these runs; kept beside them, and returned by name.

    Diagnostics that a run has already stay, unless they are found again. ``outside`` names sets of images for the
    out-of-distribution scores; ``progress`` is given a line before whatever takes long. Of a run that diverged there is
    nothing to say.
    """
    asked, runs = runs, [run for run in runs if run.diverged is None]
    opened = _opener(runs)
    for number, run in enumerate(runs, 1):
        found = dynamics_of(run.history, len(run.predictions["counts"]))
        if run.has_weights:
            progress(f"Looking inside {run.name} ({number} of {len(runs)})")
        if (subject := opened(run.name)) is not None:
            found += [replace(one, weights="best") for one in look_inside(subject, outside)]
        _keep(run, found)
    progress("Comparing runs")
    weighted = [run for run in runs if run.has_weights]
    pairs: dict[str, list[Diagnosis]] = {run.name: [] for run in runs}
    for run, one in [*across_seeds(runs, opened), *between_models(weighted, opened), *against_soft(runs)]:
        pairs[run.name].append(one)
    for run in runs:
        _keep(run, pairs[run.name])
    return {run.name: run.diagnostics() for run in asked}


def _keep(run: StoredRun, found: Sequence[Diagnosis]) -> None:
    run.write_diagnostics(renewed(run.diagnostics(), found))


def reopened(run: StoredRun, data: Dataset) -> Subject:
    """The model of a run that kept its weights, those of the best epoch, with the items of the run."""
    from dissensus.evaluation.predict import device_of
    from dissensus.training.inputs import checked, prepare_by

    plan = Plan.from_dict(run.plan)
    refuse_other_meaning(plan, data)
    encoder = run.source.get("encoder")
    data = seen(plan.model, data, encoder)
    split = parts(data, plan.split.test, plan.split.select, plan.seeds.split)
    model = factory(plan.model, data, encoder)().to(device())
    load_weights(model, run)
    prepare = prepare_by(plan.recipe.as_recipe(), checked("inputs", data.array[split.train]))
    return Subject.of(model, prepare.to(device_of(model)), data, split)


def _whence(source: Mapping[str, object]) -> str:
    """What to do about files that are not found, where they were named by relative paths."""
    files = [str(source[part]) for part in ("votes", "inputs", "texts") if source.get(part)]
    if all(Path(file).is_absolute() for file in files):
        return ""
    return f" They were given as {' and '.join(files)}: give this command in the folder where the run was made."


def _opener(runs: Sequence[StoredRun]) -> Callable[[str], Subject | None]:
    """What opens a run by its name, or says that its weights are gone; a few stay open, and data are loaded once."""
    by_name = {run.name: run for run in runs}

    @cache
    def data(source: str) -> Dataset:
        return Source(**json.loads(source)).load()

    @lru_cache(OPEN)
    def opened(name: str) -> Subject | None:
        run = by_name[name]
        if not run.has_weights:
            return None
        try:
            found = data(json.dumps(run.source, sort_keys=True))
        except InputError as error:
            raise InputError(f"the data of run {name} cannot be read again: {error}{_whence(run.source)}") from None
        return reopened(run, found)

    return opened
