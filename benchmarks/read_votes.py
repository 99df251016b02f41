"""How long does it take to get from a file of votes to votes per item and class?

Ten million votes on two million items, ten classes, with annotators, as Parquet and CSV, with whole numbers and with
text for ids, rows in random order. Every measurement is a process of its own that finds the file in the page cache;
contestants take turns. The time is from opening the file to the counts, imports not counted; peak memory is that of
the process. dissensus keeps every vote and who cast it, and so does "pandas factorize-bincount", as three columns of
codes; groupby-size-unstack and crowd-kit read the whole table too, and keep counts or the majority alone. "counts
only" reads and makes nothing but counts; it does less and has no bar. pandas reads with its fastest engine, PyArrow.

    python benchmarks/read_votes.py                      # ten million votes, three repeats
    python benchmarks/read_votes.py --votes 100000       # a quick look
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from measure import write_result

N_CLASSES = 10
CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]
BARS = {"crowd-kit MajorityVote": 5.0, "pandas groupby-size-unstack": 3.0, "pandas factorize-bincount": 1.0}
KINDS, SUFFIXES = ("whole numbers", "text"), ("parquet", "csv")
PACKAGES = ("numpy", "polars", "pandas", "pyarrow", "crowd-kit")

# -- contestants: each imports what it needs and returns the work as a function


def dissensus(path: str) -> Callable[[], Any]:
    from dissensus import read_votes

    return lambda: read_votes(path).counts().sum(0)


def _pandas_reader(path: str, columns: list[str]) -> Callable[[], Any]:
    import pandas as pd

    if path.endswith(".parquet"):
        return lambda: pd.read_parquet(path, columns=columns)
    return lambda: pd.read_csv(path, usecols=columns, engine="pyarrow")


def pandas_unstack(path: str) -> Callable[[], Any]:
    read = _pandas_reader(path, ["item", "annotator", "label"])
    return lambda: read().groupby(["item", "label"]).size().unstack(fill_value=0).to_numpy().sum(0)


def pandas_bincount(path: str, keep_annotators: bool = True) -> Callable[[], Any]:
    import numpy as np
    import pandas as pd

    read = _pandas_reader(path, ["item", "annotator", "label"] if keep_annotators else ["item", "label"])

    def work() -> Any:
        frame = read()
        item, items = pd.factorize(frame["item"])
        label, labels = pd.factorize(frame["label"], sort=True)
        if keep_annotators:
            pd.factorize(frame["annotator"])
        cells = np.bincount(item * len(labels) + label, minlength=len(items) * len(labels))
        return cells.reshape(len(items), len(labels)).sum(0)

    return work


def crowdkit_majority(path: str) -> Callable[[], Any]:
    from crowdkit.aggregation import MajorityVote

    read = _pandas_reader(path, ["item", "annotator", "label"])

    def work() -> Any:
        frame = read().rename(columns={"item": "task", "annotator": "worker"})
        return [len(MajorityVote().fit_predict(frame))]

    return work


CONTESTANTS: dict[str, Callable[[str], Callable[[], Any]]] = {
    "dissensus": dissensus,
    "pandas factorize-bincount": pandas_bincount,
    "pandas factorize-bincount, counts only": lambda path: pandas_bincount(path, keep_annotators=False),
    "pandas groupby-size-unstack": pandas_unstack,
    "crowd-kit MajorityVote": crowdkit_majority,
}

# -- one measurement


def measure_here(contestant: str, path: str) -> dict[str, Any]:
    started = time.perf_counter()
    work = CONTESTANTS[contestant](path)
    ready = time.perf_counter()
    result = [int(number) for number in work()]
    return {
        "imports_s": ready - started,
        "seconds": time.perf_counter() - ready,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "result": result,
    }


def measure(contestant: str, path: Path) -> dict[str, Any]:
    with path.open("rb") as file:  # into the page cache
        while file.read(1 << 20):
            pass
    return json.loads(run_alone("--contestant", contestant, "--file", str(path)).splitlines()[-1])


def run_alone(*arguments: str) -> str:
    """This script in a process of its own. Its peak memory counts from that of its parent, which has to stay small."""
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(arguments)} failed:\n{done.stderr}")
    return done.stdout


# -- the whole comparison


def paths(folder: Path) -> dict[str, Path]:
    return {f"{suffix}, {kind}": folder / f"{kind.replace(' ', '-')}.{suffix}" for kind in KINDS for suffix in SUFFIXES}


def write_files(folder: Path, n_votes: int) -> None:
    """The same votes four times."""
    import numpy as np
    import polars as pl

    rng = np.random.default_rng(0)
    numbers = pl.DataFrame(
        {
            "item": rng.integers(0, n_votes // 5, n_votes),
            "annotator": rng.integers(0, max(n_votes // 2000, 5), n_votes),
            "label": rng.integers(0, N_CLASSES, n_votes),
        }
    )
    words = numbers.select(
        item=pl.format("item-{}", pl.col("item")),
        annotator=pl.format("worker-{}", pl.col("annotator")),
        label=pl.Series(CLASSES).gather(numbers["label"]),
    )
    for name, path in paths(folder).items():
        frame = words if name.endswith("text") else numbers
        frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)


def compare(n_votes: int, repeats: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        run_alone("--write", folder, "--votes", str(n_votes))
        files, load = paths(Path(folder)), [os.getloadavg()[0]]
        measured: dict[str, dict[str, list[dict[str, Any]]]] = {
            file: {who: [] for who in CONTESTANTS} for file in files
        }
        for _ in range(repeats):
            for file, path in files.items():
                for who in CONTESTANTS:
                    measured[file][who].append(measure(who, path))
                refuse_different_counts(measured[file])
    return {
        "votes": n_votes,
        "items": n_votes // 5,
        "classes": N_CLASSES,
        "repeats": repeats,
        "load_before_and_after": [round(number, 2) for number in (*load, os.getloadavg()[0])],
        "files": {file: summarize(runs) for file, runs in measured.items()},
    }


def refuse_different_counts(runs: dict[str, list[dict[str, Any]]]) -> None:
    counts = {who: run[-1]["result"] for who, run in runs.items() if who != "crowd-kit MajorityVote"}
    if len({tuple(result) for result in counts.values()}) > 1:
        raise SystemExit(f"the contestants disagree: {counts}")


def summarize(runs: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for who, measurements in runs.items():
        seconds = [run["seconds"] for run in measurements]
        told[who] = {
            "seconds": round(statistics.median(seconds), 3),
            "spread": [round(min(seconds), 3), round(max(seconds), 3)],
            "imports_s": round(statistics.median(run["imports_s"] for run in measurements), 3),
            "peak_mb": round(statistics.median(run["peak_mb"] for run in measurements)),
        }
        times = told[who]["seconds"] / told["dissensus"]["seconds"]
        told[who]["times_ours"] = round(times, 2)
        if who in BARS:
            told[who] |= {"bar": BARS[who], "holds": times >= BARS[who]}
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--votes", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--contestant", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--write", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.write:
        write_files(Path(given.write), given.votes)
        return
    if given.contestant:
        print(json.dumps(measure_here(given.contestant, given.file)))
        return
    result = compare(given.votes, given.repeats)
    command = f"python benchmarks/read_votes.py --votes {given.votes} --repeats {given.repeats}"
    name = "read_votes" if given.votes == 10_000_000 else f"read_votes_{given.votes}"
    print(json.dumps(result, indent=2))
    print(write_result(name, result, command, PACKAGES).name)


if __name__ == "__main__":
    main()
