"""Which runs are compared with which: grouped by votes and method, paired by seed, and checked to be comparable."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from dissensus.base.errors import InputError, unknown
from dissensus.base.words import listed, many
from dissensus.delivery import METHODS
from dissensus.records import StoredRun

# What may tell two methods of one comparison apart, besides the method's name.
ARM_FIELDS = ("hold", "target", "recipe.mixup", "versions.delivery")
PANEL_FIELDS = ("votes", "draw")
SEED_FIELDS = ("seeds.split", "seeds.init", "seeds.order", "seeds.delivery")
# These are for people: what the data are is said by the digests of votes and inputs, and an encoder by its own.
NAME_FIELDS = ("data.name", "data.classes", "data.ordered", "model.encoder")
# Fields that plans have got since the first release, and what was done before: a plan without them says the same.
LATER = {"recipe.optimizer": "sgd", "recipe.warmup": 0.0}

Plan: TypeAlias = Mapping[str, Any]  # by dotted names


@dataclass(frozen=True)
class Group:
    """Runs that were given equally many votes: for every method one run a seed, all methods over the same seeds."""

    votes: str  # "all votes", "5 votes an item", "2 votes an item, drawn with replacement"
    seeds: tuple[str, ...]
    runs: Mapping[str, tuple[StoredRun, ...]]  # method -> one run a seed
    left_out: tuple[str, ...]  # runs without a partner, in words


def pair(runs: Iterable[StoredRun], where: Mapping[str, Any] | None = None) -> tuple[dict[str, Any], list[Group]]:
    """What all plans share, and the runs in groups, from few votes to all; ``where`` keeps some by their plans."""
    chosen = [(run, flat(run.plan)) for run in runs_where(runs, where or {})]
    plans = [plan for _, plan in chosen]
    setting = _one_setting(chosen)
    groups: dict[str, dict[str, dict[str, StoredRun]]] = {}
    for (run, plan), method in zip(chosen, _method_names(plans), strict=True):
        seeds, seed = groups.setdefault(_votes_name(plan), {}).setdefault(method, {}), _seed_name(plan)
        if seed in seeds:
            raise InputError(f"runs {seeds[seed].name} and {run.name} are both {method} with seed {seed}; remove one.")
        seeds[seed] = run
    return setting, [_group(votes, groups[votes]) for votes in sorted(groups, key=_votes_order)]


def runs_where(runs: Iterable[StoredRun], where: Mapping[str, Any]) -> list[StoredRun]:
    """The runs whose plans have these values, by dotted name; at least one, or an error that names the others."""
    chosen = [(run, flat(run.plan)) for run in runs]
    if not chosen:
        raise InputError("there are no runs to compare; train some first.")
    fields = sorted({field for _, plan in chosen for field in plan})
    for field, value in where.items():
        if field not in fields:
            raise InputError(unknown("field of a plan", field, fields))
        kept = [(run, plan) for run, plan in chosen if _says(plan.get(field), str(value))]
        if not kept:
            others = ", ".join(sorted({short(plan.get(field)) for _, plan in chosen}))
            raise InputError(f"no run has {field}={value}; the runs have: {others}.")
        chosen = kept
    return [run for run, _ in chosen]


def _says(value: Any, asked: str) -> bool:
    """Whether a field has the value that is asked for; of a digest the first digits will do."""
    text = str(value)
    return text == asked or (_is_digest(value) and len(asked) >= 4 and text.startswith(asked))


def _is_digest(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def flat(plan: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """A plan as dotted names.

    >>> flat({"votes": 5, "seeds": {"split": 0}})
    {'votes': 5, 'seeds.split': 0}
    """
    out: dict[str, Any] = {}
    for key, value in plan.items():
        out.update(flat(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {f"{prefix}{key}": value})
    return out


def in_order(methods: Iterable[str]) -> list[str]:
    """Methods in the order of the registry, then all others by name."""
    known = list(METHODS)
    return sorted(methods, key=lambda m: (known.index(base) if (base := m.split(",")[0]) in known else len(known), m))


def _one_setting(chosen: Sequence[tuple[StoredRun, Plan]]) -> dict[str, Any]:
    """What all plans share besides method, votes and seeds, or an error that lists the groups they fall into."""
    free = {"method", *ARM_FIELDS, *PANEL_FIELDS, *SEED_FIELDS}
    groups: dict[str, list[dict[str, Any]]] = {}
    firsts: dict[str, StoredRun] = {}
    for run, plan in chosen:
        whole = {**plan, **{field: value for field, value in LATER.items() if field not in plan}}
        setting = {field: value for field, value in whole.items() if field not in free}
        content = {field: value for field, value in setting.items() if field not in NAME_FIELDS}
        key = json.dumps(content, sort_keys=True)
        groups.setdefault(key, []).append(setting)
        firsts.setdefault(key, run)
    ranked = sorted(groups, key=lambda key: -len(groups[key]))
    heads = [groups[key][0] for key in ranked]
    if len(heads) == 1:
        return heads[0]
    fields = dict.fromkeys(field for head in heads for field in head)
    differ = [field for field in fields if len({str(head.get(field)) for head in heads}) > 1]
    read = dict(zip(ranked, _read_otherwise([firsts[key].source for key in ranked]), strict=True))
    told = "\n".join(
        f"  {many(len(groups[key]), 'run')}{f' of {file}' if (file := firsts[key].votes_file) else ''}{read[key]} with "
        + ", ".join(f"{field}={short(groups[key][0].get(field))}" for field in differ[:6])
        for key in ranked
    )
    first = heads[0].get(differ[0])
    choice = f"{differ[0]}={short(first) if _is_digest(first) else first}"
    raise InputError(
        f"these runs belong to {len(groups)} comparisons, which cannot be judged together:\n{told}\n"
        f"Choose one of them by a field of its plan, as in --where {choice}."
    )


def _read_otherwise(sources: Sequence[Mapping[str, Any]]) -> list[str]:
    """In brackets, how each source was told to be read, where sources differ in that: one file may be two data sets.

    >>> _read_otherwise([{"options": {"item": "task", "without": ["ann"]}}, {"options": {"item": "task"}}])
    [' (without=["ann"])', '']
    """
    options = [{name: json.dumps(how) for name, how in (source.get("options") or {}).items()} for source in sources]
    differ = [
        {name: how for name, how in one.items() if any(other.get(name) != how for other in options)} for one in options
    ]
    return [f" ({', '.join(map('='.join, one.items()))})" if one else "" for one in differ]


def occurring(runs: Iterable[StoredRun]) -> dict[str, list[Any]]:
    """What runs of one comparison may differ in, besides seeds: all values that plans have, by dotted name.

    Where all votes are given none are drawn, whatever the plan says of it.
    """
    found: dict[str, list[Any]] = {}
    for plan in (flat(run.plan) for run in runs):
        for field in ("method", *PANEL_FIELDS, *ARM_FIELDS):
            known = field in plan and not (field == "draw" and plan["votes"] == "all")
            if known and plan[field] not in found.setdefault(field, []):
                found[field].append(plan[field])
    return {field: values for field, values in found.items() if values}


def short(value: Any) -> str:
    text = str(value)[:12] if _is_digest(value) else str(value)
    return text if len(text) <= 40 else text[:37] + "..."


def _method_names(plans: Sequence[Plan]) -> list[str]:
    """A name for the method of every plan: the method's own, and what tells it from others of the same name."""
    values: dict[tuple[str, str], set[str]] = {}
    for plan in plans:
        for field in ARM_FIELDS:
            values.setdefault((plan["method"], field), set()).add(str(plan.get(field)))
    return [
        ", ".join(
            [plan["method"]]
            + [f"{f.split('.')[-1]} {plan.get(f)}" for f in ARM_FIELDS if len(values[plan["method"], f]) > 1]
        )
        for plan in plans
    ]


