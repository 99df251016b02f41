"""A protocol made again is judged by the same rules, once from either set of runs."""

from __future__ import annotations

import json
from pathlib import Path

from dissensus.experiment.claims import Ledger
from dissensus.experiment.papers import Evidence, read_paper

ROOT = Path(__file__).resolve().parents[2]
TOLD = json.loads((ROOT / "benchmarks/results/made_again_cifar10h_small_cnn.json").read_text("utf-8"))["result"]
LEDGER = Ledger.from_csv((ROOT / "results/soft-labels/ledger.csv").read_text("utf-8"))


def test_what_is_told_of_the_first_runs_is_what_the_ledger_says() -> None:
    import made_again

    for claim, two in TOLD["claims"].items():
        assert two["first"]["verdict"] == LEDGER.row(claim, TOLD["protocol"]).verdict
    entropy = made_again.told(LEDGER, "S2", TOLD["protocol"])["mean_low_high"]
    (mean, low, high), *others = entropy.values()
    assert low < mean < high
    assert not others


def test_all_of_it_was_made_again() -> None:
    runs = Evidence.read(ROOT / "results/soft-labels").runs.values()
    assert TOLD["runs"] == sum(cell.protocol == TOLD["protocol"] for cell in runs)
    assert {"S1", "S2", "S3", "S4", "S5"} <= TOLD["claims"].keys()
    assert TOLD["protocol"] in read_paper("soft-labels").protocols
