"""What the demo says and how long it takes; and what it says under another recipe, since a verdict is one of a recipe.

Writes ``results/demo`` (``dissensus demo``) and ``results/demo-other-recipe`` (its ``plan.toml``): the sentences, the
time, and the tables that the README is checked against.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

from measure import environment

ROOT = Path(__file__).resolve().parents[1]
TABLES = ("scores.csv", "verdicts.csv", "methods.md", "verdicts.md")
COMMANDS = {
    "demo": ["demo"],
    "demo-other-recipe": ["compare", "results/demo-other-recipe/plan.toml"],
}


def main(names: Iterable[str]) -> None:
    for name in names:
        command = COMMANDS[name]
        with tempfile.TemporaryDirectory() as folder:
            store = [] if command == ["demo"] else ["--store", f"{folder}/runs"]
            start = time.perf_counter()
            done = subprocess.run(
                [sys.executable, "-m", "dissensus", *command, "--out", folder, *store, "--json"],
                cwd=ROOT,
                stdout=subprocess.PIPE,
                check=True,
            )
            seconds = time.perf_counter() - start
            told = json.loads(done.stdout)
            results = ROOT / "results" / name
            results.mkdir(parents=True, exist_ok=True)
            for table in TABLES:
                shutil.copy(Path(folder, "tables", table), results / table)
        result = {
            "command": f"dissensus {' '.join(command)}",
            "made_by": "python benchmarks/demo.py",
            "environment": environment(),
            "seconds": round(seconds, 1),
            "sentences": told["sentences"],
            "setting": told["setting"],
        }
        text = json.dumps(result, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False)
        (results / "result.json").write_text(text + "\n", encoding="utf-8")
        print(f"{name}: {seconds:.0f} s", *told["sentences"], sep="\n  ")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=COMMANDS, help="one of the two")
    only = parser.parse_args().only
    main([only] if only else COMMANDS)
