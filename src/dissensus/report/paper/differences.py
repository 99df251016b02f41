"""Where a measured number is not the published one, and what explains it, so far as anybody knows."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dissensus.base.errors import InputError
from dissensus.report.paper.grid import SETS, SLICES, digits_of, title_of, votes_in_words
from dissensus.report.paper.measured import FEW, TOLERANCE, BySeed, Gap, Sought, gap, measured
from dissensus.report.tables import number

if TYPE_CHECKING:
    from dissensus.experiment.papers import Address, Number, Paper
    from dissensus.experiment.papers.evidence import Evidence

NOTES = "notes.toml"
NOT_EXPLAINED = "not explained"
_PARTS = ("place", "method", "metric", "votes", "hold", "slice", "outside", "other")


@dataclass(frozen=True)
class Note:
    """What explains the differences at all addresses that have these parts.

    >>> Note({"place": "table1"}, "another padding").of({"place": "table1", "votes": 5})
    True
    """

    parts: Mapping[str, Any]
    explains: str

    def of(self, address: Mapping[str, Any]) -> bool:
        return all(address[part] == value for part, value in self.parts.items())


@dataclass(frozen=True)
class Compared:
    """A published number beside ours."""

    address: Address
    published: Number
    ours: BySeed
    gap: Gap | None
    explained: str = ""
    twice: bool = False  # whether the paper has another number of the same, on other seeds

    @property
    def differs(self) -> bool:
        return self.gap is not None and self.gap.differs

    @property
    def what(self) -> str:
        """In words; and of which row of the paper, where it has the number on ten seeds and on five."""
        return in_words(self.address) + (f" (its row of {self.address.seeds} seeds)" if self.twice else "")

    @property
    def numbers(self) -> str:
        """Both, and how far apart they are.

        "0.5612 against 0.5860, 3.1 standard errors lower".
        """
        digits = digits_of(self.address.metric, self.published.unit)
        told = f"{number(self.ours.mean, digits)} against {number(self.published.mean, digits)}"
        if self.gap is None or not self.gap.standard_error:
            return told
        errors = abs(self.gap.value) / self.gap.standard_error
        return f"{told}, {errors:,.{int(errors < 10)}f} standard errors {'higher' if self.gap.value > 0 else 'lower'}"


def in_words(address: Address) -> str:
    """What a published number is of: "sls, soft NLL, 5 votes"."""
    parts = [address.method]
    if address.other:
        parts[0] += f" and {address.other}" if address.other != address.method else ", two seeds"
    parts.append(title_of(address.metric).rstrip(" ↑↓"))
    if address.votes != "all":
        parts.append(votes_in_words(address.votes))
    if address.hold != 1:
        parts.append(f"labels held for {address.hold} epochs")
    if address.slice != "all":
        parts.append(SLICES[address.slice])
    if address.outside:
        parts.append(SETS.get(address.outside, address.outside))
    return ", ".join(parts)


def compared(evidence: Evidence, paper: Paper, notes: Sequence[Note] = ()) -> list[Compared]:
    """Every published mean beside ours on all seeds, in the paper's order; without those that are not measured.

    Runs on other data are not :meth:`comparable <dissensus.experiment.papers.Evidence.comparable>`: no gap is told.
    """
    comparable = evidence.comparable(paper)
    rows = Counter(replace(address, seeds=None) for address in paper.published.numbers)
    found = []
    for address, published in paper.published.numbers.items():
        ours = measured(evidence, Sought.of(address))
        if ours:
            explained = next((note.explains for note in notes if note.of(asdict(address))), "")
            apart = gap(ours, published) if comparable else None
            twice = rows[replace(address, seeds=None)] > 1
            found.append(Compared(address, published, ours, apart, explained, twice))
    return found


def counted(told: Sequence[Compared]) -> str:
    """How many published numbers were compared, how many of them differ, and how many wait for seeds, in words."""
    ready = [one for one in told if one.gap is not None]
    early = len(told) - len(ready)
    wait = f"{early} {'others were' if ready else 'were'} measured on fewer than {FEW} seeds, too few to compare."
    differ = f"Of {len(ready)} numbers that were compared, {sum(one.differs for one in ready)} differ; by chance "
    differ += "alone, about one in fifteen would."
    return " ".join([differ] * bool(ready) + [wait] * bool(early)) or "Nothing was measured yet."


def read_notes(folder: Path) -> list[Note]:
    """The explanations of ``notes.toml`` in a folder of results; none where there is no such file.

    .. code-block:: toml

        [[notes]]
        place = "table2"      # and any of method, metric, votes, hold, slice, outside, other
        metric = "ece"
        explains = "the paper ..."
    """
    path = folder / NOTES
    if not path.exists():
        return []
    try:
        told = tomllib.loads(path.read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is not valid TOML: {error}.") from None
    notes = []
    for position, entry in enumerate(told.get("notes", []), 1):
        parts = {key: value for key, value in entry.items() if key != "explains"}
        if wrong := next((key for key in parts if key not in _PARTS), None):
            raise InputError(f"note {position} of {path} has {wrong!r}; choose of {', '.join(_PARTS)}, explains.")
        if not parts or not entry.get("explains"):
            raise InputError(f"note {position} of {path} must say what it explains: an address, and `explains`.")
        notes.append(Note(parts, entry["explains"]))
    return notes


def rule() -> str:
    """The rule by which a number differs, in words."""
    return (
        f"A number differs where it is more than {TOLERANCE:g} standard errors of the difference from the published "
        "one, on all of our seeds; where the paper has no SD, ours stands for both. Of numbers that agree, one in "
        "twenty or a few more are so far off by chance."
    )
