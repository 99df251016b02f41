"""A whole reproduction of Basins, made up: plausible numbers, histories and curves for every training of the paper.

What is published is taken as the truth, with a seed's own luck that all its methods share and noise of each run.
"""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest

from dissensus.base.streams import stream
from dissensus.experiment.claims import judge_claims
from dissensus.experiment.papers import Cell, read_paper
from dissensus.experiment.papers.evidence import Evidence

SCORES = ("energy", "msp", "odin", "entropy", "margin", "knn")
EPOCHS = 200
# what the paper does not tell, by method, with all votes
FULL = {
    "soft": {"soft_nll": 0.510, "accuracy": 0.869, "ece": 0.0185, "entropy_correlation": 0.391, "smooth_ece": 0.019},
    "sls": {"soft_nll": 0.505, "accuracy": 0.870, "ece": 0.0186, "entropy_correlation": 0.395, "smooth_ece": 0.019},
    "multipass": {"soft_nll": 0.494, "accuracy": 0.871, "ece": 0.0191, "entropy_correlation": 0.40, "smooth_ece": 0.02},
    "majority": {"soft_nll": 0.728, "accuracy": 0.857, "ece": 0.0704, "entropy_correlation": 0.29, "smooth_ece": 0.082},
    "mixup": {"soft_nll": 0.553, "accuracy": 0.882, "ece": 0.0977, "entropy_correlation": 0.250, "smooth_ece": 0.098},
    "label-smoothing": {
        "soft_nll": 0.626, "accuracy": 0.859, "ece": 0.0598, "entropy_correlation": 0.212, "smooth_ece": 0.060,
    },
    "shuffled-sls": {
        "soft_nll": 2.297, "accuracy": 0.120, "ece": 0.0293, "entropy_correlation": 0.0, "smooth_ece": 0.030,
    },
}  # fmt: skip
FULL["deterministic-control"] = FULL["multipass"] | {"soft_nll": 0.492}
SPARSE = {5: 0.075, 10: 0.055, 25: 0.025, 50: 0.035}  # soft NLL that few votes cost
STALE = {1: 0.0, 5: 0.043, 10: 0.103, 50: 0.166}
NOISE = {"soft_nll": 0.012, "accuracy": 0.006, "ece": 0.004, "entropy_correlation": 0.012, "smooth_ece": 0.004}


def metrics_of(cell: Cell) -> dict[str, float]:
    """The scores of a training at its best epoch."""
    luck, own = stream(cell.seed, "luck"), stream(cell.seed, "run", *map(str, vars(cell).values()))
    few = SPARSE.get(cell.votes, 0.0) * (1.0 if cell.method == "soft" else 0.6)
    scores = {}
    for metric, mean in FULL[cell.method].items():
        scores[metric] = mean + NOISE[metric] * (luck.normal() + 0.6 * own.normal())
    scores["soft_nll"] += few + STALE[cell.hold]
    scores["entropy_correlation"] -= few
    scores["ece"], scores["smooth_ece"] = abs(scores["ece"]), abs(scores["smooth_ece"])
    scores["kl"] = scores["soft_nll"] - 0.154
    scores["soft_brier"] = 0.155 + 0.2 * (scores["soft_nll"] - 0.505)
    scores["debiased_ece"] = max(scores["ece"] - 0.015, 0.0)
    scores["entropy_correlation_pearson"] = scores["entropy_correlation"] + 0.1
    scores["js_distance"], scores["aurc"] = 0.4 * scores["soft_nll"], 0.1 * scores["soft_nll"]
    scores["total_variation"] = 0.3 * scores["soft_nll"]
    scores["brier_reliability"] = 0.004 + 0.001 * abs(own.normal())
    scores["brier_resolution"] = 0.70 + 0.01 * luck.normal() + 0.003 * (cell.method == "sls")
    scores["brier_uncertainty"] = 0.90 + 0.0002 * luck.normal()
    scores["brier"] = scores["brier_reliability"] - scores["brier_resolution"] + scores["brier_uncertainty"]
    return scores


def metric_rows(cell: Cell):
    for metric, value in metrics_of(cell).items():
        for checkpoint in ("best", "last"):
            for tempered in (False, True):
                worse = 0.02 if checkpoint == "last" and metric in ("soft_nll", "kl") else 0.0
                calmer = 0.6 * worse + 0.01 if tempered and metric in ("soft_nll", "kl") else 0.0
                yield {
                    "cell": cell, "name": metric, "value": value + worse - calmer, "checkpoint": checkpoint,
                    "tempered": tempered,
                }  # fmt: skip


