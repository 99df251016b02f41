"""Studies beside the main table of the soft-labels paper: one question a file, its rule in the docstring.

Each trains a few hundred small models or reads runs that are there, gives a table with a row a model, and judges it by
the one rule of :mod:`~dissensus.experiment.studies.finding`. Rules are fixed before the seeds that are reported.
``dissensus reproduce soft-labels --only NAME`` carries one out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from dissensus.experiment.studies import (
    careful_annotators,
    coverage,
    least_agreeing,
    real_sparsity,
    transfer,
    unreliable_annotators,
)
from dissensus.experiment.studies.carry_out import Made, carry_out
from dissensus.experiment.studies.study import FOLDER, SEEDS, Given, Studied, Study

TRAINED = (
    real_sparsity.STUDY,
    careful_annotators.STUDY,
    unreliable_annotators.STUDY,
    least_agreeing.STUDY,
    transfer.STUDY,
)
FINE_TUNED = tuple(
    replace(
        study,
        name=f"{study.name}-fine-tuned",
        question=f"{study.question.removesuffix('?')}, when the whole encoder is trained?",
        model="fine-tuned",
    )
    for study in TRAINED
)
STUDIES: dict[str, Study] = {study.name: study for study in (coverage.STUDY, *TRAINED, *FINE_TUNED)}

__all__ = ["FOLDER", "SEEDS", "STUDIES", "Given", "Made", "Studied", "Study", "carry_out", "studies_of"]


def studies_of(paper: str) -> Mapping[str, Study]:
    """The studies beside a paper, by name.

    >>> list(studies_of("soft-labels"))[:3], list(studies_of("basins"))
    (['coverage', 'real-sparsity', 'careful-annotators'], [])
    """
    return STUDIES if paper == "soft-labels" else {}
