"""From a run's predictions to its records: every metric, at both checkpoints, before and after a temperature.

A temperature is fitted by soft cross-entropy on items that are not scored: on the selection items, with the votes that
the run was given; or, where none were set aside, on one half of the evaluation items for the other half and the other
way round. The halves depend on the number of items alone, so all methods of a seed share them.
"""

from __future__ import annotations

from contextlib import suppress

import numpy as np
from numpy.typing import NDArray

from dissensus.base.arrays import Labels, Simplex
from dissensus.base.errors import InputError, StoreError, unknown
from dissensus.base.streams import permutation
from dissensus.metrics import METRICS, Metric, fit_temperature, softmax
from dissensus.records import CHECKPOINTS, Against, Checkpoint, Record, StoredRun


def records_of(run: StoredRun) -> list[Record]:
    """The run's records: those beside it if they hold exactly its metrics of today, else scored and kept there."""
    try:
        records = run.records()
    except StoreError:  # damaged; it is derived, so nothing is lost
        records = []
    if {record.metric for record in records} == set(metrics_of(run)):
        return records
    records = score(run)
    with suppress(StoreError):  # a store that cannot be written can still be read
        run.write_records(records)
    return records


def score(run: StoredRun) -> list[Record]:
    """Every metric at ``best`` and ``last``, plain and tempered, against the votes and, where known, the truth.

    Metrics of ordered classes only where the run's are. Against the votes, labels are those of the run; against the
    truth, its most probable class. Where training diverged, and the logits are not finite, the value is nan.
    """
    references: dict[Against, tuple[Simplex, Labels]] = {"human": (human_shares(run), _array(run, "labels"))}
    if "truth" in run.predictions:
        truth = run.predictions["truth"].astype(np.float64)
        references["truth"] = truth, truth.argmax(1)
    records = []
    for checkpoint in CHECKPOINTS:
        for tempered, probs_of in ((False, plain_probs), (True, tempered_probs)):
            probs = probs_of(run, checkpoint) if _converged(run, checkpoint) else None
            for against, (human, labels) in references.items():
                for name, metric in metrics_of(run).items():
                    value = np.nan if probs is None else float(metric(probs, human, labels))
                    records.append(Record(run.name, name, value, checkpoint, tempered, against, items=len(human)))
    return records


def metrics_of(run: StoredRun) -> dict[str, Metric]:
    """The metrics that mean something for the run: those of ordered classes only where its classes are ordered."""
    ordered = bool(run.plan["data"].get("ordered", False))
    return {name: metric for name, metric in METRICS.items() if ordered or not metric.ordered_only}


def human_shares(run: StoredRun) -> NDArray[np.float64]:
    """What the annotators said of the evaluation items, (items, classes)."""
    counts = _array(run, "counts").astype(np.float64)
    votes = counts.sum(1, keepdims=True)
    if not votes.all():
        row = int(np.flatnonzero(votes[:, 0] == 0)[0])
        raise InputError(
            f"run {run.name} cannot be scored: evaluation item {str(_array(run, 'ids')[row])!r} has no votes."
        )
    return counts / votes


def plain_probs(run: StoredRun, checkpoint: Checkpoint) -> NDArray[np.float64]:
    """What the model said of the evaluation items, (items, classes)."""
    return softmax(_logits(run, checkpoint))


def tempered_probs(run: StoredRun, checkpoint: Checkpoint) -> NDArray[np.float64]:
    """The same after a temperature that was fitted on items other than the one it is applied to."""
    logits = _logits(run, checkpoint)
    if "select_target" in run.predictions:
        return softmax(logits, selected_temperature(run, checkpoint))
    human = human_shares(run)
    probs = np.empty(logits.shape, np.float64)
    for fitted, scored in _halves(len(logits)):
        probs[scored] = softmax(logits[scored], fit_temperature(logits[fitted], human[fitted]))
    return probs


def selected_temperature(run: StoredRun, checkpoint: Checkpoint = "best") -> float:
    """The temperature that fits the run's selection items best, by the votes that it was given on them."""
    if "select_target" not in run.predictions:
        raise InputError(
            f"run {run.name} set no selection items aside (--select 0), so there are no votes to fit a temperature to. "
            "Leave the temperature out, or train with --select 0.1."
        )
    return fit_temperature(_array(run, f"select_{checkpoint}_logits"), _array(run, "select_target"))


def _converged(run: StoredRun, checkpoint: Checkpoint) -> bool:
    names = (f"{checkpoint}_logits", f"select_{checkpoint}_logits")
    return all(np.isfinite(run.predictions[name]).all() for name in names if name in run.predictions)


def _halves(items: int) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    if items < 2:
        raise InputError("a temperature needs at least two evaluation items, or selection items of its own.")
    order = permutation(items, 0, "temperature halves")
    one, other = order[: items // 2], order[items // 2 :]
    return [(one, other), (other, one)]


def _logits(run: StoredRun, checkpoint: Checkpoint) -> NDArray[np.floating]:
    if checkpoint not in CHECKPOINTS:
        raise InputError(unknown("checkpoint", checkpoint, CHECKPOINTS))
    return _array(run, f"{checkpoint}_logits")


def _array(run: StoredRun, name: str) -> NDArray:
    if name not in run.predictions:
        raise run.damaged("predictions.npz", ValueError(f"it holds no {name!r}"))
    return run.predictions[name]
