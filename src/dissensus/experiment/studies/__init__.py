"""Studies beside the main table of the soft-labels paper: one question a file, its rule in the docstring.

Each trains a few hundred small models, gives a table with a row a model, and judges it by the one rule of
:mod:`~dissensus.experiment.studies.finding`. Rules are fixed before the seeds that are reported are run.
``python -m dissensus.experiment.studies NAME --out FOLDER`` carries one out.
"""

from __future__ import annotations

from dissensus.experiment.studies import (
    careful_annotators,
    coverage,
    least_agreeing,
    real_sparsity,
    transfer,
    unreliable_annotators,
)
from dissensus.experiment.studies.study import Study

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        real_sparsity.STUDY,
        careful_annotators.STUDY,
        unreliable_annotators.STUDY,
        least_agreeing.STUDY,
        transfer.STUDY,
        coverage.STUDY,
    )
}

__all__ = ["STUDIES", "Study"]
