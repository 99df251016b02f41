"""Does a verdict hold when the same trainings are made a second time, on another machine? Trains nothing.

    dissensus reproduce soft-labels --protocol cifar10h-small-cnn --runs-only --store AGAIN --out AGAIN-RESULTS
    python benchmarks/made_again.py AGAIN --protocol cifar10h-small-cnn

The plans are the same to the seed; what differs is how a processor rounds. Each claim is judged by its own rule, once
from what is committed in results/soft-labels and once from the runs of the store alone. There is no other rule: the
verdicts of the first stay what they are, since to choose between the two would be a choice among outcomes.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from measure import write_result

from dissensus.experiment.claims import Ledger
from dissensus.experiment.judgement import judge
from dissensus.experiment.papers import Evidence, read_paper
from dissensus.experiment.reproduce import opened
from dissensus.records import RunStore

RESULTS = Path(__file__).resolve().parents[1] / "results" / "soft-labels"


def told(ledger: Ledger, claim: str, view: str) -> dict[str, Any]:
    """The verdict, and the numbers that decide it."""
    row = ledger.row(claim, view)
    cells = {
        " ".join(filter(None, (part.part, cell.cell))): [cell.mean, cell.low, cell.high]
        for part in row.deciding
        for cell in part.cells
    }
    return {"verdict": row.verdict, "mean_low_high": cells}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("store", type=Path)
    parser.add_argument("--protocol", default="cifar10h-small-cnn")
    given = parser.parse_args()
    paper = read_paper("soft-labels")
    again = opened(paper, RunStore(given.store), given.protocol).collect()
    ledgers = [judge(evidence, paper, RESULTS).ledger for evidence in (Evidence.read(RESULTS), again)]
    claims = sorted({row.claim for row in ledgers[1].rows if row.view == given.protocol and row.seeds})
    result = {claim: {"first": told(ledgers[0], claim, given.protocol)} for claim in claims}
    for claim in claims:
        result[claim]["again"] = told(ledgers[1], claim, given.protocol)
        print(claim, result[claim]["first"]["verdict"], "->", result[claim]["again"]["verdict"])
    command = f"python benchmarks/made_again.py STORE --protocol {given.protocol}"
    found = {"protocol": given.protocol, "runs": len(again.runs), "claims": result}
    print(write_result(f"made_again_{given.protocol.replace('-', '_')}", found, command).name)


if __name__ == "__main__":
    main()
