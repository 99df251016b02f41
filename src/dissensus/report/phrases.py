"""Verdicts in words: from one verdict a pair of methods to one sentence a person can remember.

The words follow from the verdicts alone. Whoever wins is named, whoever it is, and what was not shown is said so.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, TypeAlias

from dissensus.base.words import listed
from dissensus.stats.verdict import Verdict

Pair: TypeAlias = frozenset[str]
Win: TypeAlias = tuple[str, str]  # winner, loser


def phrase(verdicts: Sequence[Verdict]) -> str:
    """All verdicts on one metric, in as few clauses as they allow.

    Winners come first, as a ranking where the wins form one; then who is the same, then what is undecided.
    """
    if not verdicts:
        return "there is nothing to compare"
    methods = list(dict.fromkeys(name for verdict in verdicts for name in (verdict.first, verdict.second)))
    margin = f"{verdicts[0].margin:g}"
    same = _cover(methods, [frozenset((v.first, v.second)) for v in verdicts if v.word == "same"])
    undecided = [frozenset((v.first, v.second)) for v in verdicts if v.word == "undecided"]
    wins = {_win(v): v.same for v in verdicts if v.winner}
    clauses = []
    if tiers := _tiers(methods, set(wins)):
        clauses += [_ranking(tiers), *_small_leads([win for win, small in wins.items() if small], margin)]
    else:
        for group in _groups(methods, {win for win, small in wins.items() if not small}):
            alike = _Shape(group.winners) if len(group.winners) > 1 and _Shape(group.winners) in same else None
            clauses.append(_beat(group, len(methods)) + (f" and are the same within {margin}" if alike else ""))
            same = [shape for shape in same if shape != alike]
        for group in _groups(methods, {win for win, small in wins.items() if small}):
            clauses.append(f"{_beat(group, len(methods))} by less than {margin}")
    clauses += [_same(shape, margin) for shape in same]
    clauses += _undecided(methods, undecided, alone=len(undecided) == len(verdicts))
    return "; ".join(clauses)


def _win(verdict: Verdict) -> Win:
    first_wins = verdict.winner == verdict.first
    return (verdict.first, verdict.second) if first_wins else (verdict.second, verdict.first)


class _Group(NamedTuple):
    """Everyone here beats everyone there."""

    winners: tuple[str, ...]
    losers: tuple[str, ...]


def _groups(methods: Sequence[str], wins: set[Win]) -> list[_Group]:
    """All wins, in few groups: by whom one beats, or by whom one is beaten, whichever takes fewer."""
    by_beaten: dict[tuple[str, ...], list[str]] = {}
    by_beaters: dict[tuple[str, ...], list[str]] = {}
    for method in methods:
        if beaten := tuple(other for other in methods if (method, other) in wins):
            by_beaten.setdefault(beaten, []).append(method)
        if beaters := tuple(other for other in methods if (other, method) in wins):
            by_beaters.setdefault(beaters, []).append(method)
    groups = [_Group(tuple(winners), beaten) for beaten, winners in by_beaten.items()]
    if len(by_beaters) < len(groups):
        groups = [_Group(beaters, tuple(losers)) for beaters, losers in by_beaters.items()]
    return sorted(groups, key=lambda group: -len(group.losers))


def _beat(group: _Group, total: int) -> str:
    verb = {1: "beats", 2: "both beat"}.get(len(group.winners), "each beat")
    everyone = len(group.losers) > 3 and len(group.winners) + len(group.losers) == total
    losers = f"the other {len(group.losers)} methods" if everyone else listed(group.losers)
    return f"{listed(group.winners)} {verb} {losers}"


def _ranking(tiers: Sequence[Sequence[str]]) -> str:
    first, *rest = (listed(tier) for tier in tiers)
    return f"{first} {'is' if len(tiers[0]) == 1 else 'are'} best, " + ", ".join(f"then {tier}" for tier in rest)


def _small_leads(leads: Sequence[Win], margin: str) -> list[str]:
    if not leads:
        return []
    told = listed([f"of {winner} over {loser}" for winner, loser in leads])
    return [f"the lead{'s' if len(leads) > 1 else ''} {told} {'are' if len(leads) > 1 else 'is'} less than {margin}"]


def _tiers(methods: Sequence[str], wins: set[Win]) -> list[list[str]] | None:
    """Three groups or more, from best to worst, such that the wins are those over all later groups; else None."""
    by_wins: dict[int, list[str]] = {}
    for method in methods:
        by_wins.setdefault(sum(winner == method for winner, _ in wins), []).append(method)
    tiers = [by_wins[number] for number in sorted(by_wins, reverse=True)]
    implied = {(a, b) for high, low in combinations(tiers, 2) for a in high for b in low}
    return tiers if len(tiers) > 2 and implied == wins else None


def _same(shape: _Shape, margin: str) -> str:
    if shape.centre is None:
        return f"{listed(shape.members)} are the same within {margin}"
    return f"{shape.centre} is the same as {listed(shape.members)} within {margin}"


def _undecided(methods: Sequence[str], pairs: Sequence[Pair], alone: bool) -> list[str]:
    shapes = _cover(methods, pairs)
    if len(shapes) > 2:
        return [f"{'all' if alone else 'the other'} {len(pairs)} pairs are undecided"]
    clauses = []
    for shape in shapes:
        if shape.centre is not None:
            clauses.append(f"{shape.centre} against {listed(shape.members)} is undecided")
        elif len(shape.members) == 2:
            clauses.append(f"{shape.members[0]} against {shape.members[1]} is undecided")
        else:
            clauses.append(f"nothing is decided between {listed(shape.members)}")
    return clauses


@dataclass(frozen=True)
class _Shape:
    """Pairs that one clause can tell: all pairs among the members, or the centre with each of them."""

    members: tuple[str, ...]
    centre: str | None = None

    @property
    def pairs(self) -> set[Pair]:
        if self.centre is None:
            return {frozenset(pair) for pair in combinations(self.members, 2)}
        return {frozenset((self.centre, member)) for member in self.members}


def _cover(methods: Sequence[str], pairs: Iterable[Pair]) -> list[_Shape]:
    """Few shapes that together tell every pair: greedily the one that tells most of what is still untold."""
    left = set(pairs)
    every = frozenset(left)
    shapes = []
    while left:
        cliques = [_Shape(clique) for clique in _cliques(methods, every)]
        stars = [
            _Shape(members, centre)
            for centre in methods
            if (members := tuple(m for m in methods if frozenset((centre, m)) in left))
        ]
        best = max([*cliques, *stars], key=lambda shape: len(shape.pairs & left))
        shapes.append(best)
        left -= best.pairs
    return shapes


def _cliques(methods: Sequence[str], pairs: frozenset[Pair]) -> list[tuple[str, ...]]:
    """Groups in which every pair is among ``pairs``: for every method, the one that grows from it in order."""
    found: dict[tuple[str, ...], None] = {}
    for start in methods:
        grown = [start]
        for other in methods:
            if other != start and all(frozenset((other, member)) in pairs for member in grown):
                grown.append(other)
        if len(grown) > 1:
            found[tuple(method for method in methods if method in grown)] = None
    return list(found)
