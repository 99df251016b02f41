"""Where Basins leaves open how a number was made: does another reading of it give the published one?

    python benchmarks/readings.py --store STORE                  # on a GPU, about 3 minutes
    python benchmarks/readings.py --store STORE --budget 9m      # goes on where the last call stopped
    python benchmarks/readings.py --tiny                         # does everything work? any machine, no result kept

It trains soft labels and SLS by the published protocol (CIFAR-10H, ResNet-18, all votes, bf16), with seeds that no
table uses, and asks each model at its best epoch, since no weights are kept. The file is written after every question.

What is asked
-------------
The first runs of `dissensus reproduce basins` (seeds 0 and 1) agree with the paper on all items, and differ here:

- *curvature* of the high-disagreement slice: top eigenvalue 514 (soft) and 246 (SLS), published 781 and 314; trace
  8,838 and 3,104, published 10,780 and 3,497. Ours: the tenth with the highest entropy, evaluation items, votes as
  targets. Others: other shares and thresholds, the lowest majority share, a part of the tenth at random (are fewer
  items enough?), majority labels as targets, training items. *all-items* is beside it: are these seeds like others?
- *gradients*: Spearman correlation of the gradient variance with entropy .979 (exact) and .964 (200 draws), published
  .939. Ours: last layer with bias, exact. Others: 1 to 200 draws, other parameters, around the gradient of soft labels
  or around zero in place of the mean of the draws, only items with disagreement, Pearson.
- *neighbours*: KNN AUROC against CIFAR-100 .818 (soft) and .826 (SLS), published .801 and .803. Ours: the 50th nearest
  of all training items, features of length 1. Others: k, features as they are, a smaller bank, the mean distance.
- *maps*: Grad-CAM stability of SLS .854 and .823 (most disputed items), published .901 and .861. Ours: Pearson, the
  majority class, the last stage, its own resolution, items that neither seed was trained on. Others: class, layer,
  measure, without ReLU, at the size of the image, items that one of the seeds was trained on.

The rule, written before any run was made
-----------------------------------------
*Numbers.* The mean over the seeds (of maps: over the pairs with the first seed) is held against the published one. It
may be off by two standard errors of the difference, 2 SD sqrt(1 / n_published + 1 / n_ours), with the published SD for
both. That of *gradients* is the published range over 3.078, the mean range of ten normal numbers. Where no SD was
published, what is allowed is fixed here: .02 for *maps* (half of what is to be explained), and .005 for *neighbours*,
which are judged by what KNN has over the maximum probability (published: +.0037 soft, +.0002 SLS; ours: +.0105 and
+.0133): the images are a part of CIFAR-100, and move all scores alike.

*A reading fits* if all numbers of its question do: both methods, eigenvalue and trace, all and disputed items. Of which
method .939 is, is not told; both must fit.

*A choice explains a difference* if (1) our reading does not fit; (2) one that differs from ours in this choice alone
does; (3) none that leaves this choice as ours does. Then the verdict is **explained**, with the values that fit. If our
own reading fits, the question **agrees**: these seeds have nothing to explain. If some readings fit and no choice
explains, it is **undecided**, and if none does, **not explained**.

Many readings are tried and the allowances are wide with two seeds, so what explains is a candidate and no proof: the
page may say that the published number is what one gets that way, not that the paper did it.

*Known beforehand*, from the votes alone, with features whose lengths scatter by a third: drawing brings the
correlation of *gradients* to .87 with 50 draws, .94 with 100 and .96 with 200; around the gradient of soft labels to
.94 or .95 with 5 to 50 draws. With 100 draws it scatters by .010 (SD) over sets of 200 items, which is what the
published range, .919 to .953, comes to; over 2,000 items it would be a third of that. So draws can hardly fail to
fit: the models decide the rest.

*Time*, an estimate: 4 trainings side by side take 75 s, the first of them 20 s more for compiling, and cuDNN's trials
of eight sizes 10 s. A model is asked for about 17 s: 3 to 4 s for the curvature of all items, 10 s for that of 18
slices and 1.5 s for training items (probes of evaluation items are shared), 2 s for gradients in all parameters of
200 items, one by one, 1 to 2 s for the rest. Together 3 minutes.
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import torch
from make_runs import LEFT, tell_event, whole_numbers
from measure import RESULTS, environment
from readings_look import EXACT, FULL, LAYERS, TINY, Choices, Items, Look, Size, kept_name, parsed, row
from readings_maps import stabilities
from stored_runs import table, tell

from dissensus.base.errors import DissensusError
from dissensus.base.files import written_whole
from dissensus.datasets import Dataset
from dissensus.experiment import Comparison, Plan, compare
from dissensus.experiment.budget import seconds_of
from dissensus.experiment.papers import read_paper
from dissensus.experiment.parts import parts, reference_labels
from dissensus.records import Diagnosis, RunStore

METHODS = ("soft", "sls")
SEEDS = (100, 101)
RANGE_OF_TEN = 3.078  # the mean range of ten normal numbers, in SDs
MAPS_MARGIN, KNN_MARGIN = 0.02, 0.005
SHOWN = 12  # readings of a question that are printed
DIGITS = 6


@dataclass(frozen=True)
class Aim:
    """A published number, and how far a mean of ours may be from it."""

    method: str
    number: str
    published: float
    sd: float = math.nan
    seeds: int = 10
    margin: float | None = None  # where no SD was published

    def allowed(self, runs: int) -> float:
        return self.margin or 2 * self.sd * math.sqrt(1 / self.seeds + 1 / runs)

    def told(self) -> dict[str, float]:
        return {"mean": self.published} | ({"margin": self.margin} if self.margin else {"sd": self.sd})


@dataclass(frozen=True)
class Question:
    """The reading that our tables have, and what the paper has for it."""

    ours: Choices
    aims: tuple[Aim, ...]


def questions() -> dict[str, Question]:
    """The numbers are those of the paper's file."""
    paper = read_paper("basins").published

    def sharp(part: str) -> tuple[Aim, ...]:
        found = {
            (method, number): paper.value("table4", method, number, slice=part, seeds=10)
            for method in METHODS
            for number in ("top_eigenvalue", "trace")
        }
        return tuple(Aim(*key, one.mean, one.sd or math.nan) for key, one in found.items())

    correlation = paper.value("figure7", "sls", "gradient_variance_entropy").mean
    seeds = paper.range("figure7", "sls", "gradient_variance_entropy")
    spread = (seeds.high - seeds.low) / RANGE_OF_TEN
    knn, msp = ({m: paper.value("table8", m, f"{s}_auroc").mean for m in METHODS} for s in ("knn", "msp"))
    stable = {
        (method, f"stability_{part}"): paper.value("figure9", method, "cam_stability", slice=part).mean
        for method in METHODS
        for part in ("all", "disputed")
    }
    return {
        "all-items": Question({"slice": "all items"}, sharp("all")),
        "curvature": Question(
            {"slice": "highest entropy 10.0%", "targets": "votes", "items": "evaluation"}, sharp("disputed")
        ),
        "gradients": Question(
            {"of": "weights and bias", "around": "mean", "draws": EXACT, "items": "all", "correlation": "Spearman"},
            tuple(Aim(method, "correlation", correlation, spread) for method in METHODS),
        ),
        "neighbours": Question(
            {"k": "50", "features": "length 1", "bank": "all", "distance": "k-th"},
            tuple(Aim(m, "knn_less_msp", knn[m] - msp[m], margin=KNN_MARGIN) for m in METHODS),
        ),
        "maps": Question(
            {
                "class": "majority",
                "layer": "last stage",
                "measure": "Pearson",
                "relu": "yes",
                "size": "of the layer",
                "items": "unseen by both",
            },
            tuple(Aim(*key, value, margin=MAPS_MARGIN) for key, value in stable.items()),
        ),
    }


