"""How often does each verdict on a claim of Basins fall if the paper is right, and if nothing is there? Trains nothing.

    python benchmarks/rules_power.py

Papers are imagined: every number that a rule asks for is drawn for ten seeds from the published mean and SD, and judged
by the rules of ``basins_claims.toml`` under the published protocol. Three worlds:

right      the published means.
nothing    every method is soft labels under another name; labels that are held are as good as fresh ones.
reverse    what differs from soft labels differs as much the other way (what is compared as a factor, by that factor);
           the hard deliveries with all votes, said to be the same, are 2, 4 and 6 margins worse than soft labels;
           shuffled SLS learns as well as soft labels.

A sameness that is claimed holds in the world of nothing, too: there "supported" is no mistake.

What the tables do not tell
---------------------------
*Pairing.* Two methods of a seed correlate at .5 in every metric, and two metrics of a run at .5 (of a kind, as two
AUROCs, at .9). Sixteen correlations of soft labels with multipass in the runs of ``gate.py`` (six seeds each, seeds
from 100 on) have a mean of .3, so 0 and .8 are tried, too, with the paper right.
*SD.* Where none is published, that under ASSUMED.
*Means.* Of a number that is published for all votes only, or for SLS but not for another hard delivery, that one stands
for it. Debiased ECE is ECE less its noise floor, debiased CKA is CKA.
*Left out* are claims that decide by numbers which the paper does not have: LEFT_OUT says why.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Any
from unittest.mock import patch

import numpy as np
from measure import HERE, write_result
from numpy.typing import NDArray

from dissensus.base.streams import stream
from dissensus.experiment.claims import Claims, judge_claims, read_claims
from dissensus.experiment.claims.quantities import Number
from dissensus.experiment.papers import Evidence, read_paper
from dissensus.stats.bootstrap import Interval

PAGE = HERE.parent / "src" / "dissensus" / "report" / "paper" / "basins_chances.json"
SEEDS = 10
PAPERS = 400
CORRELATIONS = (0.5, 0.0, 0.8)  # between methods over seeds; the first is the one that is told of
KIND, OWN = 0.4, 0.1  # of a number's variance: what metrics of one kind share, and what none does; the rest all share

HARD = ("sls", "multipass", "deterministic-control")
FACTORS = ("top_eigenvalue", "trace", "smooth_ece")  # compared as factors
NOISE_FLOOR = 0.0189  # of ECE on 2,000 items in 15 bins
EPOCHS = {"epochs_to_95": 140.0, "best_epoch": 170.0}  # of soft labels; only how much earlier SLS is was published
EARLIER = {"epochs_to_95": "epochs_earlier_to_95", "best_epoch": "epochs_earlier_to_best"}
ASSUMED = {
    "soft_nll": 0.025,  # with few votes and with held labels: as with all votes
    "smooth_ece": 0.004,  # that of ECE
    "epochs": 30.0,
    "auroc": 0.0135,  # near: what the p-values of Table 8 mean for the difference, at a correlation of .5
    "agreement": 0.02,  # of two seeds: CKA, Grad-CAM
}
LEFT_OUT = {
    "B6": "of its numbers only a range of one is published, and none given entropy",
    "B12": "what is left beyond construction is not published",
    "B13": "equations, which no run can change",
    "B14": "neither a barrier with reset statistics nor a control is published",
    "B20": "no number is published",
    "A1": "our question: nothing is published after a temperature",
}

VERDICTS = ("supported", "contradicted")
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Level:
    """Mean and SD over seeds."""

    mean: float
    sd: float


World = Callable[[Number], Level | None]


# --- worlds -----------------------------------------------------------------------------------------------------------


@cache
def published() -> Mapping[Number, Level]:
    """Every published number; of several rows that have it, that of most seeds."""
    found: dict[Number, tuple[int, Level]] = {}
    for address, number in read_paper("basins").published.numbers.items():
        asked = Number(
            address.metric, address.method, address.votes, address.hold, address.slice, outside=address.outside
        )
        seeds = address.seeds or 0
        if asked not in found or seeds > found[asked][0]:
            found[asked] = seeds, Level(number.mean, number.sd if number.sd is not None else _assumed(address.metric))
    return {asked: level for asked, (_, level) in found.items()}


def _assumed(metric: str) -> float:
    kind = _kind(metric)
    return ASSUMED.get(metric, ASSUMED.get(kind, np.nan))


def _kind(metric: str) -> str:
    """Metrics that say nearly the same of a run."""
    if metric.endswith("_auroc"):
        return "auroc"
    kinds = {
        **dict.fromkeys(("soft_nll", "kl", "soft_brier"), "distance"),
        **dict.fromkeys(("ece", "debiased_ece", "smooth_ece"), "calibration"),
        **dict.fromkeys(("top_eigenvalue", "trace"), "curvature"),
        **dict.fromkeys(EPOCHS, "epochs"),
        **dict.fromkeys(("cka", "debiased_cka", "cam_stability"), "agreement"),
    }
    return kinds.get(metric, metric)


def right(asked: Number) -> Level | None:
    """As published."""
    told = published()
    if asked.metric in EPOCHS:
        earlier = told[Number(EARLIER[asked.metric], "sls")].mean if asked.method == "sls" else 0.0
        return Level(EPOCHS[asked.metric] - earlier, ASSUMED["epochs"])
    if asked.metric == "debiased_ece":
        ece = right(replace(asked, metric="ece"))
        return ece and Level(ece.mean - NOISE_FLOOR, ece.sd)
    if asked.metric == "debiased_cka":
        return right(replace(asked, metric="cka"))
    with_all = replace(asked, votes="all")
    as_sls = replace(with_all, method="sls") if asked.method in HARD else with_all
    return next((told[one] for one in (asked, with_all, as_sls) if one in told), None)


def nothing(asked: Number) -> Level | None:
    """Soft labels, whatever the method is called."""
    return right(replace(asked, method="soft", hold=1))


def reverse(asked: Number) -> Level | None:
    """As far from soft labels as published, on the other side."""
    told, soft = right(asked), nothing(asked)
    if told is None or soft is None:
        return None
    margin = _margins().get(asked.metric)
    if asked.method == "shuffled-sls" and margin is not None:
        return soft
    if asked.method in HARD and asked.votes == "all" and asked.hold == 1 and margin is not None:
        steps = 2 * (1 + HARD.index(asked.method))
        return Level(soft.mean - _good(asked.metric) * steps * margin, told.sd)
    if asked.metric in FACTORS:
        factor = soft.mean / told.mean
        return Level(soft.mean * factor, told.sd * factor**2)
    return Level(2 * soft.mean - told.mean, told.sd)


WORLDS: Mapping[str, World] = {"right": right, "nothing": nothing, "reverse": reverse}


@cache
def _margins() -> Mapping[str, float]:
    return read_claims("basins")["B1"].parts[0].margins


def _good(metric: str) -> int:
    """1 where higher is better, or flatter, or earlier."""
    lower = _kind(metric) in ("distance", "calibration", "curvature", "epochs")
    return -1 if lower else 1


# --- imagined papers --------------------------------------------------------------------------------------------------


class Imagined(Evidence):
    """One repetition of the paper in a world: numbers of ten seeds, drawn when a rule asks for them."""

    def __init__(self, world: World, draw: int, correlation: float) -> None:
        super().__init__({})
        self.world, self.draw, self.correlation = world, draw, correlation
        self.drawn: dict[tuple[str, ...], Array] = {}

    def numbers(self, name: str, **of: Any) -> dict[int, float]:
        if of["tempered"] or of["where"] != "evaluation":
            return {}  # neither was published
        asked = Number(name, of["method"], of["votes"], of["hold"], of["slice"], outside=of["other"])
        level = self.world(asked)
        return {} if level is None else dict(enumerate((level.mean + level.sd * self._noise(asked)).tolist()))

    def pairs(self, name: str, **of: Any) -> dict[tuple[int, int], float]:
        """Half of the variance is that of the two seeds, half is the pair's own."""
        asked = Number(name, of["method"], slice=of["slice"])
        level = self.world(asked)
        if level is None:
            return {}
        pairs = list(combinations(range(SEEDS), 2))
        seeds, own = self._noise(asked), self._normal(len(pairs), "pairs", name, of["method"], of["slice"])
        noise = [(seeds[i] + seeds[j]) / 2 + one / np.sqrt(2) for (i, j), one in zip(pairs, own, strict=True)]
        return {pair: level.mean + level.sd * one for pair, one in zip(pairs, noise, strict=True)}

    def _noise(self, asked: Number) -> Array:
        """Of unit variance: what all runs of a seed share, and what is the run's own."""
        run = f"{asked.method} {asked.votes} {asked.hold}"
        shared, own = self._of("all runs", asked), self._of(run, asked)
        return np.sqrt(self.correlation) * shared + np.sqrt(1 - self.correlation) * own

    def _of(self, runs: str, asked: Number) -> Array:
        metric = "soft_nll" if asked.metric == "kl" else asked.metric  # they differ by the annotators' entropy alone
        kind = f"{_kind(metric)} {asked.outside}"
        drawn = [
            self._normal(SEEDS, runs),
            self._normal(SEEDS, runs, kind),
            self._normal(SEEDS, runs, kind, f"{metric} {asked.slice}"),
        ]
        weights = np.sqrt([1 - KIND - OWN, KIND, OWN])
        return _good(metric) * (weights[:, None] * drawn).sum(0)

    def _normal(self, size: int, *names: str) -> Array:
        if names not in self.drawn:
            self.drawn[names] = stream(self.draw, "rules_power", *names).normal(size=size)
        return self.drawn[names]


