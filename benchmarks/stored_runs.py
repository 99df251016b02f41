"""Runs that a GPU machine handed over, found by what their plans say; for the scripts that judge them. No training.

Sources are run stores, archives that ``dissensus runs pack`` made, folders of such archives, and files of scores, which
``make_runs.py`` writes: all that the judges ask of a run, and none of the votes that a store has beside it. So these
can be kept with the results.
"""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from measure import environment
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from dissensus.base.files import written_whole
from dissensus.evaluation import records_of
from dissensus.experiment import Comparison, Plan
from dissensus.experiment.defaults import DEFAULTS
from dissensus.records import RunStore, StoredRun, merge

HERE = Path(__file__).resolve().parent
CHECKPOINTS = ("best", "last")
DIGITS = 6
WIDE = 144  # columns

Key = tuple[str, int | str, int, str]  # method, votes an item, seed, precision
Scores = dict[str, dict[str, float]]  # by checkpoint and metric


@dataclass(frozen=True)
class Measured:
    """What the judges ask of a run, and nothing that its votes could be read from."""

    name: str
    plan: dict[str, Any]
    about: dict[str, Any]
    scores: Scores  # against the votes, without a temperature
    first_loss: float  # mean training loss of the first epoch
    last_logits: str  # a digest

    @classmethod
    def of(cls, run: StoredRun) -> Measured:
        logits = hashlib.sha256(run.predictions["last_logits"].tobytes()).hexdigest()[:16]
        return cls(run.name, run.plan, run.about, _scores(run), float(run.history["train_loss"][0]), logits)


def gathered(sources: Iterable[str | Path]) -> list[Measured]:
    """The runs of all sources. One run with two sets of numbers is refused: nobody should choose between them."""
    found: dict[str, Measured] = {}
    files = [Path(source) for source in sources]
    stores = [path for path in files if path.suffix != ".json"]
    other = set()
    for run in [*(run for path in files if path.suffix == ".json" for run in read_scores(path)), *_stored(stores)]:
        if found.setdefault(run.name, run).last_logits != run.last_logits:
            other.add(run.name)
    if other:
        raise SystemExit(f"in two sources with other numbers: {', '.join(sorted(other))}. Give one source of each.")
    return [found[name] for name in sorted(found)]


def _stored(sources: Sequence[Path]) -> list[Measured]:
    with tempfile.TemporaryDirectory(prefix="dissensus-") as room:
        store = RunStore(room)
        merged = merge(store, sources, lambda plan: Plan.from_dict(plan).name)
        if merged.problems:
            raise SystemExit("\n".join(merged.problems))
        if merged.other:
            raise SystemExit(f"in two sources with other numbers: {', '.join(merged.other)}. Give one source of each.")
        return [Measured.of(store.read(name)) for name in store.names()]


