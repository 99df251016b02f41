"""Carry out a study, or judge its scores again.

python -m dissensus.experiment.studies real-sparsity --seeds 10 --out results/soft-labels/studies
python -m dissensus.experiment.studies transfer --model fine-tuned --out results/soft-labels/studies
python -m dissensus.experiment.studies coverage --store runs --out results/soft-labels/studies
python -m dissensus.experiment.studies real-sparsity --rebuild --out results/soft-labels/studies
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from dissensus.base.errors import DissensusError, InputError
from dissensus.experiment.studies import STUDIES, Study
from dissensus.experiment.studies.coverage import coverage
from dissensus.experiment.studies.score import Score
from dissensus.records import RunStore


def main(words: Sequence[str]) -> None:
    reader = argparse.ArgumentParser(prog="dissensus.experiment.studies", description="Carry out a study.")
    reader.add_argument("name", choices=STUDIES)
    reader.add_argument("--out", required=True, help="the folder of its tables")
    reader.add_argument("--seeds", type=int, default=10, help="how many, from 0 on")
    reader.add_argument("--model", choices=("frozen", "fine-tuned"), default="frozen", help="of texts")
    reader.add_argument("--encoder", help="the folder of a text encoder, or its name; else the default one")
    reader.add_argument("--store", help="runs whose predictions are read, for coverage")
    reader.add_argument("--rebuild", action="store_true", help="judge the scores that are there")
    given = reader.parse_args(words)
    study = STUDIES[given.name].with_model(given.model)
    if given.rebuild:
        told = study.rebuild(given.out)
    else:
        command = " ".join(["python -m dissensus.experiment.studies", *words])
        told = study.write(rows_of(study, given), given.out, command)
    print("\n".join(told))


def rows_of(study: Study, given: argparse.Namespace) -> list[Score]:
    """The scores of a study: of models that are trained now, or of stored predictions."""
    seeds = range(given.seeds)
    if study.make is not None:
        return study.make(seeds, lambda line: print(line, file=sys.stderr, flush=True), given.model, given.encoder)
    if given.store is None:
        raise InputError(f"{study.name} reads predictions that are there: say where, by --store FOLDER.")
    runs = RunStore(given.store)
    return coverage(run for run in map(runs.read, runs.names()) if run.plan["seeds"]["split"] in seeds)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except DissensusError as error:
        sys.exit(f"{type(error).__name__}: {error}")
