"""The numbers that stand in the paper's text and figures, beside ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from dissensus.report.paper.differences import in_words
from dissensus.report.paper.grid import Grid, Line, box, called, digits_of, record, votes_in_words
from dissensus.report.paper.measured import FEW, VOTES, BySeed, Sought, few_in_words, gap, measured
from dissensus.report.tables import Box, number

if TYPE_CHECKING:
    from dissensus.experiment.papers import Address, Paper
    from dissensus.experiment.papers.evidence import Evidence


def text_table(evidence: Evidence, paper: Paper) -> Grid:
    """A line a number: published, measured, at the last epoch, and under the audited protocol."""
    lines: list[Line] = []
    records: list[dict[str, Any]] = []
    few = 0
    for address in _addresses(paper):
        for sought in _sought(address):
            found = measured(evidence, sought)
            few = max(few, len(found.first(FEW).seeds))
            lines.append(_line(evidence, paper, address, sought, found))
            records.append(record(found, **asdict(sought), place=address.place, **_told(paper, address)))
    notes = (
        "Published numbers in brackets are the lowest and the highest seed. Where the paper does not say for how many "
        "votes, all of ours are shown.",
    )
    missing = "" if any(told["mean"] is not None for told in records) else "not run yet"
    head = ("", "", "published", f"measured, {few_in_words(few)}", "measured, all seeds", "last epoch", "audited")
    return Grid("text", "Numbers of the text and of the figures", head, tuple(lines), tuple(records), notes, missing)


def _addresses(paper: Paper) -> list[Address]:
    told = dict.fromkeys((*paper.published.numbers, *paper.published.ranges))
    figures = [address for address in told if address.place.startswith("figure")]
    return sorted(figures, key=lambda address: int(address.place.removeprefix("figure")))


def _sought(address: Address) -> Iterator[Sought]:
    """Of a number of sparse targets, one for each number of votes: with all votes there is none."""
    if address.metric == "js_gain":
        yield from (Sought.of(address).read(votes=votes) for votes in VOTES if votes != "all")
    else:
        yield Sought.of(address)


def _line(evidence: Evidence, paper: Paper, address: Address, sought: Sought, found: BySeed) -> Line:
    mean, span = paper.published.numbers.get(address), paper.published.ranges.get(address)
    unit = (mean or span).unit  # type: ignore[union-attr]
    digits = min(digits_of(address.metric, unit), 4 if unit == "nats" else 3)
    apart = gap(found, mean) if mean is not None and found and evidence.comparable(paper) else None
    boxes = (
        Box(
            number(mean.mean, digits) if mean else f"[{span.low:g}, {span.high:g}]" if span else "–",
            f"[{span.low:g}, {span.high:g}]" if mean and span else "",
        ),
        box(found.first(FEW), digits),
        _with_range(box(found, digits, differs=apart is not None and apart.differs), found, span is not None, digits),
        box(measured(evidence, sought.read(checkpoint="last")), digits),
        box(measured(evidence, sought.read(protocol="audited")), digits),
    )
    words = in_words(address) + (f", {votes_in_words(sought.votes)}" if sought.votes != address.votes else "")
    return Line(called(address.place), words, boxes)


def _with_range(shown: Box, found: BySeed, wanted: bool, digits: int) -> Box:
    if not (wanted and found):
        return shown
    low, high = min(found.values.values()), max(found.values.values())
    return replace(shown, detail=f"{shown.detail} seeds {number(low, digits)} to {number(high, digits)}")


def _told(paper: Paper, address: Address) -> dict[str, Any]:
    mean, span = paper.published.numbers.get(address), paper.published.ranges.get(address)
    return {
        "published": mean.mean if mean else None,
        "published_low": span.low if span else None,
        "published_high": span.high if span else None,
    }