def deciding(claims: Claims) -> Claims:
    """What decides, under the published protocol; what stands beside counts for nothing and is not drawn."""
    kept = [
        replace(claim, parts=tuple(part for part in claim.parts if part.weight != "beside"))
        for claim in claims.claims
        if claim.name not in LEFT_OUT
    ]
    return replace(claims, views=claims.views[:1], claims=tuple(kept))


def shares(rules: Claims, world: World, papers: int, correlation: float) -> dict[str, dict[str, float]]:
    """Claim by claim, and part by part: how often it is supported and contradicted."""
    found: dict[str, Counter[str]] = {}
    for draw in range(papers):
        for row in judge_claims(Imagined(world, draw, correlation), read_paper("basins"), rules):
            found.setdefault(row.claim, Counter())[row.verdict] += 1
            for part in row.deciding:
                found.setdefault(f"{row.claim}, {part.part}", Counter())[part.verdict] += 1
    return {
        name: {verdict: round(counts[verdict] / papers, 4) for verdict in VERDICTS} for name, counts in found.items()
    }


def without_interval(values: Array) -> Interval:
    """Intervals are shown and decide nothing; resampling them would take nine tenths of the time."""
    return Interval(float(np.mean(values)), np.nan, np.nan)


def measure(papers: int) -> dict[str, Any]:
    rules = deciding(read_claims("basins"))
    first, *others = CORRELATIONS
    with patch("dissensus.experiment.claims.decide.bootstrap", without_interval):
        worlds = {name: shares(rules, world, papers, first) for name, world in WORLDS.items()}
        right_at = {str(one): shares(rules, right, papers, one) for one in others}
    return {
        "papers": papers,
        "seeds": SEEDS,
        "correlation": first,
        "assumed_sd": ASSUMED,
        "worlds": worlds,
        "right_at_other_correlations": right_at,
        "left_out": dict(sorted(LEFT_OUT.items())),
    }


