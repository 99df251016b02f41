"""How do the convolutions of ResNet-18 begin? Judges runs that were made on a GPU; trains nothing.

    python benchmarks/make_runs.py init --store STORE --budget 9m
    python benchmarks/init.py STORE                 # or archives of `dissensus runs pack`; several are fine

Those are the six runs of He's way. The six of PyTorch's way are runs of gate.toml from before it was asked, when that
was ResNet-18's own (version 1 of the model); `options = { init = "torch" }` in the plan makes them again.

Why it is asked
---------------
The paper says "from scratch" and no more. PyTorch's own way gives weights whose variance is a sixth to a twelfth of
He's, and batch norm makes steps count relative to the size of the weights. With a learning rate of .1 and no warm-up
the mean loss of the first epoch is then 2.6 to 3.0, above the 2.3 of a uniform guess, and how badly a run begins shows
in how it ends: of 24 runs in TF32 and 16 in bf16 (seeds 100 to 105, PyTorch's way), soft labels with all votes ended
between .510 and .614 in soft NLL, and one plan repeated three times between .497 and .563.

The rule, written before any run began in He's way
--------------------------------------------------
*Runs.* CIFAR-10H with all votes, the published recipe, bf16, soft labels only, so that no difference of deliveries
has a part in the choice; seeds 100 to 105, both ways. Best epoch, as published.

*Rule.* For soft NLL and accuracy, z = (ours - published) / sqrt(SD_ours² / 6 + SD_published² / 10). The way whose sum
of the two z² is smaller becomes the default of the CIFAR recipes. Where the sums differ by less than 1, it is He's: the
one that the authors of the network gave it.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from sanity import judge, published
from stored_runs import HERE, Measured, begins, gathered, table, tell, write

from dissensus.experiment import Plan

WAYS = ("torch", "he")
SEEDS = (100, 101, 102, 103, 104, 105)
METRICS = ("soft_nll", "accuracy")
CLOSE = 1.0  # sums of z² that differ by less are alike


def ways(runs: Sequence[Measured]) -> dict[str, dict[int, Measured]]:
    """The runs that are asked for, by the way they begin and their seed; those that are missing end the program."""
    found: dict[str, dict[int, Measured]] = {way: {} for way in WAYS}
    for run in runs:
        plan = run.plan
        asked = plan["method"] == "soft" and plan["votes"] == "all" and plan["split"]["select"] == 0
        if asked and plan["recipe"]["precision"] == "bf16" and plan["seeds"]["split"] in SEEDS:
            found[begins(Plan.from_dict(plan))][plan["seeds"]["split"]] = run
    missing = [f"{way}, seed {seed}" for way in WAYS for seed in SEEDS if seed not in found[way]]
    if missing:
        raise SystemExit(f"runs are missing: {'; '.join(missing)}.")
    return {way: dict(sorted(by_seed.items())) for way, by_seed in found.items()}


def choose(rows: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> str:
    """The rule; ``rows`` are by way and metric."""
    sums = {way: sum(row["z"] ** 2 for row in metrics.values()) for way, metrics in rows.items()}
    return "he" if sums["he"] - sums["torch"] < CLOSE else "torch"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", help="files of scores, run stores, archives, folders of archives")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "init.json")
    given = parser.parse_args(arguments)
    told = published()["soft"]
    shown = table("begins", "metric", "ours", "published", "z")
    chosen = ways(gathered(given.sources))
    rows: dict[str, dict[str, Any]] = {}
    listed = []
    for way, by_seed in chosen.items():
        scores = {seed: run.scores["best"] for seed, run in by_seed.items()}
        first = [run.first_loss for run in by_seed.values()]
        rows[way] = {metric: judge([s[metric] for s in scores.values()], told[metric], 10) for metric in METRICS}
        listed += [
            {"run": by_seed[seed].name, "init": way, "seed": seed, "first_loss": loss}
            | {metric: scores[seed][metric] for metric in METRICS}
            for (seed, loss) in zip(by_seed, first, strict=True)
        ]
        for metric, row in rows[way].items():
            ours = f"{row['ours']:.4f} ± {row['ours_sd']:.4f}"
            shown.add_row(way, metric, ours, f"{row['published']:.4f} ± {row['published_sd']:.4f}", f"{row['z']:+.1f}")
        shown.add_row(way, "loss of the first epoch", f"{mean(first):.4f} ± {stdev(first):.4f}", "-", "-")
    result = {"choice": choose(rows), "ways": rows, "runs": listed}
    tell(shown)
    tell(f"The rule chooses: [bold]{result['choice']}[/]")
    about = [run.about for by_seed in chosen.values() for run in by_seed.values()]
    made_by = ["python benchmarks/make_runs.py init --store STORE", "the same with init = torch"]
    write(given.out, result, about, "python benchmarks/init.py STORE", made_by)


if __name__ == "__main__":
    main()
