"""Every benchmark, one after the other, so that none disturbs another; results as JSON under ``benchmarks/results``.

Those that need a GPU are left out, and named, where there is none. Those that judge runs need the runs, which take a
GPU longer than a benchmark should: they are only named, and their first lines say how the runs are made.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import torch
from measure import no_options

HERE = Path(__file__).resolve().parent

SCRIPTS = (
    *("read_votes.py", "sls_epoch.py", "smooth_ece.py", "plain_loop.py", "target_cost.py", "demo.py"),
    *("rules_power.py", "votes_needed.py"),
)
ON_A_GPU = {
    "ladder.py": ("--out", str(HERE / "results" / "ladder.json")),
    "peers.py": ("--repeats", "3"),
    "curvature.py": ("--out", str(HERE / "results" / "curvature.json")),
    "readings.py": (),
}
OF_RUNS = ("gate.py", "init.py", "sanity.py", "spread.py", "made_again.py", "make_runs.py")


def main() -> None:
    scripts: dict[str, tuple[str, ...]] = dict.fromkeys(SCRIPTS, ())
    if torch.cuda.is_available():
        scripts |= ON_A_GPU
    for script, arguments in scripts.items():
        print(f"--- {script}", flush=True)
        subprocess.run([sys.executable, HERE / script, *arguments], check=True)
    for script in ON_A_GPU:
        if script not in scripts:
            print(f"--- {script}: left out, it needs a GPU")
    for script in OF_RUNS:
        print(f"--- {script}: left out, it is about runs that are made before; it says how")


if __name__ == "__main__":
    no_options(__doc__)
    main()
