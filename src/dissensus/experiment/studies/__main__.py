"""Carry out a study, or judge its scores again.

python -m dissensus.experiment.studies real-sparsity --seeds 10 --out results/soft-labels/studies
python -m dissensus.experiment.studies coverage --store runs --out results/soft-labels/studies
python -m dissensus.experiment.studies real-sparsity --rebuild --out results/soft-labels/studies
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from dissensus.base.errors import DissensusError, InputError
from dissensus.experiment.studies import STUDIES
from dissensus.experiment.studies.coverage import coverage
from dissensus.experiment.studies.score import Score
from dissensus.records import RunStore


def main(words: Sequence[str]) -> None:
    reader = argparse.ArgumentParser(prog="dissensus.experiment.studies", description="Carry out a study.")
    reader.add_argument("name", choices=STUDIES)
    reader.add_argument("--out", required=True, help="the folder of its tables")
    reader.add_argument("--seeds", type=int, default=10, help="how many, from 0 on")
    reader.add_argument("--store", help="runs whose predictions are read, for coverage")
    reader.add_argument("--rebuild", action="store_true", help="judge the scores that are there")
    given = reader.parse_args(words)
    study = STUDIES[given.name]
    if given.rebuild:
        told = study.rebuild(given.out)
    else:
        command = " ".join(["python -m dissensus.experiment.studies", *words])
        told = study.write(rows_of(given.name, range(given.seeds), given.store), given.out, command)
    print("\n".join(told))


def rows_of(name: str, seeds: Sequence[int], store: str | None) -> list[Score]:
    """The scores of a study: of models that are trained now, or of stored predictions."""
    make = STUDIES[name].make
    if make is not None:
        return make(seeds, lambda line: print(line, file=sys.stderr, flush=True))
    if store is None:
        raise InputError(f"{name} reads predictions that are there: say where, by --store FOLDER.")
    runs = RunStore(store)
    return coverage(run for run in map(runs.read, runs.names()) if run.plan["seeds"]["split"] in seeds)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except DissensusError as error:
        sys.exit(f"{type(error).__name__}: {error}")