def diagnostic_rows(cell: Cell, wanted, partners):
    """Numbers of one run, and of a run and others of its seed."""
    own = stream(cell.seed, "diagnostics", *map(str, vars(cell).values()))
    flat = {"soft": 242.0, "shuffled-sls": 18.0}.get(cell.method, 104.0)
    told = []
    for checkpoint in ("best", "last"):
        for part in wanted.get("curvature", ()):
            top = flat * (3.0 if part == "disputed" else 1.0) * (1 + 0.08 * own.normal())
            told += [
                (name, checkpoint, part, "", times * top)
                for name, times in (
                    ("top_eigenvalue", 1),
                    ("filter_normalised_top", 0.4),
                    *([("trace", 16), ("trace_times_norm", 9000)] if "trace" in wanted else []),
                )
            ]
        for outside in (name for name in partners["outside"]):
            told += [(f"{score}_auroc", checkpoint, "all", outside, 0.80 + 0.01 * own.normal()) for score in SCORES]
        if "gradient_variance" in wanted:
            told += [
                ("gradient_variance_entropy", checkpoint, "all", "", 0.94 + 0.008 * own.normal()),
                ("gradient_variance_partial", checkpoint, "all", "", 0.10 + 0.02 * own.normal()),
            ]
        for other, height in partners["lines"].items():
            told += [
                ("barrier", checkpoint, "all", other, height + 0.1 * own.normal()),
                ("barrier_reset", checkpoint, "all", other, 0.2 * height + 0.02 * own.normal()),
                ("barrier_aligned", checkpoint, "all", other, 0.6 * height + 0.05 * own.normal()),
            ]
    for name, checkpoint, part, other, value in told:
        yield {"cell": cell, "name": name, "checkpoint": checkpoint, "slice": part, "other": other, "value": value}
    if "dynamics" in wanted:
        best = {"soft": 185, "majority": 140}.get(cell.method, 140) + int(6 * own.normal())
        yield {"cell": cell, "name": "best_epoch", "value": min(best, EPOCHS - 1)}
        yield {"cell": cell, "name": "epochs_to_95", "value": 0.7 * best}


def gain_rows(cell: Cell, soft: Cell):
    own = stream(cell.seed, "gains", *map(str, vars(cell).values()))
    for part in ("all", "disputed"):
        for where in ("evaluation", "training"):
            for distance in ("js", "l1"):
                shared = {"cell": cell, "slice": part, "where": where, "other": soft, "checkpoint": "best"}
                yield shared | {"name": f"{distance}_gain", "value": 0.10 + 0.03 * own.normal()}
                yield shared | {"name": f"{distance}_gain_given_entropy", "value": 0.01 + 0.03 * own.normal()}


def gain_curves(cell: Cell, soft: Cell):
    own = stream(cell.seed, "gain curves", *map(str, vars(cell).values()))
    x = np.linspace(0.0, 0.45, 10) * np.sqrt(5 / (cell.votes if cell.votes != "all" else 50))
    for part in ("all", "disputed"):
        for where in ("evaluation", "training"):
            for distance in ("js", "l1"):
                slope = 0.25 if part == "all" else 0.4
                yield {
                    "cell": cell, "slice": part, "where": where, "other": soft, "checkpoint": "best",
                    "name": f"gain_by_{distance}", "x": x * (1 + 0.01 * own.normal()),
                    "y": slope * x + 0.015 * own.normal(size=10),
                }  # fmt: skip


