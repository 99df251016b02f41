"""What should someone with K votes an item train on, and how sure are we? Five sentences, from the ledger alone.

Which sentence is said follows from verdicts, by the tables below; nothing is chosen by hand. Of each claim the audited
protocol is asked first, and the published one where that leaves it open.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from dissensus.base.words import listed, many
from dissensus.experiment.claims.claim import metric_title
from dissensus.experiment.claims.ledger import CONTRADICTED, SUPPORTED, UNDECIDED, Judged, Ledger, Measured, Row
from dissensus.experiment.claims.soft_labels_answer import soft_labels_answer
from dissensus.experiment.papers import Evidence

FIRST_ASKED = ("audited", "published")
COUNTED = ("published", "audited", "last")


def answer(ledger: Ledger, evidence: Evidence) -> list[str]:
    """Of Basins: few votes, all votes, which hard delivery, whether it is sharpness, and how sure all that is.

    >>> from dissensus.experiment.claims.judge import judge_claims
    >>> from dissensus.experiment.papers import read_paper
    >>> nothing = Evidence({})
    >>> print(answer(judge_claims(nothing, read_paper("basins")), nothing)[0])
    With few votes an item, whether hard labels beat soft ones is not known yet: nothing was run (B4).
    """
    if ledger.paper == "soft-labels":
        return soft_labels_answer(ledger, evidence)
    return [_few(ledger), _all(ledger), _which(ledger), _sharpness(ledger), _how_sure(ledger, evidence)]


def asked(ledger: Ledger, claim: str) -> Row:
    """The row of a claim that is spoken of: audited where that decides or only that was measured, else published."""
    rows = [ledger.row(claim, view) for view in FIRST_ASKED]
    decided = [row for row in rows if row.verdict != UNDECIDED]
    started = [row for row in rows if row.seeds]
    return (decided or started or rows)[0]


def _few(ledger: Ledger) -> str:
    row = asked(ledger, "B4")
    if not row.seeds:
        return "With few votes an item, whether hard labels beat soft ones is not known yet: nothing was run (B4)."
    part = row.deciding[0]
    gain = f"soft NLL differs by {_range(part.cells)} nats in their favour"
    counted = (
        f"{_count(part, SUPPORTED)} of {len(part.cells)} cells for hard labels, {_count(part, CONTRADICTED)} against"
    )
    return {
        SUPPORTED: f"With few votes an item, train on hard labels: at every number of votes that was tried they beat "
        f"soft labels, and {gain} ({_by(ledger, row)}).",
        CONTRADICTED: f"With few votes an item, hard labels are not always better than soft ones: "
        f"{counted}, and {gain} ({_by(ledger, row)}).",
        UNDECIDED: f"With few votes an item, it is open whether hard labels always beat soft ones: "
        f"{counted}, and {gain} ({_by(ledger, row)}).",
    }[row.verdict]


def _all(ledger: Ledger) -> str:
    row, majority = asked(ledger, "B1"), asked(ledger, "B2")
    if not row.seeds:
        return "With all votes, whether SLS and soft labels are on a par is not known yet: nothing was run (B1)."
    cells = row.deciding[0].cells
    nll = "soft NLL of SLS less that of soft labels is " + next(one.text for one in cells if one.metric == "soft_nll")
    beyond = [f"{metric_title(cell.metric)} {cell.text}" for cell in cells if cell.verdict == CONTRADICTED]
    told = {
        SUPPORTED: f"With all votes, take SLS or soft labels: they are the same within the margins, and {nll}",
        CONTRADICTED: "With all votes, SLS and soft labels are not on a par, beyond the margin SLS less soft labels: "
        f"{', '.join(beyond)}",
        UNDECIDED: f"With all votes, it was neither shown that SLS and soft labels are the same nor that they are "
        f"not: {nll}",
    }[row.verdict]
    return f"{told} ({_by(ledger, row)}); {_majority(majority)}."


def _majority(row: Row) -> str:
    part = row.deciding[0]
    return {
        SUPPORTED: "majority vote loses to both on every metric (B2)",
        CONTRADICTED: "majority vote does not lose on every metric (B2)",
        UNDECIDED: "whether majority vote loses to both on every metric is open (B2)",
    }[part.verdict]


def _which(ledger: Ledger) -> str:
    row, same = asked(ledger, "B22"), asked(ledger, "B8")
    part = next(one for one in row.deciding if one.part == "the default is not worse")
    if not part.seeds:
        return "Which hard delivery to take is not known yet: nothing was run (B22)."
    multipass = {
        SUPPORTED: "Where the votes themselves are at hand, multipass is a safe default: it is not worse than SLS",
        CONTRADICTED: "Multipass is no safe default: somewhere it is worse than SLS by more than the margin",
        UNDECIDED: "It is open whether multipass is a safe default, never worse than SLS by more than the margin",
    }[part.verdict]
    family = {
        SUPPORTED: "and with all votes the hard deliveries are the same: SLS will do where only probabilities exist",
        CONTRADICTED: "and with all votes the hard deliveries differ by more than the margins",
        UNDECIDED: "and it was not shown that the hard deliveries are the same with all votes",
    }[same.verdict]
    return f"{multipass}, {family} ({_by(ledger, row)}; B8)."


def _sharpness(ledger: Ledger) -> str:
    row = asked(ledger, "A1")
    if not row.seeds:
        return "Whether the gain with few votes is more than sharpness is not known yet: nothing was run (A1)."
    left = _range(row.deciding[0].cells)
    before = [cell.mean for cell in ledger.row("B4", row.view).deciding[0].cells if cell.cell.startswith(_FEWEST)]
    if row.verdict == CONTRADICTED and all(mean is None or mean <= 0 for mean in before):
        return f"With 5 and 10 votes there is no gain of hard labels that could be sharpness ({_by(ledger, row)})."
    return {
        SUPPORTED: f"The gain with few votes is more than sharpness: after a temperature {left} nats of it are left "
        f"({_by(ledger, row)}).",
        CONTRADICTED: f"The gain with few votes is mostly sharpness, which one fitted temperature mends as well: after "
        f"it {left} nats are left ({_by(ledger, row)}).",
        UNDECIDED: f"Whether the gain with few votes is more than sharpness is open: after a temperature {left} nats "
        f"are left ({_by(ledger, row)}).",
    }[row.verdict]


def _how_sure(ledger: Ledger, evidence: Evidence) -> str:
    counts = "; ".join(f"{_VIEWS[view]} {_verdicts(ledger.under(view))}" for view in COUNTED)
    seeds = {cell.seed for cell in evidence.runs.values()}
    made = f"{many(len(evidence.runs), 'training')}, {many(len(seeds), 'seed')}"
    runs = made if seeds else "no training yet (B13 needs none)"
    return f"Of the paper's claims, {counts}: from {runs}, one data set and one architecture, with simulated few votes."


_FEWEST = ("5 votes", "10 votes")
_SHORT = {"published": "published protocol", "audited": "audited protocol", "last": "last epoch"}
_VIEWS = {
    "published": "by its own protocol",
    "audited": "by the audited one",
    "last": "and at the last epoch, where nothing was selected,",
}


def _verdicts(rows: Iterable[Row]) -> str:
    counted = Counter[str](row.standing for row in rows if not row.ours)
    are = "is" if counted[SUPPORTED] == 1 else "are"
    verdicts = [f"{counted[SUPPORTED]} {are} supported", f"{counted[CONTRADICTED]} contradicted"]
    verdicts.append(f"{counted[UNDECIDED]} undecided")
    if open_ := counted.total() - sum(counted[verdict] for verdict in (SUPPORTED, CONTRADICTED, UNDECIDED)):
        verdicts.append(f"{open_} not judged")
    return listed(verdicts)


def _by(ledger: Ledger, row: Row) -> str:
    """Which row it is, and which other views say otherwise."""
    others = [other for view in COUNTED if (other := ledger.row(row.claim, view)).verdict != row.verdict]
    told = [f"{_SHORT[other.view]}: {other.verdict}" for other in others if row.verdict != UNDECIDED]
    return "; ".join([f"{row.claim}, {row.protocol} protocol, {many(row.seeds, 'seed')}", *told])


def _count(part: Judged, verdict: str) -> int:
    return sum(cell.verdict == verdict for cell in part.cells)


def _range(cells: Sequence[Measured]) -> str:
    means = sorted(cell.mean for cell in cells if cell.mean is not None)
    if not means:
        return "an unknown number of"
    low, high = f"{means[0]:.3f}", f"{means[-1]:.3f}"
    return low if low == high else f"{low} to {high}"