def for_the_page(result: Mapping[str, Any]) -> str:
    """What the page on the paper says of its rules: the claims without their parts."""
    names = [claim.name for claim in read_claims("basins").claims if claim.name not in LEFT_OUT]
    claims = {
        name: {world: [result["worlds"][world][name][verdict] for verdict in VERDICTS] for world in WORLDS}
        for name in names
    }
    paired = {
        name: {at: found[name]["supported"] for at, found in result["right_at_other_correlations"].items()}
        for name in names
    }
    told = {key: result[key] for key in ("papers", "seeds", "correlation", "left_out")}
    return json.dumps(told | {"claims": claims, "paired_otherwise": paired}, indent=1) + "\n"


def show(result: Mapping[str, Any]) -> None:
    print(f"{'supported / contradicted, %':42}" + "".join(f"{name:>14}" for name in result["worlds"]))
    for name in result["worlds"]["right"]:
        told = [result["worlds"][world][name] for world in result["worlds"]]
        cells = [f"{100 * one['supported']:.0f} / {100 * one['contradicted']:.0f}" for one in told]
        print(f"{name if ',' not in name else '  ' + name:42.42}" + "".join(f"{cell:>14}" for cell in cells))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--papers", type=int, default=PAPERS, help="how many are imagined in each world")
    given = parser.parse_args(arguments)
    result = measure(given.papers)
    show(result)
    write_result(
        "rules_power", result, f"python benchmarks/rules_power.py --papers {given.papers}", packages=("numpy", "scipy")
    )
    PAGE.write_text(for_the_page(result), "utf-8")


if __name__ == "__main__":
    main()