def run_curves(cell: Cell, lines):
    own = stream(cell.seed, "curves", *map(str, vars(cell).values()))
    grid = np.linspace(0.3, 1.0, 40)
    sag = {"majority": 0.16, "mixup": -0.15}.get(cell.method, 0.01)
    for checkpoint in ("best", "last"):
        if cell.votes == "all" and cell.hold == 1:
            y = np.clip(grid - sag * np.sin(np.pi * (grid - 0.3) / 0.7) + 0.01 * own.normal(), 0, 1)
            yield {"cell": cell, "name": "reliability", "checkpoint": checkpoint, "x": grid, "y": y}
        if cell.method in ("soft", "sls") and cell.votes == "all" and cell.hold == 1 and not cell.reorder:
            entropy = np.linspace(0, 1.4, 12)
            y = 18 * entropy * (1 + 0.05 * own.normal()) + 0.2
            yield {
                "cell": cell, "name": "gradient_variance_by_entropy", "checkpoint": checkpoint, "x": entropy, "y": y,
            }  # fmt: skip
        for other, height in lines.items():
            alpha = np.linspace(0, 1, 21)
            for name, share in (("barrier", 1.0), ("barrier_reset", 0.2)):
                y = 0.5 + share * height * 4 * alpha * (1 - alpha) + 0.02 * own.normal()
                yield {"cell": cell, "name": name, "checkpoint": checkpoint, "other": other, "x": alpha, "y": y}


def history_of(cell: Cell):
    end = metrics_of(cell)["soft_nll"]
    epoch = np.arange(EPOCHS)
    pace = 45 if cell.method == "soft" else 28
    soft_nll = end + 1.7 * np.exp(-epoch / pace) + 0.02 * (epoch / EPOCHS)
    return {"cell": cell, "epoch": epoch, "soft_nll": soft_nll, "kl": soft_nll - 0.154, "train_loss": 0.8 * soft_nll}


def pair_rows(cells):
    """Numbers of two seeds of a method, with all votes."""
    means = {"cka": (0.920, 0.887), "debiased_cka": (0.91, 0.87), "cam_stability": (0.90, 0.80)}
    for protocol, method in product(("published", "audited"), ("sls", "soft")):
        seeds = sorted((c for c in cells if c == Cell(protocol, method, "all", 1, c.seed)), key=lambda c: c.seed)
        for a, b in combinations(seeds, 2):
            own = stream(a.seed, "pair", b.seed, method, *[protocol] * (protocol != "published"))
            for name, of in means.items():
                for part in ("all", "disputed") if name == "cam_stability" else ("all",):
                    for checkpoint in ("best", "last"):
                        value = of[method == "soft"] - 0.045 * (part == "disputed") + 0.004 * own.normal()
                        yield {
                            "cell": a, "other": b, "name": name, "slice": part, "checkpoint": checkpoint,
                            "value": value,
                        }  # fmt: skip


def made_up(cells=None, diagnostics=True) -> Evidence:
    """Evidence of these trainings; of all that the paper needs, where none are named."""
    paper = read_paper("basins")
    cells = paper.cells() if cells is None else list(cells)
    there = set(cells)
    numbers, histories, curves = [], [], []
    for cell in cells:
        numbers += metric_rows(cell)
        histories.append(history_of(cell))
        if not diagnostics:
            continue
        wanted = paper.diagnostics_of(cell)
        lines = {}
        if "barrier" in wanted and not cell.reorder:
            soft = Cell("published", "soft", "all", 1, cell.seed)
            again = Cell("published", cell.method, "all", 1, cell.seed, 500)
            lines = {again: 1.6} | ({soft: 2.0} if cell.method == "sls" else {})
            lines = {other: height for other, height in lines.items() if other in there}
        outside = [name for told in paper.outside_of(cell) for name in paper.sets_for(told)]
        numbers += diagnostic_rows(cell, wanted, {"outside": outside, "lines": lines})
        curves += run_curves(cell, lines)
        soft = Cell(cell.protocol, "soft", cell.votes, 1, cell.seed)
        if "sparse_target" in wanted and cell.method != "soft" and soft in there:
            numbers += gain_rows(cell, soft)
            curves += gain_curves(cell, soft)
    if diagnostics:
        numbers += pair_rows(cells)
    about = {
        cell: {"commit": "0" * 40, "device": "a GPU", "seconds": 31.5, "version": "0.1.0", "precision": "bf16"}
        for cell in cells
    }
    return Evidence.from_rows(numbers, histories, curves, about)


@pytest.fixture(scope="session")
def basins():
    return read_paper("basins")


@pytest.fixture(scope="session")
def whole(basins) -> Evidence:
    """Every training of the paper."""
    return made_up()


@pytest.fixture(scope="session")
def make():
    """Evidence of some trainings only."""
    return made_up


@pytest.fixture(scope="session")
def judged(whole, basins):
    """The ledger of all that."""
    return judge_claims(whole, basins)
