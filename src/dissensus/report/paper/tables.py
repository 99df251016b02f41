"""The paper's tables in its order: published beside measured, on as many seeds as the paper has and on all of ours."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dissensus.base.words import many
from dissensus.report.paper.beside import read_beside, sentences
from dissensus.report.paper.coverage import Coverage, coverage
from dissensus.report.paper.grid import (
    SETS,
    SLICES,
    Grid,
    Line,
    box,
    digits_of,
    filled,
    record,
    title_of,
    votes_in_words,
)
from dissensus.report.paper.measured import FEW, BySeed, Gap, Paired, Sought, few_in_words, gap, measured, p_of
from dissensus.report.tables import Box, number, p_value
from dissensus.stats import holm

if TYPE_CHECKING:
    from dissensus.experiment.papers import Address, Paper
    from dissensus.experiment.papers.evidence import Evidence

LAYOUTS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "table1": (("method",), ("votes",)),
    "table2": (("method",), ("metric",)),
    "table3": (("method",), ("metric",)),
    "table4": (("method", "seeds"), ("metric", "slice")),
    "table6": (("votes",), ("slice", "method")),
    "table7": (("metric",), ("method",)),
    "table8": (("method",), ("metric",)),
    "table9": (("metric",), ("method",)),
}
"""What the rows of a table are called by, and its columns."""

OTHER_READINGS = {
    "published protocol, last epoch": {"protocol": "published", "checkpoint": "last"},
    "audited protocol": {"protocol": "audited", "checkpoint": "best"},
    "audited protocol, last epoch": {"protocol": "audited", "checkpoint": "last"},
}
_WORDS: Mapping[str, Callable[[Any], str]] = {
    "method": str,
    "votes": votes_in_words,
    "metric": title_of,
    "slice": SLICES.__getitem__,
    "seeds": lambda seeds: f"{seeds} seeds",
}


def paper_tables(evidence: Evidence, paper: Paper) -> dict[str, Grid]:
    """Tables 1 to 9 by name; the fifth is the second, as in the paper."""
    return {place: paper_table(evidence, paper, place) for place in LAYOUTS}


def paper_table(evidence: Evidence, paper: Paper, place: str) -> Grid:
    """One table: for each of its rows a line as published, and lines as measured."""
    sheet = _Sheet(evidence, paper, place)
    lines = [line for row in sheet.rows for line in sheet.group(row)]
    made = coverage(evidence, paper, place)
    return Grid(
        name=place,
        title=paper.places[place],
        head=("", "", *map(sheet.column_words, sheet.columns)),
        lines=tuple(lines),
        records=tuple(sheet.records()),
        notes=tuple(sheet.notes(made)),
        missing="" if filled(lines) else str(made),
    )


def other_readings(evidence: Evidence, paper: Paper, place: str) -> Grid | None:
    """The same table at the last epoch and under the audited protocol; None where nothing of it is measured."""
    sheet = _Sheet(evidence, paper, place)
    lines = [line for row in sheet.rows for line in sheet.readings(row) if filled([line])]
    if not lines:
        return None
    records = [
        record(measured(evidence, Sought.of(address).read(**reading)), **_named(address), **reading)
        for address in sheet.addresses
        for reading in OTHER_READINGS.values()
        if measured(evidence, Sought.of(address).read(**reading))
    ]
    head = ("", "", *map(sheet.column_words, sheet.columns))
    return Grid(f"{place}-readings", paper.places[place], head, tuple(lines), tuple(records))


class _Sheet:
    """A table while it is made: its rows and columns, and the published number at each crossing."""

    def __init__(self, evidence: Evidence, paper: Paper, place: str) -> None:
        self.evidence, self.paper, self.place = evidence, paper, place
        self.comparable = evidence.comparable(paper)
        rows, columns = LAYOUTS[place]
        self.row_parts, self.column_parts = rows, columns
        self.addresses = [address for address in paper.published.numbers if address.place == place]
        self.at = {(_key(address, rows), _key(address, columns)): address for address in self.addresses}
        self.rows = list(dict.fromkeys(row for row, _ in self.at))
        self.columns = list(dict.fromkeys(column for _, column in self.at))
        self.tests = self._tests()

    # --- in words

    def column_words(self, column: tuple[Any, ...]) -> str:
        return ", ".join(_WORDS[part](value) for part, value in zip(self.column_parts, column, strict=True))

    def row_words(self, row: tuple[Any, ...]) -> str:
        return ", ".join(_WORDS[part](value) for part, value in zip(self.row_parts, row, strict=True))

    def notes(self, made: Coverage) -> Iterator[str]:
        if made.done and made.partly:
            yield made.partly
        if self.few():
            yield f"The paper has {FEW} seeds where a line is printed for seeds 0 to {FEW - 1}."
        if self.tests:
            told = next(iter(self.paper.published.p_values[one] for one in self.tests))
            yield (
                f"p: exact Wilcoxon signed-rank test over paired seeds, {told.side}, against {told.against}; below it, "
                f"after Holm over the {len(self.tests)} tests of the table."
            )
        if any(address.metric == "ece" for address in self.addresses):
            yield from sentences(read_beside(self.paper.name))
        outside = next((address.outside for address in self.addresses if address.outside), "")
        if outside in self.paper.stand_ins:
            stand_ins = " and ".join(SETS[name] for name in self.paper.stand_ins[outside])
            yield (
                f"{SETS[outside]} is not at hand: measured are {stand_ins}. These are other images, so the numbers are "
                "not compared with the published ones, only the order of the methods is."
            )

    # --- lines

    def few(self) -> bool:
        return any(address.seeds == FEW for address in self.addresses)

    def group(self, row: tuple[Any, ...]) -> Iterator[Line]:
        """A row of the paper: published, measured on all seeds and on the paper's, and the p-values."""
        name = self.row_words(row)
        here = [self.at.get((row, column)) for column in self.columns]
        yield Line(name, "published", tuple(map(self._published, here)), "published")
        for outside in self.sets():
            of = f" on {SETS[outside]}" if outside != self._outside() else ""
            before = 0
            for seeds in (FEW, None) if any(a is not None and a.seeds == FEW for a in here) else (None,):
                found = [self.found(address, outside, seeds) for address in here]
                most = max((len(one.seeds) for one in found), default=0)
                if most == before:  # nothing, or the line before again
                    continue
                before = most
                said = few_in_words(most) if seeds else many(most, "seed")
                all_seeds = most == max(len(self.found(address, outside, None).seeds) for address in here)
                compare = self.comparable and not of and all_seeds  # as in the list of differences
                boxes = [
                    Box() if address is None else self._box(address, one, most, compare)
                    for address, one in zip(here, found, strict=True)
                ]
                yield Line(name, f"measured{of}, {said}", tuple(boxes))
        if any(address in self.tests for address in here):
            yield Line(name, "p, published", tuple(map(self._p_published, here)), "test")
            before = 0
            for seeds in (FEW, None) if self.few() else (None,):
                tested = [self.tests.get(address, {}).get(seeds) if address is not None else None for address in here]
                most = max((one.seeds for one, _ in filter(None, tested)), default=0)
                if most == before:
                    continue
                before = most
                said = few_in_words(most) if seeds else many(most, "seed")
                yield Line(name, f"p, measured, {said}", tuple(map(_p_measured, tested)), "test")

    def readings(self, row: tuple[Any, ...]) -> Iterator[Line]:
        name = self.row_words(row)
        here = [self.at.get((row, column)) for column in self.columns]
        for said, reading in OTHER_READINGS.items():
            for outside in self.sets():
                of = f" on {SETS[outside]}" if outside != self._outside() else ""
                found = [self.found(address, outside, None, **reading) for address in here]
                most = max((len(one.seeds) for one in found), default=0)
                boxes = [
                    Box() if address is None else box(one, self._digits(address), expected=most)
                    for address, one in zip(here, found, strict=True)
                ]
                yield Line(name, f"{said}{of}, {many(most, 'seed')}", tuple(boxes))

    def found(self, address: Address | None, outside: str, seeds: int | None, **reading: str) -> BySeed:
        if address is None:
            return BySeed({})
        found = measured(self.evidence, Sought.of(address).read(outside=outside, **reading))
        return found if seeds is None else found.first(seeds)

    def sets(self) -> list[str]:
        """The outside sets that a number of the table is measured on; one that is none, where it has none."""
        outside = self._outside()
        there = [
            name
            for name in dict.fromkeys((outside, *self.paper.sets_for(outside)))
            if any(self.found(address, name, None) for address in self.addresses)
        ]
        return there or [outside]

    def _outside(self) -> str:
        return self.addresses[0].outside

    def _published(self, address: Address | None) -> Box:
        if address is None:
            return Box()
        told = self.paper.published.numbers[address]
        digits = self._digits(address)
        return Box(number(told.mean, digits), "" if told.sd is None else f"± {number(told.sd, digits)}")

    def _box(self, address: Address, found: BySeed, expected: int, compare: bool) -> Box:
        apart = gap(found, self.paper.published.numbers[address]) if compare else None
        return box(found, self._digits(address), expected=expected, differs=apart is not None and apart.differs)

    def _digits(self, address: Address) -> int:
        return digits_of(address.metric, self.paper.published.numbers[address].unit)

    # --- tests

    def _tests(self) -> dict[Address, dict[int | None, tuple[Paired, float]]]:
        """Every p-value that the table has: on all seeds and on the first few, plain and after Holm over the table."""
        told = {a: p for a, p in self.paper.published.p_values.items() if a.place == self.place}
        found: dict[Address, dict[int | None, tuple[Paired, float]]] = {address: {} for address in told}
        for seeds in (None, FEW):
            plain = {address: p_of(self.evidence, Sought.of(address), p, seeds) for address, p in told.items()}
            known = {address: one for address, one in plain.items() if one is not None}
            for (address, one), adjusted in zip(known.items(), holm([one.p for one in known.values()]), strict=True):
                found[address][seeds] = (one, float(adjusted))
        return found

    def _p_published(self, address: Address | None) -> Box:
        told = None if address is None else self.paper.published.p_values.get(address)
        if told is None:
            return Box()
        return Box(("≥ " if told.at_least else "") + f"{told.value:g}")

    # --- records

    def records(self) -> Iterator[dict[str, Any]]:
        for address in self.addresses:
            for outside in self.sets():
                for seeds in (FEW, None) if address.seeds == FEW else (None,):
                    found = self.found(address, outside, seeds)
                    compared = self.comparable and outside == self._outside()
                    apart = gap(found, self.paper.published.numbers[address]) if compared and found else None
                    yield {
                        **record(found, **_named(address) | {"outside": outside, "which": _which(seeds)}),
                        **self._published_record(address),
                        **_gap_record(apart),
                        **self._test_record(address, seeds),
                    }

    def _published_record(self, address: Address) -> dict[str, Any]:
        told = self.paper.published.numbers[address]
        return {"published": told.mean, "published_sd": told.sd, "published_seeds": told.seeds}

    def _test_record(self, address: Address, seeds: int | None) -> dict[str, Any]:
        told = self.paper.published.p_values.get(address)
        if told is None:
            return {}
        one, adjusted = self.tests[address].get(seeds, (None, None))
        bound = ">= " if told.at_least else ""
        return {
            "against": told.against,
            "side": told.side,
            "p": None if one is None else one.p,
            "p_holm": adjusted,
            "p_published": f"{bound}{told.value:g}",
        }


def _named(address: Address) -> dict[str, Any]:
    return {part: value for part, value in asdict(address).items() if part != "seeds"}


def _p_measured(found: tuple[Paired, float] | None) -> Box:
    return Box() if found is None else Box(p_value(found[0].p), f"Holm {p_value(found[1])}")


def _which(seeds: int | None) -> str:
    return "all seeds" if seeds is None else f"seeds 0-{seeds - 1}"


def _gap_record(apart: Gap | None) -> dict[str, Any]:
    if apart is None:
        return {"gap": None, "gap_standard_error": None, "differs": None}
    return {"gap": apart.value, "gap_standard_error": apart.standard_error, "differs": int(apart.differs)}


def _key(address: Address, parts: Sequence[str]) -> tuple[Any, ...]:
    return tuple(getattr(address, part) for part in parts)
