"""What should someone with K votes an item train on, and how sure are we? Five sentences, from the ledger alone.

Which sentence is said follows from verdicts, by the tables below; nothing is chosen by hand. Of each claim the audited
protocol is asked first, and the published one where that leaves it open. Before all seeds are there, nothing is shown,
and nothing is called open: how far it is, and what it looks like so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dissensus.base.words import listed, many
from dissensus.experiment.claims.claim import metric_title, read_claims
from dissensus.experiment.claims.ledger import CONTRADICTED, SUPPORTED, UNDECIDED, Judged, Ledger, Measured, Row
from dissensus.experiment.claims.soft_labels_answer import soft_labels_answer
from dissensus.experiment.papers import Evidence, read_paper

FIRST_ASKED = ("audited", "published")
COUNTED = ("published", "last", "audited", "audited-last")
JUDGED = (SUPPORTED, CONTRADICTED, UNDECIDED)


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
    """The row of a claim that is spoken of: one that is decided, else judged, else begun; the audited one of equals."""
    rows = [ledger.row(claim, view) for view in FIRST_ASKED]
    decided = [row for row in rows if row.verdict != UNDECIDED]
    judged = [row for row in rows if row.standing in JUDGED]
    return (decided or judged or [row for row in rows if row.begun] or rows)[0]


def _few(ledger: Ledger) -> str:
    row = asked(ledger, "B4")
    part = row.deciding[0]
    better = f"their soft NLL is {_better(part.cells)}"
    if row.standing not in JUDGED:
        return f"With few votes an item, whether hard labels beat soft ones is {_not_yet(row, better)}."
    won, lost, of = _count(part, SUPPORTED), _count(part, CONTRADICTED), len(part.cells)
    lose = f"With few votes an item, hard labels are no gain over soft ones: they lose in {lost} of {of} cells"
    lose += ", and win in none" if not won else ""
    depends = f"With few votes an item, it depends: hard labels win in {won} of {of} cells, and lose in {lost}"
    return {
        SUPPORTED: f"With few votes an item, train on hard labels: at every number of votes that was tried they beat "
        f"soft labels, and {better} ({_by(ledger, row)}).",
        CONTRADICTED: f"{depends if won else lose}; {better} ({_by(ledger, row)}).",
        UNDECIDED: f"With few votes an item, it is open whether hard labels always beat soft ones: they win in "
        f"{won or 'none'} of {of} cells, and lose in {lost or 'none'}; {better} ({_by(ledger, row)}).",
    }[row.verdict]


def _all(ledger: Ledger) -> str:
    row = asked(ledger, "B1")
    cells = row.deciding[0].cells
    nll = next((cell for cell in cells if cell.metric == "soft_nll"), None)
    less = f"soft NLL of SLS less that of soft labels is {nll.text if nll else ''}"
    if row.standing not in JUDGED:
        return f"With all votes, whether SLS and soft labels are on a par is {_not_yet(row, less)}."
    beyond = [f"{metric_title(cell.metric)} {cell.text}" for cell in cells if cell.verdict == CONTRADICTED]
    told = {
        SUPPORTED: f"With all votes, take SLS or soft labels: they are the same within the margins, and {less}",
        CONTRADICTED: "With all votes, SLS and soft labels are not on a par, beyond the margin SLS less soft labels: "
        f"{', '.join(beyond)}",
        UNDECIDED: "With all votes, it was neither shown that SLS and soft labels are the same within the margins nor "
        f"that they differ by more: {less}, {_side(nll)}",
    }[row.verdict]
    return f"{told} ({_by(ledger, row)}); {_majority(ledger)}."


def _side(nll: Measured | None) -> str:
    """Which is better, where the interval says so: more than nothing and more than a margin are two questions."""
    margin = f"{_margin('B1'):g}"
    if nll is None or nll.low is None or nll.high is None or nll.low <= 0 <= nll.high:
        return f"with a margin of {margin}"
    better = "SLS is" if nll.high < 0 else "soft labels are"
    return f"so {better} better, and whether by more than the margin of {margin} is open"


def _margin(claim: str, metric: str = "soft_nll") -> float:
    return read_claims("basins")[claim].parts[0].margins[metric]


def _majority(ledger: Ledger) -> str:
    """Of the part of B2 that is about majority vote alone: the audited protocol has no label smoothing."""
    rows = [ledger.row("B2", view) for view in FIRST_ASKED]
    row = next((row for row in rows if row.deciding[0].verdict != UNDECIDED), asked(ledger, "B2"))
    part = row.deciding[0]
    if part.early:
        return "whether majority vote loses to both is not known yet (B2)"
    told = {
        SUPPORTED: "majority vote loses to both on every metric",
        CONTRADICTED: "majority vote does not lose to both on every metric",
        UNDECIDED: "whether majority vote loses to both on every metric is open",
    }[part.verdict]
    whole = all(one.stage != "not planned" for one in row.deciding)
    return f"{told} ({'' if whole else 'a part of '}B2, {row.protocol} protocol)"


def _which(ledger: Ledger) -> str:
    row, same = asked(ledger, "B22"), asked(ledger, "B8")
    part = next(one for one in row.deciding if one.part == "the default is not worse")
    if part.early:
        so_far = f"the soft NLL of multipass is {_better(part.cells)} than that of SLS"
        return f"Which hard delivery to take is {_not_yet(row, so_far, part)}."
    multipass = {
        SUPPORTED: "Of the hard deliveries, multipass is a safe default where the votes themselves are at hand: it is "
        "not worse than SLS",
        CONTRADICTED: "Of the hard deliveries, multipass is no safe default: somewhere it is worse than SLS by more "
        "than the margin",
        UNDECIDED: "Of the hard deliveries, it is open whether multipass is a safe default, never worse than SLS by "
        "more than the margin",
    }[part.verdict]
    whole = any("deterministic-control" in cell.cell for cell in same.deciding[0].cells)
    those = "the hard deliveries" if whole else "SLS and multipass"  # the audited protocol has no other
    families: dict[str, str] = {
        SUPPORTED: f"and with all votes {those} are the same: SLS will do where only probabilities exist",
        CONTRADICTED: f"and with all votes {those} differ by more than the margins",
        UNDECIDED: f"and it was not shown that {those} are the same with all votes",
    }
    not_yet = f"and whether {those} are the same with all votes is not known yet"
    family = families.get(same.standing, not_yet)
    advice = {"too few runs": "is not judged yet"}.get(row.standing, f"is {row.standing}")
    return (
        f"{multipass}, {family} (B8, {same.protocol} protocol); the paper's advice to take them in place of soft "
        f"labels {advice} ({_by(ledger, row)})."
    )


def _sharpness(ledger: Ledger) -> str:
    row = asked(ledger, "A1")
    left = f"after a temperature the soft NLL of hard labels is {_better(row.deciding[0].cells)}"
    if row.standing not in JUDGED:
        return f"Whether the gain with few votes is more than sharpness is {_not_yet(row, left)}."
    before = [cell.mean for cell in ledger.row("B4", row.view).deciding[0].cells if cell.cell.startswith(_FEWEST)]
    if row.verdict == CONTRADICTED and all(mean is None or mean <= 0 for mean in before):
        return f"With 5 and 10 votes there is no gain of hard labels that could be sharpness ({_by(ledger, row)})."
    return {
        SUPPORTED: f"The gain with few votes is more than sharpness: {left} ({_by(ledger, row)}).",
        CONTRADICTED: f"The gain with few votes is mostly sharpness, which one fitted temperature mends as well: "
        f"{left} ({_by(ledger, row)}).",
        UNDECIDED: f"Whether the gain with few votes is more than sharpness is open: {left} ({_by(ledger, row)}).",
    }[row.verdict]


def _how_sure(ledger: Ledger, evidence: Evidence) -> str:
    seeds = {cell.seed for cell in evidence.runs.values()}
    paper = read_paper(ledger.paper)
    planned, made = len(paper.cells()), len(evidence.runs)
    of = f" of {planned}" if made < planned and evidence.comparable(paper) else ""  # a smoke test is no part of them
    trainings = f"{made}{of} trainings" if of else many(made, "training")
    lost = f", of which {len(evidence.diverged)} diverged" if evidence.diverged else ""
    runs = f"{trainings}{lost}, {many(len(seeds), 'seed')}" if seeds else "no training yet"
    return (
        f"Of the paper's claims, {_counts(ledger)}. That is from {runs}, one data set and one architecture, with "
        "simulated few votes; B13, which is arithmetic and needs no training, is among them each time."
    )


def _counts(ledger: Ledger) -> str:
    told = {view: _verdicts(ledger.under(view)) for view in COUNTED}
    same = (told["last"], told["audited-last"]) == (told["published"], told["audited"])
    last = "both come to the same" if same else f"the first {told['last']}; the second {told['audited-last']}"
    return (
        f"its own protocol {told['published']}; the audited one {told['audited']}. At the last epoch, where "
        f"nothing was selected, {last}"
    )


_FEWEST = ("5 votes", "10 votes")
_SHORT = {
    "published": "published protocol",
    "last": "published, last epoch",
    "audited": "audited protocol",
    "audited-last": "audited, last epoch",
}


def _not_yet(row: Row, so_far: str, part: Judged | None = None) -> str:
    """How far it is, and what it looks like: never a verdict."""
    if not row.begun:
        return f"not known yet: nothing was run ({row.claim})"
    part = part or next(one for one in row.deciding if one.early)
    why = part.reason.partition(";")[0]
    looks = f", and so far {so_far}" if part.seeds else ""
    return f"not known yet: {why}{looks} ({row.claim}, {row.protocol} protocol)"


def _verdicts(rows: Sequence[Row]) -> str:
    told = [row for row in rows if not row.ours]
    every, part = (Counter[str](row.standing for row in some) for some in (told, [row for row in told if row.in_part]))
    number = {one: f"{every[one]}{f' ({part[one]} in part)' * bool(part[one])}" for one in JUDGED}
    verdicts = [f"supports {number[SUPPORTED]}", f"contradicts {number[CONTRADICTED]}"]
    verdicts.append(f"leaves {number[UNDECIDED]} undecided")
    if open_ := every.total() - sum(every[verdict] for verdict in JUDGED):
        verdicts.append(f"does not judge {open_}")
    return listed(verdicts)


def _by(ledger: Ledger, row: Row) -> str:
    """Which row it is, and which other views say otherwise, or nothing yet."""
    others = [other for view in COUNTED if (other := ledger.row(row.claim, view)).verdict != row.verdict]
    told = [f"{_SHORT[other.view]}: {other.standing}" for other in others if row.verdict != UNDECIDED]
    return "; ".join([f"{row.claim}, {row.protocol} protocol, {many(row.seeds, 'seed')}", *told])


def _count(part: Judged, verdict: str) -> int:
    return sum(cell.verdict == verdict for cell in part.cells)


def _better(cells: Sequence[Measured]) -> str:
    """Differences that are gains above 0, in words without a sign.

    >>> def cells(*means): return [Measured("", "kl", "difference", "", m, m, m, 1, 1, 1, 9, UNDECIDED) for m in means]
    >>> print(_better(cells(0.0212, 0.059)), _better(cells(-0.052, -0.015)), _better(cells(-0.008, 0.009)), sep="; ")
    0.021 to 0.059 nats better; 0.015 to 0.052 nats worse; between 0.008 nats worse and 0.009 nats better
    """
    means = sorted(round(cell.mean, 3) for cell in cells if cell.mean is not None)
    if not means:
        return "not measured yet"
    low, high = (f"{abs(mean):.3f}" for mean in (means[0], means[-1]))
    if means[0] < 0 < means[-1] and low != high:
        return f"between {low} nats worse and {high} nats better"
    if means[0] < 0 < means[-1]:
        return f"at most {low} nats better or worse"
    first, second = sorted((low, high), key=float)
    span = first if first == second else f"{first} to {second}"
    return f"{span} nats {'better' if means[0] >= 0 else 'worse'}"
