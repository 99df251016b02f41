"""A paper repeated: its trainings as plans, what is looked for in each model, and what was measured as evidence.

================ =====================================================================================================
``setting``      on what: the paper's data and recipe, or the embedded glyphs for a test of everything
``plans``        trainings of the paper as plans of a store
``look``         what is looked for in a model, right after its training
``lines``        models that wait for the one at the other end of a line
``partners``     which trainings are set against which
``compared``     runs that are compared from what both kept
``standing``     what is done and what is left, and how long that takes
``reproduction`` all of it together, and making what is left
``refusals``     what is not begun
``several``      a paper on several data sets and with several models
``yardsticks``   what people and guesses score, and entropy where people disagree
``collect``      from a store to evidence, with ``gains`` and ``across`` for numbers of two runs
================ =====================================================================================================

From the evidence on (:mod:`dissensus.experiment.papers`, :mod:`dissensus.experiment.claims`) nothing here is needed.
"""

from __future__ import annotations

from dissensus.base.errors import InputError
from dissensus.experiment.papers import Evidence, Paper
from dissensus.experiment.reproduce.refusals import refuse_without_gpu
from dissensus.experiment.reproduce.reproduction import Reproduction, wanted_of
from dissensus.experiment.reproduce.setting import Setting, full, smoke
from dissensus.experiment.reproduce.several import TRIED, Several, of_texts, protocols_like
from dissensus.experiment.reproduce.standing import Standing, counts, measured_on_a_gpu
from dissensus.records import RunStore

__all__ = [
    "Reproduction",
    "Setting",
    "Several",
    "Standing",
    "counts",
    "full",
    "measured_on_a_gpu",
    "opened",
    "protocols_like",
    "refuse_without_gpu",
    "smoke",
    "wanted_of",
]


def opened(
    paper: Paper,
    store: RunStore,
    protocol: str | None = None,
    small: bool = False,
    look: str = "tf32",
    before: Evidence | None = None,
    to_merge: bool = False,
    encoder: str | None = None,
) -> Reproduction | Several:
    """A paper and what it is repeated on: one data set and model, or several; ``small`` for a test of everything.

    ``look`` is the precision of products inside models on a GPU. Runs that results tell of ``before`` count as done;
    those that they have to be compared with are not made again where the store is ``to_merge`` with one that has them.
    With an ``encoder``, a folder or a name, it is repeated with that one on the sets of texts alone.
    """
    if paper.data:
        if encoder is not None:
            raise InputError(f"an encoder is for texts, but {paper.name} is on {paper.data}; soft-labels has texts.")
        return Reproduction.open(paper, smoke() if small else full(paper, look), store, before, to_merge)
    protocols = list(TRIED) if small and protocol is None else protocols_like(paper, protocol)
    if encoder is not None:
        protocols = of_texts(paper, protocols)
    return Several.open(paper, store, protocols, small, before, to_merge, encoder)
