"""A paper repeated: its trainings as plans, what is looked for in each model, and what was measured as evidence.

================ =====================================================================================================
``setting``      on what: the paper's data and recipe, or the embedded glyphs for a test of everything
``plans``        trainings of the paper as plans of a store
``look``         what is looked for in a model, right after its training
``lines``        models that wait for the one at the other end of a line
``standing``     what is done and what is left, and how long that takes
``reproduction`` all of it together, and making what is left
``collect``      from a store to evidence, with ``gains`` and ``across`` for numbers of two runs
================ =====================================================================================================

From the evidence on (:mod:`dissensus.experiment.papers`, :mod:`dissensus.experiment.claims`) nothing here is needed.
"""

from __future__ import annotations

from dissensus.experiment.reproduce.reproduction import Reproduction
from dissensus.experiment.reproduce.setting import Setting, full, smoke
from dissensus.experiment.reproduce.standing import Standing, counts

__all__ = ["Reproduction", "Setting", "Standing", "counts", "full", "smoke"]