def write_scores(runs: Iterable[Measured], path: Path) -> None:
    """A file of scores; numbers that are not finite, since a run diverged, are null."""
    told = [_changed(asdict(run), _or_null) for run in sorted(runs, key=lambda run: run.name)]
    path.parent.mkdir(parents=True, exist_ok=True)
    with written_whole(path) as part:
        part.write_text(json.dumps(told, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")


def read_scores(path: Path) -> list[Measured]:
    """What :func:`write_scores` wrote."""
    try:
        rows = json.loads(path.read_text("utf-8"))
        return [Measured(**_changed(row, _or_nan)) for row in rows]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise SystemExit(f"{path} is no file of scores ({error}).") from None


def _changed(row: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    """With every measured number changed."""
    scores = {at: {metric: change(value) for metric, value in told.items()} for at, told in row["scores"].items()}
    return {**row, "scores": scores, "first_loss": change(row["first_loss"])}


def _or_null(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def asked_for(
    file: str, precision: str, seeds: Sequence[int] | None = None, init: str = "he"
) -> dict[Key, dict[str, Any]]:
    """What the plans of a comparison file beside this module say, whatever the data; ``seeds`` in place of its own."""
    comparison = Comparison.read(
        HERE / file, recipe={"precision": precision}, **({"seeds": list(seeds)} if seeds else {})
    )
    default = DEFAULTS[str(comparison.data.name)]
    recipe = {**default.recipe, **comparison.recipe.model_dump(exclude_unset=True)}
    unseen = {"name": comparison.data.name, "votes": "0" * 64, "inputs": "0" * 64, "classes": ["-", "-"]}
    plans = [
        Plan(
            data=unseen,
            method=method,
            votes=votes,
            draw="subsample" if votes == "all" else comparison.draw,
            seeds=seed,
            split=comparison.split.model_dump(),
            model={"name": default.model, "options": {"init": init}},
            recipe=recipe,
        )
        for seed in comparison.seeds
        for votes in comparison.votes
        for method in comparison.methods
    ]
    return {key_of(plan): _without_data(plan) for plan in plans}


def find(runs: Iterable[Measured], asked: Mapping[Key, dict[str, Any]]) -> dict[Key, Measured]:
    """The run of every plan that was asked for; those that are missing are named, and end the program.

    So are those that were made twice, under one plan that says how the convolutions begin and one that leaves it to the
    version of the model.
    """
    found: dict[Key, Measured] = {}
    data, twice = set(), set()
    for run in runs:
        plan = Plan.from_dict(run.plan)
        if asked.get(key := key_of(plan)) == _without_data(plan):
            if found.setdefault(key, run).last_logits != run.last_logits:
                twice.add(key)
            data.add((plan.data.votes, plan.data.inputs))
    if twice:
        raise SystemExit(
            f"{len(twice)} of {len(asked)} runs are there twice, with other numbers. Give one source of each:\n"
            + "\n".join(_told(key) for key in asked if key in twice)
        )
    if missing := [key for key in asked if key not in found]:
        raise SystemExit(f"{len(missing)} of {len(asked)} runs are missing:\n" + "\n".join(map(_told, missing)))
    if len(data) > 1:
        raise SystemExit("the runs are of different votes or inputs under one name.")
    return found


def key_of(plan: Plan) -> Key:
    return plan.method, plan.votes, plan.seeds.split, plan.recipe.precision


def _scores(run: StoredRun) -> Scores:
    scores: Scores = {checkpoint: {} for checkpoint in CHECKPOINTS}
    for record in records_of(run):
        if not record.tempered and record.against == "human":
            scores[record.checkpoint][record.metric] = record.value
    return scores


def made_on(abouts: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Where runs were made, as their ``about.json`` tells it: every value that occurs."""
    about = list(abouts)
    told = {
        "device": [one.get("device") for one in about],
        "dissensus": [one.get("dissensus") for one in about],
        "commit": [one.get("commit") for one in about],
        "python": [one.get("python") for one in about],
        "torch": [one.get("packages", {}).get("torch") for one in about],
        "width": [one.get("width") for one in about],
        "engine": [json.dumps(one.get("engine"), sort_keys=True) for one in about],
    }
    return {name: sorted(set(values) - {None}) for name, values in told.items()} | {
        "resumed": sum(bool(one.get("resumed_at")) for one in about)
    }


def write(
    out: Path, result: Mapping[str, Any], abouts: Iterable[Mapping[str, Any]], command: str, made_by: list[str]
) -> None:
    """The result with the commands that made it, where the runs were made and where they were judged."""
    told = {
        "command": command,
        "runs_made_by": made_by,
        "environment": environment(),
        "runs_made_on": made_on(abouts),
        "result": _rounded(result),
    }
    text = json.dumps(told, indent=2, sort_keys=True, allow_nan=False)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(text + "\n", encoding="utf-8")


def tell(what: Table | str, markup: bool = True) -> None:
    """Print, wide enough for every table here; where there is no terminal, rich would take 80 columns."""
    Console(width=max(WIDE, Console().width), highlight=False, markup=markup).print(what)


def table(*columns: str) -> Table:
    return Table(*columns, box=SIMPLE_HEAD, pad_edge=False)


def _rounded(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _rounded(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return round(value, DIGITS) if isinstance(value, float) else value


def begins(plan: Plan) -> str:
    """How the convolutions of a ResNet-18 begin: what no option says, the version of the model does."""
    return str(plan.model.options.get("init", "torch" if plan.versions.model == 1 else "he"))


def _without_data(plan: Plan) -> dict[str, Any]:
    content = plan.to_dict()
    content["data"] = content["data"]["name"]
    content["model"]["options"]["init"] = begins(plan)
    del content["versions"]
    return content


def _told(key: Key) -> str:
    method, votes, seed, precision = key
    return f"  {method}, {votes} votes, seed {seed}, {precision}"
