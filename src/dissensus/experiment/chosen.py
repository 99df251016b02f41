"""What of a paper is asked for: runs of tables, figures or experiments, and studies beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from dissensus.base.errors import InputError, unknown
from dissensus.experiment.papers import Paper
from dissensus.experiment.studies import Study, studies_of


@dataclass(frozen=True)
class Chosen:
    """Names that were given, told apart."""

    runs: bool
    places: tuple[str, ...]  # whose runs; all of the paper's, where none is named
    studies: tuple[Study, ...]

    @property
    def needs_runs(self) -> bool:
        """Whether runs of the paper are made, or read by a study that trains nothing."""
        return self.runs or not all(study.trains for study in self.studies)

    def without_training(self) -> Chosen:
        """The same without the studies that train models."""
        return replace(self, studies=tuple(study for study in self.studies if not study.trains))

    def training_alone(self) -> Chosen:
        """The same without the studies that only read what is there."""
        return replace(self, studies=tuple(study for study in self.studies if study.trains))


def places_of(paper: Paper) -> list[str]:
    """What runs can be asked for by: tables, figures and experiments.

    >>> from dissensus.experiment.papers import read_paper
    >>> [name for name in places_of(read_paper("basins")) if name.startswith("figure")][8:]
    ['figure9', 'figure10', 'figure11', 'figure12']
    """
    names = {*paper.places, *(one.name for one in paper.experiments)}
    return sorted(names, key=lambda name: (name.rstrip("0123456789"), len(name), name))  # figure2 before figure10


def refuse_unknown(paper: Paper, only: Sequence[str], studies: Sequence[str] = ()) -> None:
    """Names must be such places, or studies."""
    places = places_of(paper)
    kinds = "table, figure, experiment or study" if studies else "table, figure or experiment"
    for name in only:
        if name not in studies and name not in places:
            raise InputError(unknown(kinds, name, [*places, *studies]))


def choose(paper: Paper, only: Sequence[str] = (), protocol: str | None = None, small: bool = False) -> Chosen:
    """Without names everything: all runs, and the studies with the models that a protocol names, or with any.

    A ``small`` test of everything has no models of texts, and so no studies that train them.

    >>> from dissensus.experiment.papers import read_paper
    >>> told = choose(read_paper("soft-labels"), ["table2", "transfer"])
    >>> told.runs, told.places, [study.name for study in told.studies]
    (True, ('table2',), ['transfer'])
    """
    studies = studies_of(paper.name)
    refuse_unknown(paper, only, list(studies))
    if only:
        wanted = tuple(name for name in only if name not in studies)
        named = tuple(studies[name] for name in only if name in studies)
        if small and (wrong := [study.name for study in named if study.trains]):
            raise InputError(f"{wrong[0]} trains models of texts, which --smoke does not have; leave one of them out.")
        return Chosen(bool(wanted), wanted, named)
    fits = [study for study in studies.values() if not study.trains or protocol in (None, study.model)]
    everything = Chosen(True, (), tuple(fits))
    return everything.without_training() if small else everything
