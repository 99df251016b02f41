"""Every benchmark, one after the other, so that none disturbs another; results as JSON under ``benchmarks/results``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPTS = ("read_votes.py", "sls_epoch.py", "smooth_ece.py", "plain_loop.py", "demo.py")


def main() -> None:
    for script in SCRIPTS:
        print(f"--- {script}", flush=True)
        subprocess.run([sys.executable, Path(__file__).with_name(script)], check=True)


if __name__ == "__main__":
    main()
