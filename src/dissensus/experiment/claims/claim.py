"""The claims of a paper and their rules: the file, read and checked."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from dissensus.base.errors import InputError, unknown
from dissensus.delivery import METHODS
from dissensus.diagnostics.registry import DIAGNOSTICS
from dissensus.experiment.claims.guard import Guard
from dissensus.experiment.papers import Paper, read_paper
from dissensus.experiment.papers.evidence import REORDERED
from dissensus.experiment.papers.keys import check_keys, check_known
from dissensus.metrics import METRICS

Kind = Literal["better", "lower", "higher", "same", "every", "best", "identity", "follows"]
Weight = Literal["decides", "needed", "beside"]

KINDS: tuple[Kind, ...] = ("better", "lower", "higher", "same", "every", "best", "identity", "follows")
WEIGHTS: tuple[Weight, ...] = ("decides", "needed", "beside")
EPOCHS = ("best_epoch", "epochs_to_95")  # what can be a share of all epochs
AXES = {
    "metric": (),
    "slice": "all",
    "where": "evaluation",
    "outside": "",
    "votes": "all",
    "hold": 1,
    "tempered": False,
    "other": "",
    "method": (),
}
"""What names a number, and what is meant where a part does not say."""

_OF_A_PART = [
    *("weight", "against", "between", "less", "mean_of", "to", "by", "margin", "scale", "sense", "need"),
    *("seeds", "over", "fewer", "published", "of", "absolute"),
]


def metric_title(metric: str) -> str:
    """As tables call it.

    >>> metric_title("soft_nll"), metric_title("top_eigenvalue")
    ('soft NLL', 'λmax')
    """
    return METRICS[metric].title if metric in METRICS else DIAGNOSTICS[metric].title


@dataclass(frozen=True)
class View:
    """How claims are looked at: the protocol of the runs, and the epoch whose weights are scored.

    Where several protocols are averaged, seed by seed, ``protocol`` is what their mean is called. A view that was
    thought of when results had been seen says so in ``added``, with the reason.
    """

    name: str
    protocol: str
    checkpoint: str
    mean_of: tuple[str, ...] = ()
    added: str = ""

    @property
    def protocols(self) -> tuple[str, ...]:
        """Those whose numbers it takes."""
        return self.mean_of or (self.protocol,)

    @property
    def apart(self) -> list[View]:
        """One view for each of them."""
        return [View(self.name, protocol, self.checkpoint) for protocol in self.protocols]


@dataclass(frozen=True)
class Part:
    """What one part of a claim says, and by which rule it is judged; the file says what the fields mean."""

    name: str
    says: str
    kind: Kind
    weight: Weight
    axes: Mapping[str, tuple[Any, ...]]
    against: tuple[Mapping[str, tuple[Any, ...]], ...]
    between: tuple[str, ...]
    less: Mapping[str, tuple[Any, ...]] | None
    times: float
    mean_of: tuple[str, ...]
    to: float | None
    by: float | None
    margins: Mapping[str, float]  # by metric
    ratio: bool
    sense: Literal["lower", "higher"] | None
    need: int | None  # None: all cells
    seeds: int
    pairs: bool
    fewer: bool
    published: Mapping[str, Any] | None
    of: str
    alpha: float
    absolute: bool = False  # how far a number is from 0 is compared
    share: bool = False  # epochs are compared as shares of all epochs of their training

    def direction(self, metric: str) -> int:
        """1 where higher is what the part says, -1 where lower is, 0 where neither."""
        if self.kind == "better":
            return 1 if metric not in METRICS or METRICS[metric].higher_is_better else -1
        return {"lower": -1, "higher": 1}.get(self.sense or self.kind, 0)


@dataclass(frozen=True)
class Claim:
    """What a paper claims; ``ours`` where it is our question, not the paper's."""

    name: str
    title: str
    places: tuple[str, ...]
    parts: tuple[Part, ...]
    why: str = ""
    changed: str = ""  # of a rule that did when results had been seen: what it was, and why
    ours: bool = False
    guard: Guard | None = None


