"""How sure the rules are: of imagined repetitions of a paper, how many each rule supports and how many it contradicts.

Counted by ``benchmarks/rules_power.py``, which says how papers are imagined, and writes the file that is read here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

WORLDS = {
    "right": "if the paper is exactly right",
    "nothing": "if no method differs from another",
    "reverse": "if all differences are the other way",
}
SELDOM = 0.5


@dataclass(frozen=True)
class Chances:
    """By claim and world, how often it is supported and how often contradicted."""

    papers: int  # in each world
    seeds: int
    correlation: float  # of two methods over seeds
    claims: Mapping[str, Mapping[str, tuple[float, float]]]
    paired_otherwise: Mapping[str, Mapping[str, float]]  # by other correlations: supported, if the paper is right
    left_out: Mapping[str, str]  # why

    def of(self, claim: str) -> str:
        """What the page says of the rule of a claim; "" of a claim that is not known."""
        if claim in self.left_out:
            return f"Not counted: {self.left_out[claim]}."
        if claim not in self.claims:
            return ""
        told = [
            f"supported in {_percent(supported)} and contradicted in {_percent(contradicted)} {WORLDS[world]}"
            for world, (supported, contradicted) in self.claims[claim].items()
        ]
        otherwise = " and ".join(
            f"{_percent(supported)} at {correlation}" for correlation, supported in self.paired_otherwise[claim].items()
        )
        return (
            f"Of {self.papers} imagined repetitions with {self.seeds} seeds: {'; '.join(told)}. The first share is for "
            f"methods that correlate at {self.correlation:g} over seeds; it is {otherwise}."
        )

    @property
    def sentence(self) -> str:
        """What a reader of verdicts has to know: an open claim need not be a wrong one."""
        seldom = [name for name, worlds in self.claims.items() if worlds["right"][0] < SELDOM]
        wrong = max(worlds["right"][1] for worlds in self.claims.values())
        return (
            f"Undecided is not wrong: even if the paper were exactly right, {self.seeds} seeds under its own protocol "
            f"would support {len(seldom)} of the {len(self.claims)} claims that have published numbers in fewer than "
            f"half of all repetitions ({', '.join(seldom)}; with methods that correlate at {self.correlation:g} over "
            "seeds), "
            f"and contradict none in more than {_percent(wrong)}."
        )


@cache
def read_chances(paper: str) -> Chances:
    """What was counted for that paper.

    >>> print(read_chances("basins").of("B13"))
    Not counted: equations, which no run can change.
    """
    told = json.loads((files(__package__) / f"{paper.replace('-', '_')}_chances.json").read_text("utf-8"))
    claims = {
        name: {world: (share[0], share[1]) for world, share in worlds.items()}
        for name, worlds in told["claims"].items()
    }
    return Chances(**{**told, "claims": claims})


def _percent(share: float) -> str:
    """Whole per cent; what is not 0 is not called so.

    >>> _percent(0.0), _percent(0.0025), _percent(0.345)
    ('0 %', 'less than 1 %', '34 %')
    """
    return "less than 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"
