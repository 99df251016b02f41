"""What of a paper is asked for: runs of tables, figures or experiments, and studies beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dissensus.base.errors import InputError, unknown
from dissensus.experiment.papers import Paper
from dissensus.experiment.studies import Study, studies_of


@dataclass(frozen=True)
class Chosen:
    """Names that were given, told apart."""

    runs: bool
    places: tuple[str, ...]  # whose runs; all of the paper's, where none is named
    studies: tuple[Study, ...]


def places_of(paper: Paper) -> list[str]:
    """What runs can be asked for by: tables, figures and experiments.

    >>> from dissensus.experiment.papers import read_paper
    >>> [name for name in places_of(read_paper("basins")) if name.startswith("figure")][8:]
    ['figure9', 'figure10', 'figure11', 'figure12']
    """
    names = {*paper.places, *(one.name for one in paper.experiments)}
    return sorted(names, key=lambda name: (name.rstrip("0123456789"), len(name), name))  # figure2 before figure10


def choose(paper: Paper, only: Sequence[str] = (), protocol: str | None = None) -> Chosen:
    """Without names everything: all runs, and the studies with the models that a protocol names, or with any.

    >>> from dissensus.experiment.papers import read_paper
    >>> told = choose(read_paper("soft-labels"), ["table2", "transfer"])
    >>> told.runs, told.places, [study.name for study in told.studies]
    (True, ('table2',), ['transfer'])
    """
    studies, places = studies_of(paper.name), places_of(paper)
    kinds = "table, figure, experiment or study" if studies else "table, figure or experiment"
    for name in only:
        if name not in studies and name not in places:
            raise InputError(unknown(kinds, name, [*places, *studies]))
    if only:
        wanted = tuple(name for name in only if name in places)
        return Chosen(bool(wanted), wanted, tuple(studies[name] for name in only if name in studies))
    fits = [study for study in studies.values() if not study.trains or protocol in (None, study.model)]
    return Chosen(True, (), tuple(fits))