# ------------------------------------------------------------------------------------------------------------ the rule

Values = dict[str, dict[tuple[str, str], dict[str, float]]]  # by reading; by method and number; by seed, or seeds


def judge(question: Question, values: Values) -> list[dict[str, Any]]:
    """A row a reading, nearest first: of each number its values and their mean, and how far that is ``off``, in units
    of what is allowed. ``fits`` is null as long as numbers are missing.
    """
    aims = {f"{aim.method} {aim.number}": aim for aim in question.aims}
    rows = []
    for words, found in values.items():
        numbers: dict[str, dict[str, float]] = {}
        for (method, number), by_seed in found.items():
            name, average = f"{method} {number}", mean(by_seed.values())
            numbers[name] = by_seed | {"mean": average}
            if name in aims:
                numbers[name]["off"] = (average - aims[name].published) / aims[name].allowed(len(by_seed))
        off = [abs(numbers[name]["off"]) for name in aims if name in numbers]
        farthest = max(off) if len(off) == len(aims) and not any(map(math.isnan, off)) else math.inf
        fits = farthest <= 1 if len(off) == len(aims) else None
        rows.append({"reading": parsed(words), "numbers": numbers, "farthest": farthest, "fits": fits})
    return sorted(rows, key=lambda one: one["farthest"])


