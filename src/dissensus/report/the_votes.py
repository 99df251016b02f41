"""The votes that a comparison is about: how many, how far they agree, and what was left out of them and why."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

from dissensus.records import StoredRun
from dissensus.votes import Votes
from dissensus.votes.summary import Glance, glance


@dataclass(frozen=True)
class TheVotes:
    """All votes, not only those on evaluation items, and what was noted when they were read."""

    glance: Glance
    notes: tuple[str, ...]

    @classmethod
    def of(cls, votes: Votes, source: Mapping[str, Any]) -> TheVotes:
        """Votes that are at hand, and where they came from."""
        return cls(glance(votes), without_folders(votes.notes, source))

    @classmethod
    def recorded(cls, runs: Iterable[StoredRun]) -> TheVotes | None:
        """As the first of the runs that knows them knew them; None where all were made by an earlier release."""
        for run in runs:
            kept = run.about.get("votes")
            if isinstance(kept, Mapping) and (seen := Glance.read(kept)) is not None:
                return cls(seen, without_folders(list(map(str, kept.get("notes") or [])), run.source))
        return None

    @property
    def as_json(self) -> dict[str, Any]:
        return {**self.glance.as_json, "notes": list(self.notes)}


def without_folders(notes: Sequence[str], source: Mapping[str, Any]) -> tuple[str, ...]:
    """Notes with the names of files alone: pages are passed on, and where a user's files lie is private.

    >>> without_folders(["2 rows of /home/ann/labels.csv are empty."], {"votes": "/home/ann/labels.csv"})
    ('2 rows of labels.csv are empty.',)
    """
    places = sorted((value for value in source.values() if isinstance(value, str) and value), key=len, reverse=True)
    told = list(notes)
    for place in places:
        told = [note.replace(place, PurePath(place).name or place) for note in told]
    return tuple(told)
