"""The ledger as the page shows it: a claim, its verdict under every view, and unfolded the rule and the numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dissensus.base.words import many
from dissensus.report.output import signed
from dissensus.report.paper.grid import title_of
from dissensus.report.tables import Box, p_value

if TYPE_CHECKING:
    from dissensus.experiment.claims import Judged, Ledger, Measured, Row

VIEWS = {
    "published": "published protocol",
    "audited": "audited protocol",
    "last": "published, last epoch",
    "audited-last": "audited, last epoch",
}
SIGNS = {"supported": "✓", "contradicted": "✗", "undecided": "?"}  # of verdicts
NO_SIGN, NOTHING = "–", "not planned"  # where a protocol plans no runs for a claim
NOT_YET, EARLY = "…", "not enough runs"
NOT_JUDGED = "not judged"
IN_PART = "in part: on those methods and numbers of votes of the claim that the protocol plans"


@dataclass(frozen=True)
class CellLine:
    """One cell of a part: what was published, and a box a view."""

    cell: str
    published: str
    boxes: tuple[Box, ...]


@dataclass(frozen=True)
class PartView:
    """One part of a claim: what it says, how it counts, and its cells under every view."""

    name: str
    says: str
    beside: bool
    verdicts: tuple[str, ...]
    reasons: tuple[str, ...]
    cells: tuple[CellLine, ...]


@dataclass(frozen=True)
class ClaimView:
    """One claim, whole."""

    name: str
    title: str
    ours: bool
    places: tuple[str, ...]
    standings: tuple[str, ...]  # the verdict, or why it is too early for one
    in_part: tuple[bool, ...]  # whether it rests on a part of what the claim says
    reasons: tuple[str, ...]
    seeds: tuple[int, ...]
    rules: tuple[str, ...]
    parts: tuple[PartView, ...]


def views_of(ledger: Ledger) -> list[str]:
    """The views that the ledger has, in its order."""
    return list(dict.fromkeys(row.view for row in ledger))


def added_to(ledger: Ledger) -> dict[str, str]:
    """The views that were added when results had been seen, and why."""
    return {row.view: row.added for row in ledger if row.added}


def claims_of(ledger: Ledger, rules: Mapping[str, Sequence[str]]) -> list[ClaimView]:
    """Claim by claim, what the page shows."""
    views = views_of(ledger)
    by_claim: dict[str, dict[str, Row]] = {}
    for row in ledger:
        by_claim.setdefault(row.claim, {})[row.view] = row
    return [_claim([rows[view] for view in views], rules.get(name, ())) for name, rows in by_claim.items()]


def in_words(row: Row) -> str:
    """Where a claim stands."""
    return f"{row.standing}{', in part' * row.in_part}"


def sign(row: Row) -> str:
    """Where a claim stands, in one sign."""
    return SIGNS.get(row.standing) or (NO_SIGN if row.standing == NOTHING else NOT_YET)


def legend() -> str:
    """What the signs mean.

    >>> legend()
    '✓ supported, ✗ contradicted, ? undecided, … not enough runs, – not planned'
    """
    return ", ".join(f"{sign} {words}" for words, sign in (SIGNS | {EARLY: NOT_YET, NOTHING: NO_SIGN}).items())


def counts(ledger: Ledger, view: str) -> dict[str, int]:
    """How many of the paper's claims have each verdict under a view, and none; our own questions are not counted."""
    told: list[str] = [row.standing for row in ledger if row.view == view and not row.ours]
    judged = {verdict: told.count(verdict) for verdict in SIGNS}
    return {**judged, NOT_JUDGED: len(told) - sum(judged.values())}


def _claim(rows: Sequence[Row], rules: Sequence[str]) -> ClaimView:
    first = rows[0]
    names = dict.fromkeys(part.part for row in rows for part in row.parts)
    return ClaimView(
        name=first.claim,
        title=first.title,
        ours=first.ours,
        places=first.places,
        standings=tuple(row.standing for row in rows),
        in_part=tuple(row.in_part for row in rows),
        reasons=tuple(row.reason for row in rows),
        seeds=tuple(row.seeds for row in rows),
        rules=tuple(rules),
        parts=tuple(_part(name, rows) for name in names),
    )


def _part(name: str, rows: Sequence[Row]) -> PartView:
    found = [next((part for part in row.parts if part.part == name), None) for row in rows]
    first = next(part for part in found if part is not None)
    labels = dict.fromkeys((cell.cell, cell.metric) for part in found if part for cell in part.cells)
    return PartView(
        name=name,
        says=first.says,
        beside=first.weight == "beside",
        verdicts=tuple(part.verdict if part else "undecided" for part in found),
        reasons=tuple(part.reason if part else "" for part in found),
        cells=tuple(_line(cell, metric, found) for cell, metric in labels),
    )


def _line(cell: str, metric: str, parts: Sequence[Judged | None]) -> CellLine:
    found = [
        next((one for one in part.cells if (one.cell, one.metric) == (cell, metric)), None) if part else None
        for part in parts
    ]
    published = next((one.published for one in found if one is not None and one.published), "")
    return CellLine(cell or title_of(metric).rstrip(" ↑↓"), signed(published), tuple(map(_box, found)))


def _box(cell: Measured | None) -> Box:
    if cell is None or cell.mean is None:
        return Box()
    detail = [] if cell.p is None else [f"p {p_value(cell.p)}"]
    if cell.agree is not None:
        detail.append(f"{cell.agree} of {cell.seeds} seeds")
    elif cell.seeds:
        detail.append(many(cell.seeds, "seed"))
    return Box(cell.text.replace("-", "−"), ", ".join(detail))