def decide(question: Question, rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The verdict, by the rule."""
    judged = [row for row in rows if row["fits"] is not None]
    ours = next((row for row in judged if row["reading"] == question.ours), None)
    if ours is None:
        return {"verdict": "not measured"}
    fitting = [row["reading"] for row in judged if row["fits"]]
    told = {"readings": len(judged), "fitting": len(fitting)}
    if ours["fits"]:
        return {"verdict": "agrees"} | told
    if not fitting:
        return {"verdict": "not explained"} | told
    for choice, value in question.ours.items():
        alone = any(_changed(reading, question.ours) == {choice} for reading in fitting)
        if alone and all(reading[choice] != value for reading in fitting):
            fit = sorted({reading[choice] for reading in fitting})
            return {"verdict": "explained", "choice": choice, "ours": value, "values": fit} | told
    return {"verdict": "undecided"} | told


def _changed(reading: Choices, ours: Choices) -> set[str]:
    return {choice for choice, value in ours.items() if reading[choice] != value}


# ------------------------------------------------------------------------------------------------------------ the file


@dataclass
class Book:
    """What was found so far, run by run; the file is written whenever there is more."""

    out: Path
    about: dict[str, Any]
    plans: dict[str, Plan]
    rows: dict[str, list[Diagnosis]] = field(default_factory=dict)
    pairs: dict[tuple[str, str], list[Diagnosis]] = field(default_factory=dict)  # by method and seeds
    failures: list[dict[str, str]] = field(default_factory=list)

    def add(self, run: str, rows: Sequence[Diagnosis]) -> None:
        self.rows.setdefault(run, []).extend(rows)
        self.write()

    def fail(self, run: str, part: str, why: str) -> None:
        plan = self.plans[run]
        self.failures.append({"method": plan.method, "seed": str(plan.seeds.split), "question": part, "why": why})
        tell(f"{plan.method}, seed {plan.seeds.split}: {part} failed.\n{why}", markup=False)
        self.write()

    def values(self, name: str) -> Values:
        """All numbers of a question."""
        found: Values = {}
        told = [(self.plans[run].method, str(self.plans[run].seeds.split), rows) for run, rows in self.rows.items()]
        for method, seed, rows in [*told, *((*key, rows) for key, rows in self.pairs.items())]:
            for one in rows:
                question, number = one.name.split("/")
                if question == name:
                    found.setdefault(one.other, {}).setdefault((method, number), {})[seed] = one.value
        return found

    def result(self) -> dict[str, Any]:
        asked = questions()
        judged = {name: judge(question, self.values(name)) for name, question in asked.items()}
        return {
            "runs": [self._run(run) for run in self.rows],
            "questions": {
                name: {
                    "ours": dict(question.ours),
                    "published": {f"{aim.method} {aim.number}": aim.told() for aim in question.aims},
                    "verdict": decide(question, judged[name]),
                    "readings": judged[name],
                }
                for name, question in asked.items()
            },
            "failures": self.failures,
        }

    def write(self) -> None:
        text = json.dumps(_plain(self.about | {"result": self.result()}), indent=1, sort_keys=True, allow_nan=False)
        self.out.parent.mkdir(parents=True, exist_ok=True)
        with written_whole(self.out) as part:
            part.write_text(text + "\n", encoding="utf-8")

    def _run(self, run: str) -> dict[str, Any]:
        plan = self.plans[run]
        told: dict[str, Any] = {"run": run, "method": plan.method, "seed": plan.seeds.split, "seconds": {}}
        for one in self.rows[run]:
            question, number = one.name.split("/")
            if question == "seconds":
                told["seconds"][number] = one.value
            elif question == "context":
                told[number] = one.value
        return told


def _plain(value: Any) -> Any:
    """Rounded, and null for what is not a number."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else None
    return value


def show(book: Book) -> None:
    for name, question in questions().items():
        rows = judge(question, book.values(name))
        told = decide(question, rows)
        tell(f"[bold]{name}[/]: {told['verdict']} ({told.get('fitting', 0)} of {len(rows)} readings fit)")
        if told["verdict"] == "explained":
            tell(f"  by {told['choice']}: {', '.join(told['values'])}; ours is {told['ours']}")
        shown = table("reading", *(f"{aim.method} {aim.number}" for aim in question.aims), "fits")
        shown.add_row("published", *(f"{aim.published:.4g}" for aim in question.aims), "")
        ours = [one for one in rows if one["reading"] == question.ours]
        for one in [*ours, *(one for one in rows[:SHOWN] if one not in ours)]:
            cells = [one["numbers"].get(f"{aim.method} {aim.number}", {}) for aim in question.aims]
            changed = {key: one["reading"][key] for key in one["reading"] if one["reading"][key] != question.ours[key]}
            words = "; ".join(f"{key}: {value}" for key, value in changed.items()) or "ours"
            numbers = (f"{cell['mean']:.4g} ({cell['off']:+.1f})" if "off" in cell else "-" for cell in cells)
            shown.add_row(words, *numbers, {True: "yes", False: "no", None: "-"}[one["fits"]])
        tell(shown)
    tell("In brackets: how far from the published number, in units of what is allowed.")


# ------------------------------------------------------------------------------------------------------------ the runs


def comparison(seeds: Sequence[int], tiny: bool) -> Comparison:
    """As published: the evaluation items pick the best epoch."""
    what: dict[str, Any] = {"methods": list(METHODS), "votes": "all", "seeds": list(seeds), "split": {"select": 0.0}}
    if not tiny:
        return Comparison.from_dict(what | {"data": {"name": "cifar10h"}, "recipe": {"precision": "bf16"}})
    return Comparison.from_dict(
        what
        | {
            "data": {"name": "glyphs", "options": {"items": 200, "votes": 45}},
            "model": {"name": "resnet18", "options": {"width": 4}},
            "recipe": {"epochs": 2, "batch_size": 64, "lr": 0.05},
        }
    )


def looks(plans: Iterable[Plan], data: Dataset, book: Book, size: Size) -> dict[str, Look]:
    """What is asked of each run. The items whose maps are compared are those that the first seed evaluates."""
    found = {}
    shown = None
    majority = reference_labels(data)
    for plan in plans:
        split = parts(data, plan.split.test, plan.split.select, plan.seeds.split)
        shown = split.evaluation if shown is None else shown
        true = majority if data.labels is None else data.labels
        items = Items(
            data.votes.take(split.train).frequencies(), data.array[shown], majority[shown], true[shown].astype(np.int64)
        )
        found[plan.name] = Look(size, plan.name, items, book.add, book.fail)
    return found


def pairs(plans: Sequence[Plan], data: Dataset, store: RunStore) -> dict[tuple[str, str], list[Diagnosis]]:
    """How stable maps are, between the first seed of a method and each other one that is done."""
    found: dict[tuple[str, str], list[Diagnosis]] = {}
    for method in METHODS:
        done = [plan for plan in plans if plan.method == method and plan.name in store]
        if not done or done[0].seeds != next(plan.seeds for plan in plans if plan.method == method):
            continue
        arrays = [store.read(plan.name).predictions for plan in done]
        human = arrays[0]["counts"] / arrays[0]["counts"].sum(1, keepdims=True)
        first = _maps(arrays[0])
        for plan, one in zip(done[1:], arrays[1:], strict=True):
            unseen, other = np.isin(arrays[0]["ids"], one["ids"]), _maps(one)
            told = found[method, f"{done[0].seeds.split} and {plan.seeds.split}"] = []
            if first and other:
                for choices, everything, disputed in stabilities(first, other, human, unseen, data.array.shape[-1]):
                    told.append(row("maps", "stability_all", everything, len(human), choices))
                    told.append(row("maps", "stability_disputed", disputed, len(human), choices))
    return found


def _maps(predictions: Mapping[str, Any]) -> dict[str, Any]:
    """By layer; none where they could not be made."""
    names = {layer: f"best_{kept_name(layer)}" for layer in LAYERS}
    return {layer: predictions[name] for layer, name in names.items() if name in predictions}


def known(plans: Iterable[Plan], store: RunStore) -> dict[str, list[Diagnosis]]:
    """What an earlier call found."""
    return {
        plan.name: [one for one in store.read(plan.name).diagnostics() if "/" in one.name and one.weights == "best"]
        for plan in plans
        if plan.name in store
    }


def made(given: argparse.Namespace, store: Path, out: Path, command: str) -> int:
    end = None if given.budget is None else time.monotonic() + seconds_of(given.budget)
    asked = comparison(given.seeds, given.tiny)
    data = asked.data.load()
    plans = asked.plans(data)
    about: dict[str, Any] = {"command": command, "environment": environment(("numpy", "scipy", "torch"))}
    if torch.cuda.is_available():
        about["environment"]["machine"]["gpu"] = torch.cuda.get_device_name()
    runs = RunStore(store)
    book = Book(out, about, {plan.name: plan for plan in plans}, known(plans, runs))
    inside = looks(plans, data, book, TINY if given.tiny else FULL)
    budget = None if end is None else max(1.0, end - time.monotonic())
    try:
        outcome = compare(
            plans, asked.data, runs, 1, tell_event, width=given.width, budget=budget, say=tell, diagnose=inside
        )
    finally:
        book.pairs = pairs(plans, data, runs)
        book.write()
    show(book)
    tell(f"{len(outcome.done)} made, {len(outcome.skipped)} known, {len(outcome.left)} left")
    return LEFT if outcome.left or outcome.failed or book.failures else 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=whole_numbers, default=list(SEEDS), help="A,B,... at least two")
    parser.add_argument(
        "--store", type=Path, help="a folder for the runs, to go on later; without it they are not kept"
    )
    parser.add_argument("--budget", help="stop before so long is over, such as 9m or 590s")
    parser.add_argument("--width", type=int, default=4, help="so many side by side")
    parser.add_argument("--tiny", action="store_true", help="glyphs and a thin net; numbers without a meaning")
    parser.add_argument("--out", type=Path, help="results/readings.json; of a tiny run nothing is kept without it")
    given = parser.parse_args(arguments)
    if len(given.seeds) < 2:
        parser.error("--seeds: Grad-CAM maps are compared between seeds, so two are needed.")
    files = {str(given.store): "STORE", str(given.out): "FILE.json"}
    words = [files.get(word, word) for word in (sys.argv[1:] if arguments is None else arguments)]
    command = shlex.join(["python", "benchmarks/readings.py", *words])
    with ExitStack() as stack:
        room = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dissensus-")))
        out = given.out or (room / "readings.json" if given.tiny else RESULTS / "readings.json")
        try:
            return made(given, given.store or room / "runs", out, command)
        except DissensusError as error:
            raise SystemExit(str(error)) from None


if __name__ == "__main__":
    raise SystemExit(main())