@dataclass(frozen=True)
class Claims:
    """All claims of a paper, in order, and the views under which each is judged."""

    paper: str
    alpha: float
    views: tuple[View, ...]
    outside: Mapping[str, tuple[str, ...]]
    claims: tuple[Claim, ...]
    enough: Mapping[str, float] = field(default_factory=dict)  # by metric, what fewer votes may cost

    def __getitem__(self, name: str) -> Claim:
        by_name = {claim.name: claim for claim in self.claims}
        if name not in by_name:
            raise InputError(unknown("claim", name, by_name))
        return by_name[name]


@cache
def read_claims(paper: str) -> Claims:
    """The claims of that paper.

    >>> claims = read_claims("basins")
    >>> len(claims.claims), claims["B4"].title
    (23, 'Every hard delivery beats soft labels at every number of votes')
    """
    text = (files("dissensus.experiment.papers") / f"{paper.replace('-', '_')}_claims.toml").read_text("utf-8")
    return parse_claims(text, read_paper(paper))


def parse_claims(text: str, paper: Paper) -> Claims:
    """Claims from the text of their file; the first thing that is wrong with it is an error that says where."""
    try:
        told = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the claims are not valid TOML: {error}.") from None
    needed = ["paper", "alpha", "seeds", "margins", "views", "claims"]
    check_keys("the claims", told, needed, ["outside", "guards", "enough"])
    outside = {kind: _sets(f"outside.{kind}", sets, paper) for kind, sets in told.get("outside", {}).items()}
    views = tuple(_view(name, table, paper) for name, table in told["views"].items())
    guards = [_guard(name, table) for name, table in told.get("guards", {}).items()]
    claims: list[Claim] = []
    for table in told["claims"]:
        made = _claim(table, told, paper, outside, [one.name for one in claims])
        claims.append(replace(made, guard=_guard_of(table, guards)))
    enough = told.get("enough", {})
    for metric in enough:
        check_known("enough", "metric", metric, METRICS)
    return Claims(told["paper"], told["alpha"], views, outside, tuple(claims), enough)


def _sets(where: str, names: Iterable[str], paper: Paper) -> tuple[str, ...]:
    told = {name for one in paper.experiments for name in one.outside}
    for name in names:
        check_known(where, "set of images", name, sorted(told.union(*map(paper.sets_for, told))))
    return tuple(names)


def _view(name: str, table: Mapping[str, Any], paper: Paper) -> View:
    where = f"views.{name}"
    averaged = "mean_of" in table
    check_keys(where, table, ["mean_of" if averaged else "protocol", "checkpoint"], ["added"])
    for protocol in table["mean_of"] if averaged else [table["protocol"]]:
        check_known(where, "protocol", protocol, paper.protocols)
    check_known(where, "checkpoint", table["checkpoint"], ["best", "last"])
    several = tuple(table.get("mean_of", ()))
    return View(name, table.get("protocol", name), table["checkpoint"], several, table.get("added", ""))


def _guard(name: str, table: Mapping[str, Any]) -> Guard:
    where = f"guards.{name}"
    check_keys(where, table, ["says", "method", "metric", "by"], ["than", "yardstick"])
    check_known(where, "method", table["method"], METHODS)
    check_known(where, "metric", table["metric"], METRICS)
    check_known(where, "number", table.get("than", table["metric"]), [*METRICS, *DIAGNOSTICS])
    return Guard(name, **table)


def _guard_of(table: Mapping[str, Any], guards: list[Guard]) -> Guard | None:
    """The one that a claim names, or the first."""
    by_name = {guard.name: guard for guard in guards}
    if "guard" in table:
        check_known(f"the claim {table['name']}", "guard", table["guard"], by_name)
        return by_name[table["guard"]]
    return guards[0] if guards else None