def _votes_name(plan: Plan) -> str:
    """How many votes a plan gives an item, and that an item may have one of them twice.

    >>> _votes_name({"votes": 5, "draw": "subsample"}), _votes_name({"votes": 2, "draw": "resample"})
    ('5 votes an item', '2 votes an item, drawn with replacement')
    """
    if plan["votes"] == "all":
        return "all votes"
    drawn = ", drawn with replacement" if plan.get("draw") == "resample" else ""
    return f"{many(plan['votes'], 'vote')} an item{drawn}"


def _votes_order(name: str) -> tuple[float, str]:
    first = name.split()[0]
    return (np.inf if first == "all" else float(first), name)


def _seed_name(plan: Plan) -> str:
    seeds = [plan.get(field) for field in SEED_FIELDS]
    return str(seeds[0]) if len(set(seeds)) == 1 else "/".join(map(str, seeds))


def _group(votes: str, methods: Mapping[str, Mapping[str, StoredRun]]) -> Group:
    """The runs of all methods over the seeds that they share."""
    names = in_order(methods)
    shared = set.intersection(*(set(methods[name]) for name in names))
    if not shared:
        told = "; ".join(f"{name} has {', '.join(sorted(methods[name], key=_natural))}" for name in names)
        raise InputError(f"no seed is shared by all methods at {votes}, so nothing can be paired: {told}.")
    left_out = []
    for name in names:
        if alone := sorted(set(methods[name]) - shared, key=_natural):
            lacking = listed([other for other in names if not set(alone) <= set(methods[other])])
            left_out.append(
                f"At {votes}, {name} with seed{'s' if len(alone) > 1 else ''} {listed(alone)} is left out: "
                f"there is no such run of {lacking} to pair it with."
            )
    seeds = tuple(sorted(shared, key=_natural))
    runs = {name: tuple(methods[name][seed] for seed in seeds) for name in names}
    for paired in zip(*runs.values(), strict=True):
        _check_paired(paired)
    return Group(votes, seeds, runs, tuple(left_out))


def _natural(seed: str) -> tuple[int, str]:
    return (int(seed) if seed.isdigit() else -1, seed)


def _check_paired(runs: Sequence[StoredRun]) -> None:
    """The runs of one seed must be whole and must have been scored on the same items with the same votes."""
    for run in runs:
        _check_whole(run)
        for key in ("ids", "counts"):
            if not np.array_equal(run.predictions[key], runs[0].predictions[key]):
                raise InputError(
                    f"runs {runs[0].name} and {run.name} have the same seed but other evaluation {key}, "
                    "so they cannot be paired. Were the data changed in between?"
                )


def _check_whole(run: StoredRun) -> None:
    predictions = run.predictions
    needed = ("ids", "counts", "labels", "best_logits", "last_logits")
    if missing := [key for key in needed if key not in predictions]:
        raise InputError(
            f"run {run.name} is not whole: its predictions lack {', '.join(missing)}. Remove it and run it again."
        )
    shape = predictions["counts"].shape
    for key in ("best_logits", "last_logits"):
        if predictions[key].shape != shape:
            raise InputError(
                f"run {run.name} is not whole: its {key} have the shape {predictions[key].shape}, but its counts "
                f"{shape}. Remove it and run it again."
            )
