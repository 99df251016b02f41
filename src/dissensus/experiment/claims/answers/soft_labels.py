"""Do soft labels keep what people disagree about, and how many votes does it take? From ledger and evidence alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dissensus.base.words import listed, many
from dissensus.experiment.claims.answers.answer import Answer
from dissensus.experiment.claims.answers.hard_delivery import hard_delivery
from dissensus.experiment.claims.answers.rows import (
    ADDED,
    MEANS,
    TEMPERED,
    by_numbers,
    judged_rows,
    rows_of,
    where,
)
from dissensus.experiment.claims.answers.votes_needed import votes_needed
from dissensus.experiment.claims.claim import read_claims
from dissensus.experiment.claims.guard import lead
from dissensus.experiment.claims.ledger import CONTRADICTED, SUPPORTED, UNDECIDED, Ledger, Measured, Row
from dissensus.experiment.papers import Evidence, read_paper

ASKED = {
    "S1": "Do soft labels bring models nearer to people, in KL?",
    "A1": "Is most of that more than sharpness, which a temperature would mend?",
    "S2": "Does a model's entropy follow that of people more closely?",
    "S5": "Are models less falsely confident where people disagree most?",
    "S3": "Does accuracy stay the same?",
    "S4": "Do models overfit less?",
}
SAID = {SUPPORTED: "yes", CONTRADICTED: "no", UNDECIDED: "undecided"}
FEW = 2  # so many are told by name


def soft_labels_answers(ledger: Ledger, evidence: Evidence) -> list[Answer]:
    """Distance to people, their uncertainty, what it costs, hard delivery, and votes needed."""
    return [
        *(_told(ledger, evidence, claim) for claim in ASKED),
        hard_delivery(ledger),
        votes_needed(evidence),
        _how_sure(ledger, evidence),
    ]


def _told(ledger: Ledger, evidence: Evidence, claim: str) -> Answer:
    """Where a claim holds, of the data sets and models that have learned enough to tell."""
    question, alone = ASKED[claim], rows_of(ledger, claim)
    if not alone:
        return Answer(question, f"Not known yet: nothing was run ({claim}).")
    judged = [row for row in alone if not row.barred]
    found = {verdict: [row for row in judged if row.verdict == verdict] for verdict in SAID}
    said = [f"{SAID[verdict]} on {_counted(rows, judged)}" for verdict, rows in found.items() if rows]
    short = "; ".join(said) or "undecided, since no model has learned enough to tell"
    many_of = {verdict: rows for verdict, rows in found.items() if len(rows) > FEW}
    more = [f"{verdict[:1].upper()}{verdict[1:]} on {_names(rows)}." for verdict, rows in many_of.items()]
    more += [f"Contradicted on {row.view}, {refuted(row, evidence)}." for row in found[CONTRADICTED]]
    more += _averages(ledger, claim)
    other = list(_farther(ledger)) if claim == "S1" else []
    but = "".join(f" {one.short}" for one in other)
    return Answer(question, f"{short[:1].upper()}{short[1:]} ({claim}).{but}", (*more, *(one.text for one in other)))


def _counted(rows: Sequence[Row], judged: Sequence[Row]) -> str:
    """By name, where they are few."""
    if len(rows) <= FEW:
        return _names(rows)
    some = f"{len(rows)} of the" if len(rows) < len(judged) else "all"
    return f"{some} {len(judged)} that have learned enough to tell"


def _names(rows: Sequence[Row]) -> str:
    return listed([row.view for row in rows])


def _averages(ledger: Ledger, claim: str) -> Iterator[str]:
    """Those of enough models that have learned enough."""
    for view in MEANS:
        row = ledger.row(claim, view)
        if row.seeds and not row.barred:
            yield f"{row.verdict[:1].upper()}{row.verdict[1:]} {where(row)}: {row.measured}."


def refuted(row: Row, evidence: Evidence) -> str:
    """The numbers of the parts that contradict a claim, then of the others; and what has to be known with them."""
    parts = sorted(row.deciding, key=lambda part: part.verdict != CONTRADICTED)
    told = [part.measured + f", {part.verdict}" * (part.verdict != CONTRADICTED) for part in parts]
    known = KNOWN_WITH[row.claim](evidence, row.protocol) if row.claim in KNOWN_WITH else ""
    claimed = "×1" if any(cell.scale == "factor" for part in parts for cell in part.cells) else "0"
    return f"where the claim says above {claimed}: {'; '.join(filter(None, [*told, known]))}"


def _doubtful(evidence: Evidence, protocol: str) -> str:
    """Of a model that is less sure than people where they disagree most, with either labels: nothing false to mend."""
    gaps = [
        evidence.numbers("entropy_gap", protocol=protocol, method=method, slice="disputed").values()
        for method in ("majority", "soft")
    ]
    hard, soft = (sum(one) / len(one) if one else 0.0 for one in gaps)
    if min(hard, soft) <= 0:
        return ""
    return (
        f"both arms are less sure there than people, by {hard:.2f} nats of entropy with majority labels and {soft:.2f} "
        "with soft ones, so there is no false confidence to mend"
    )


KNOWN_WITH = {"S5": _doubtful}
"""What has to be known with the numbers that contradict a claim."""


@dataclass(frozen=True)
class Farther:
    """A distance by which soft labels are farther from people, though KL says nearer. It decides nothing."""

    metric: str
    reading: str  # as trained, or with a temperature
    worse: list[tuple[Row, Measured]]
    mended: list[Row]  # those of them on which a temperature in both arms turns it round

    @property
    def short(self) -> str:
        """By the sets and models alone; by means, where it is so of these only."""
        rows = [row for row, _ in self.worse]
        alone = [row for row in rows if row.view not in MEANS] or rows
        farther = f"soft labels {self.reading} are farther from people {_at(alone)}"
        return f"By {self.metric}, which decides no verdict, {farther}."

    @property
    def text(self) -> str:
        """With sizes, and what a temperature does to them."""
        by = sorted(100 * (1 / cell.mean - 1) for _, cell in self.worse if cell.mean)
        span = " to ".join(dict.fromkeys(f"{share:.0f}" for share in (by[0], by[-1])))
        but = f"; {TEMPERED} in both arms they are nearer {_at(self.mended)}" if self.mended else ""
        worse = _at([row for row, _ in self.worse])
        return f"By {self.metric}, soft labels {self.reading} are {span} % farther from people {worse}{but}."


def _at(rows: Sequence[Row]) -> str:
    return listed([where(row) for row in rows])


def _farther(ledger: Ledger) -> Iterator[Farther]:
    found: dict[tuple[str, str], list[tuple[Row, Measured]]] = {}
    for row in judged_rows(ledger, "S1"):
        for cell in next(part for part in row.parts if part.part == "other distances").cells:
            metric, _, reading = cell.cell.partition(", ")
            found.setdefault((metric, reading), []).append((row, cell))
    for (metric, reading), cells in found.items():
        if worse := [(row, cell) for row, cell in cells if cell.verdict == CONTRADICTED]:
            mended = {row.view for row, cell in found.get((metric, TEMPERED), []) if cell.verdict == SUPPORTED}
            yield Farther(metric, reading, worse, [row for row, _ in worse if row.view in mended])


def _how_sure(ledger: Ledger, evidence: Evidence) -> Answer:
    question = "How sure is that?"
    run, planned = {cell.protocol for cell in evidence.runs.values()}, read_paper("soft-labels").protocols
    protocols = [name for name in planned if name in run]
    if not protocols:
        return Answer(question, "Nothing was run yet.")
    guard = read_claims("soft-labels")["S1"].guard
    assert guard is not None
    leads = {name: lead(guard, name, "best", evidence) for name in protocols}
    weak = [name for name, value in leads.items() if value is not None and value < guard.by]
    seeds = len({cell.seed for cell in evidence.runs.values()})
    lost = f", of which {len(evidence.diverged)} diverged" if evidence.diverged else ""
    sets = f"{len(protocols)} of {len(planned)} data sets and models"
    short = f"From {len(evidence.runs):,} trainings{lost}, {many(seeds, 'seed')}, {sets}."
    more = []
    if weak:
        short += (
            f" On {len(weak)} of them nothing of {', '.join(_compare_with_it())} is decided, whatever the numbers: the "
            f"hard arm does not {guard.says}."
        )
        more.append(f"Nothing is decided on {listed(weak)}.")
    more += [*_alone(ledger), *_no_averages(ledger)]
    if any(row.added and row.seeds and not row.barred for row in (ledger.row("S1", view) for view in MEANS)):
        more.append(f"† {ADDED[0].upper()}{ADDED[1:]}.")
    return Answer(question, short, tuple(more))


def _alone(ledger: Ledger) -> Iterator[str]:
    """What the numbers would say where the model has learned too little for them to count."""
    told = []
    for claim in ASKED:
        counted = Counter(by_numbers(row) for row in rows_of(ledger, claim) if row.barred)
        if said := [f"{verdict} on {counted[verdict]}" for verdict in (SUPPORTED, CONTRADICTED) if counted[verdict]]:
            told.append(f"{claim} {' and '.join(said)}")
    if told:
        yield f"By the numbers alone there would be {listed(told)} of them."


def _no_averages(ledger: Ledger) -> Iterator[str]:
    """Those that were run, and of which fewer than two models have learned enough."""
    barred = [words for view, words in MEANS.items() if (row := ledger.row("S1", view)).seeds and row.barred]
    if barred:
        yield f"Means over {listed(barred)} decide nothing: of each, fewer than two models have learned enough."


def _compare_with_it() -> list[str]:
    """The claims that need a hard arm which has learned something; the others have a guard of their own, or none."""
    claims = read_claims("soft-labels")
    return [claim.name for claim in claims.claims if claim.guard == claims["S1"].guard]