def _claim(
    table: Mapping[str, Any], told: Mapping[str, Any], paper: Paper, outside: Iterable[str], before: list[str]
) -> Claim:
    where = f"the claim {table.get('name', 'without a name')}"
    check_keys(where, table, ["name", "title", "places", "parts"], ["why", "changed", "ours", "guard"])
    if table["name"] in before:
        raise InputError(f"two claims are called {table['name']}.")
    if not table["places"]:
        raise InputError(f"{where} names no table or figure.")
    for place in table["places"]:
        check_known(where, "table or figure", place, paper.places)
    parts = tuple(_part(f"{where}, part {n}", part, told, outside) for n, part in enumerate(table["parts"], 1))
    for part in parts:
        if part.kind == "follows":
            check_known(where, "earlier claim", part.of, before)
    if not any(part.weight == "decides" for part in parts):
        raise InputError(f"{where} has no part that decides.")
    said = {key: table[key] for key in ("why", "changed", "ours") if key in table}
    return Claim(table["name"], table["title"], tuple(table["places"]), parts, **said)


def _part(where: str, table: Mapping[str, Any], told: Mapping[str, Any], outside: Iterable[str]) -> Part:
    check_keys(where, table, ["name", "says", "kind"], [*_OF_A_PART, *AXES])
    for kind, given, known in (
        ("kind", table["kind"], KINDS),
        ("weight", table.get("weight", "decides"), WEIGHTS),
        ("scale", table.get("scale", "difference"), ("difference", "ratio", "share")),
        ("over", table.get("over", "seeds"), ("seeds", "pairs")),
    ):
        check_known(where, kind, given, known)
    axes = {axis: _listed(table.get(axis, default)) for axis, default in AXES.items()}
    between = tuple(table.get("between", ()))
    against = tuple(_replaced(where, one) for one in _tables(table.get("against", [])))
    less = dict(table["less"]) if "less" in table else None
    times = less.pop("times", 1.0) if less is not None else 1.0
    margins = {metric: table.get("margin", told["margins"].get(metric)) for metric in axes["metric"]}
    part = Part(
        name=table["name"],
        says=table["says"],
        kind=table["kind"],
        weight=table.get("weight", "decides"),
        axes=axes,
        against=against,
        between=between,
        less=_replaced(where, less) if less is not None else None,
        times=times,
        mean_of=tuple(table.get("mean_of", ())),
        to=table.get("to"),
        by=table.get("by"),
        margins={metric: margin for metric, margin in margins.items() if margin is not None},
        ratio=table.get("scale") == "ratio",
        share=table.get("scale") == "share",
        sense=table.get("sense"),
        need=table.get("need"),
        seeds=table.get("seeds", told["seeds"]),
        pairs=table.get("over") == "pairs",
        fewer=table.get("fewer", False),
        published=table.get("published"),
        of=table.get("of", ""),
        alpha=told["alpha"],
        absolute=table.get("absolute", False),
    )
    _check(where, part, outside)
    return part


def _check(where: str, part: Part, outside: Iterable[str]) -> None:
    if part.kind in ("identity", "follows"):
        return
    everywhere = [part.axes, *part.against, *([part.less] if part.less else [])]
    methods = [*part.between, *(method for axes in everywhere for method in axes.get("method", ()))]
    others = [other.removesuffix(REORDERED) for axes in everywhere for other in axes.get("other", ()) if other]
    for kind, given, known in (
        ("metric", part.axes["metric"], [*METRICS, *DIAGNOSTICS]),
        ("method", [*methods, *others], METHODS),
        ("outside set", [name for name in part.axes["outside"] if name], outside),
        ("list", part.mean_of, AXES),
    ):
        for one in given:
            check_known(where, kind, one, known)
    if not part.axes["metric"] or not methods:
        raise InputError(f"{where} must name a metric and a method, or methods it is said between.")
    for metric in part.axes["metric"] if part.share else ():
        check_known(where, "number of epochs", metric, EPOCHS)
    for metric in part.axes["metric"] if part.kind == "same" else ():
        if metric not in part.margins:
            raise InputError(f"{where}: {metric} has no margin. Say which difference counts as none.")
    if part.kind == "every" and part.sense is None:
        raise InputError(f'{where}: sense must be "lower" or "higher".')
    if part.kind == "best" and part.need is None:
        raise InputError(f"{where}: need is missing: on how many cells the method must be best.")


def _replaced(where: str, table: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    check_keys(where, table, [], AXES)
    return {axis: _listed(given) for axis, given in table.items()}


def _tables(given: Any) -> list[Mapping[str, Any]]:
    return given if isinstance(given, list) else [given]


def _listed(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, list | tuple) else (given,)
