"""What should someone with K votes an item train on, and how sure are we? Five answers, from the ledger alone.

Of each claim the audited protocol is asked first, and the published one where that leaves it open. Before all seeds are
there, nothing is shown, and nothing is called open: how far it is, and what it looks like so far.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from dissensus.base.words import listed, many
from dissensus.experiment.claims.answers.answer import Answer
from dissensus.experiment.claims.claim import metric_title, read_claims
from dissensus.experiment.claims.ledger import CONTRADICTED, SUPPORTED, UNDECIDED, Judged, Ledger, Measured, Row
from dissensus.experiment.papers import Evidence, read_paper

FIRST_ASKED = ("audited", "published")
VIEWS = {
    "published": "published protocol",
    "last": "published protocol, last epoch",
    "audited": "audited protocol",
    "audited-last": "audited protocol, last epoch",
}
METHODS_IN_WORDS = {"sls": "SLS", "soft": "soft labels"}
JUDGED = (SUPPORTED, CONTRADICTED, UNDECIDED)


def basins_answers(ledger: Ledger, evidence: Evidence) -> list[Answer]:
    """Few votes, all votes, which hard delivery, whether it is sharpness, and how sure all that is."""
    return [_few(ledger), _all(ledger), _which(ledger), _sharpness(ledger), _how_sure(ledger, evidence)]


def asked(ledger: Ledger, claim: str) -> Row:
    """The row of a claim that is spoken of: one that is decided, else judged, else begun; the audited one of equals."""
    rows = [ledger.row(claim, view) for view in FIRST_ASKED]
    decided = [row for row in rows if row.verdict != UNDECIDED]
    judged = [row for row in rows if row.standing in JUDGED]
    return (decided or judged or [row for row in rows if row.begun] or rows)[0]


def _few(ledger: Ledger) -> Answer:
    row, question = asked(ledger, "B4"), "With few votes an item?"
    part = row.deciding[0]
    better = f"{_with(part.cells)}their soft NLL is {_better(part.cells)}"
    if row.standing not in JUDGED:
        return Answer(question, f"Whether hard labels beat soft ones is {_not_yet(row, better)}.")
    won, lost, of = _count(part, SUPPORTED), _count(part, CONTRADICTED), len(part.cells)
    depends = f"It depends: hard labels win in {won} of {of} comparisons, and lose in {lost}"
    lose = f"Hard labels are no gain over soft ones: they win in none of {of} comparisons, and lose in {lost}"
    told = {
        SUPPORTED: "Train on hard labels: at every number of votes that was tried they beat soft labels",
        CONTRADICTED: depends if won else lose,
        UNDECIDED: f"It is open whether hard labels always beat soft ones: they win in {won or 'none'} of {of} "
        f"comparisons, and lose in {lost or 'none'}",
    }[row.verdict]
    return _answered(ledger, row, question, f"{told}; {better} (B4)")


def _all(ledger: Ledger) -> Answer:
    row, question = asked(ledger, "B1"), "With all votes?"
    cells = row.deciding[0].cells
    nll = next((cell for cell in cells if cell.metric == "soft_nll"), None)
    less = f"soft NLL of SLS less that of soft labels is {nll.text if nll else ''}"
    if row.standing not in JUDGED:
        return Answer(question, f"Whether SLS and soft labels are on a par is {_not_yet(row, less)}.")
    beyond = [f"{metric_title(cell.metric)} {cell.text}" for cell in cells if cell.verdict == CONTRADICTED]
    told = {
        SUPPORTED: "Take SLS or soft labels: they are the same within the margins (B1)",
        CONTRADICTED: f"SLS and soft labels are not on a par; beyond the margin is {listed(beyond)} (B1, SLS less soft "
        "labels)",
        UNDECIDED: f"{_open(nll)} (B1)",
    }[row.verdict]
    majority, of_which = _majority(ledger)
    more = (f"{less[:1].upper()}{less[1:]}.", of_which)
    return _answered(ledger, row, question, f"{told}. {majority[:1].upper()}{majority[1:]}", *more)


def _open(nll: Measured | None) -> str:
    """Which is better, where the interval says so: more than nothing and more than a margin are two questions."""
    margin = f"{read_claims('basins')['B1'].parts[0].margins['soft_nll']:g}"
    neither = f"It was not shown that SLS and soft labels are the same within the margins ({margin} of soft NLL)"
    if nll is None or nll.mean is None or nll.low is None or nll.high is None or nll.low <= 0 <= nll.high:
        return neither
    lower = "Soft NLL of SLS is lower than that of soft labels" if nll.high < 0 else "Soft NLL of SLS is higher"
    low, high = sorted((abs(nll.low), abs(nll.high)))
    by = f"by {abs(nll.mean):.3f} [{low:.3f}, {high:.3f}] nats"
    return f"{lower}, {by}; whether by more than the margin of {margin} is open"


def _majority(ledger: Ledger) -> tuple[str, str]:
    """Of the part of B2 that is about majority vote alone; the audited protocol has no label smoothing."""
    rows = [ledger.row("B2", view) for view in FIRST_ASKED]
    row = next((row for row in rows if row.deciding[0].verdict != UNDECIDED), asked(ledger, "B2"))
    part = row.deciding[0]
    if part.early:
        return "whether majority vote loses to both is not known yet (B2)", ""
    told = {
        SUPPORTED: "majority vote loses to both on all five metrics of B2",
        CONTRADICTED: "majority vote does not lose to both on all five metrics of B2",
        UNDECIDED: "whether majority vote loses to both on all five metrics of B2 is open",
    }[part.verdict]
    whole = all(one.stage != "not planned" for one in row.deciding)
    return told + _nearer(row), f"Majority vote: {'' if whole else 'a part of '}B2, {VIEWS[row.view]}."


def _nearer(row: Row) -> str:
    """By which distances majority vote is nearer to people, though KL says farther."""
    than: dict[str, list[str]] = {}
    for cell in next(part for part in row.parts if part.part == "other distances").cells:
        if cell.verdict == CONTRADICTED:
            distance, _, method = cell.cell.rpartition(", ")
            than.setdefault(distance, []).append(METHODS_IN_WORDS[method])
    told = [f"by {distance}, than {listed(methods)}" for distance, methods in than.items()]
    return f", yet it is nearer to people {listed(told)}" if told else ""


def _which(ledger: Ledger) -> Answer:
    row, same, question = asked(ledger, "B22"), asked(ledger, "B8"), "Which hard delivery?"
    part = next(one for one in row.deciding if one.part == "the default is not worse")
    if part.early:
        so_far = f"the soft NLL of multipass is {_better(part.cells)} than that of SLS"
        return Answer(question, f"Which to take is {_not_yet(row, so_far, part)}.")
    multipass = {
        SUPPORTED: "Multipass is a safe default where the votes themselves are at hand: it is not worse than SLS (B22)",
        CONTRADICTED: "Multipass is no safe default: somewhere it is worse than SLS by more than the margin (B22)",
        UNDECIDED: "It is open whether multipass is a safe default, never worse than SLS by more than the margin (B22)",
    }[part.verdict]
    whole = any("deterministic-control" in cell.cell for cell in same.deciding[0].cells)
    those = "the hard deliveries" if whole else "SLS and multipass"  # the audited protocol has no other
    families: dict[str, str] = {
        SUPPORTED: f"with all votes {those} are the same, so SLS will do where only probabilities exist (B8)",
        CONTRADICTED: f"with all votes {those} differ by more than the margins (B8)",
        UNDECIDED: f"it was not shown that {those} are the same with all votes (B8)",
    }
    not_yet = f"whether {those} are the same with all votes is not known yet (B8)"
    advice = {"too few runs": "is not judged yet"}.get(row.standing, f"is {row.standing}")
    return _answered(
        ledger,
        row,
        question,
        f"{multipass}; {families.get(same.standing, not_yet)}",
        f"The paper's advice to take them in place of soft labels {advice}.",
        f"B8 is of the {VIEWS[same.view]}.",
    )


def _sharpness(ledger: Ledger) -> Answer:
    row, question = asked(ledger, "A1"), "Is the gain with few votes more than sharpness?"
    cells = row.deciding[0].cells
    left = f"{_with(cells)}after a temperature the soft NLL of hard labels is {_better(cells)}"
    if row.standing not in JUDGED:
        return Answer(question, f"That is {_not_yet(row, left)}.")
    before = [cell.mean for cell in ledger.row("B4", row.view).deciding[0].cells if cell.cell.startswith(_FEWEST)]
    if row.verdict == CONTRADICTED and all(mean is None or mean <= 0 for mean in before):
        return _answered(ledger, row, question, "With 5 and 10 votes there is no gain that could be sharpness (A1)")
    told = {
        SUPPORTED: f"Yes: {left}",
        CONTRADICTED: f"Mostly not, and one fitted temperature mends that as well: {left}",
        UNDECIDED: f"That is open: {left}",
    }[row.verdict]
    return _answered(ledger, row, question, f"{told} (A1)")


def _how_sure(ledger: Ledger, evidence: Evidence) -> Answer:
    seeds = {cell.seed for cell in evidence.runs.values()}
    paper = read_paper(ledger.paper)
    planned, made = len(paper.cells()), len(evidence.runs)
    of = f" of {planned}" if made < planned and evidence.comparable(paper) else ""  # a smoke test is no part of them
    trainings = f"{made}{of} trainings" if of else many(made, "training")
    lost = f", of which {len(evidence.diverged)} diverged" if evidence.diverged else ""
    runs = f"{many(len(seeds), 'seed')} and {trainings}{lost}" if seeds else "no training yet"
    told = {view: _verdicts(ledger.under(view)) for view in VIEWS}
    same = (told["last"], told["audited-last"]) == (told["published"], told["audited"])
    last = "both come to the same" if same else f"the first {told['last']}; the second {told['audited-last']}"
    return Answer(
        "How sure is that?",
        f"From {runs}, the paper's own protocol {told['published']} of its claims; the audited one {told['audited']}.",
        (
            f"At the last epoch, where nothing was selected, {last}.",
            "One data set and one architecture, with simulated few votes.",
            "B13, which is arithmetic and needs no training, is among those that are supported.",
        ),
    )


_FEWEST = ("5 votes", "10 votes")


def _not_yet(row: Row, so_far: str, part: Judged | None = None) -> str:
    """How far it is, and what it looks like: never a verdict."""
    if not row.begun:
        return f"not known yet: nothing was run ({row.claim})"
    part = part or next(one for one in row.deciding if one.early)
    why = part.reason.partition(";")[0]
    looks = f", and so far {so_far}" if part.seeds else ""
    return f"not known yet: {why}{looks} ({row.claim}, {VIEWS[row.view]})"


def _verdicts(rows: Sequence[Row]) -> str:
    told = [row for row in rows if not row.ours]
    every, part = (Counter[str](row.standing for row in some) for some in (told, [row for row in told if row.in_part]))
    number = {one: f"{every[one]}{f' ({part[one]} in part)' * bool(part[one])}" for one in JUDGED}
    if [row.claim for row in told if row.standing == SUPPORTED] == ["B13"]:
        number[SUPPORTED] += " (B13, which is arithmetic and needs no training)"
    verdicts = [f"supports {number[SUPPORTED]}", f"contradicts {number[CONTRADICTED]}"]
    verdicts.append(f"leaves {number[UNDECIDED]} undecided")
    if open_ := every.total() - sum(every[verdict] for verdict in JUDGED):
        verdicts.append(f"does not judge {open_}")
    return listed(verdicts)


def _answered(ledger: Ledger, row: Row, question: str, short: str, *more: str) -> Answer:
    """With what it rests on, and which other views say nothing yet; one that says the opposite is told in short."""
    others = [other for view in VIEWS if (other := ledger.row(row.claim, view)).verdict != row.verdict]
    others = [other for other in others if row.verdict != UNDECIDED]
    against = [other for other in others if other.verdict != UNDECIDED]
    if against:
        by = listed([f"the {VIEWS[other.view]}" for other in against])
        short += f"; but {row.claim} is {against[0].verdict} by {by}"
    told = [f"{VIEWS[other.view]}: {other.standing}" for other in others if other not in against]
    rests = "; ".join([f"{row.claim}: {VIEWS[row.view]}, {many(row.seeds, 'seed')}", *told])
    return Answer(question, f"{short}.", tuple(filter(None, (*more, f"{rests}."))))


def _count(part: Judged, verdict: str) -> int:
    return sum(cell.verdict == verdict for cell in part.cells)


def _with(cells: Sequence[Measured]) -> str:
    """The numbers of votes of cells that are called "5 votes, sls", so that spans over other numbers are told apart."""
    measured = dict.fromkeys(cell.cell.partition(" votes")[0] for cell in cells if cell.mean is not None)
    return f"with {listed(list(measured))} votes " if measured else ""


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
