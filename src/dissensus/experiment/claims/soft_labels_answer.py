"""Do soft labels keep what people disagree about, and how many votes does it take? From ledger and evidence alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from dissensus.base.words import listed, many
from dissensus.experiment.claims.claim import metric_title, read_claims
from dissensus.experiment.claims.decide import combined
from dissensus.experiment.claims.enough import Enough, votes_enough
from dissensus.experiment.claims.guard import lead
from dissensus.experiment.claims.ledger import CONTRADICTED, SUPPORTED, UNDECIDED, Ledger, Measured, Row, Standing
from dissensus.experiment.papers import Evidence, Experiment, read_paper
from dissensus.metrics import METRICS

MEANS = {  # at the best epoch, for S1 to S5; over what
    "mean-frozen": "six text sets with a frozen encoder",
    "mean-fine-tuned": "six text sets with a fine-tuned encoder",
    "mean-paper": "the paper's own sets",
    "mean-all": "all that learned enough",
}
SAYS = {
    "S1": "soft labels bring models nearer to people",
    "A1": "what soft labels gain in KL is for the most part more than sharpness",
    "S2": "model entropy follows that of people more closely with soft labels",
    "S5": "soft labels make models less falsely confident where people disagree most",
    "S3": "accuracy stays the same",
    "S4": "soft labels overfit less",
}
READ = {"S1": ", also with a temperature in both arms"}  # what is added where a claim was run
TEXT = ("frozen", "fine-tuned")  # models of texts
EPOCH = {"best": "at the best epoch", "last": "at the last epoch, where none is chosen,"}
TEMPERED = "with a temperature"
EARLY: Standing = "too few runs"
NONE = "undecided, since no model has learned enough to tell"
ADDED = "added when results had been seen"
BESIDE = {"entropy_correlation_pearson": 0.05, "ece": 0.02}  # more metrics; their margins were added so, too


def soft_labels_answer(ledger: Ledger, evidence: Evidence) -> list[str]:
    """Distance to people, their uncertainty, what it costs, hard delivery, and votes needed.

    >>> from dissensus.experiment.claims.judge import judge_claims
    >>> nothing = Evidence({})
    >>> print(soft_labels_answer(judge_claims(nothing, read_paper("soft-labels")), nothing)[0])
    Whether soft labels bring models nearer to people (S1) is not known yet: nothing was run.
    """
    nearer, *others = (_told(ledger, evidence, claim) for claim in SAYS)
    return [
        f"{nearer} {farther(ledger)}".rstrip(),
        *others,
        f"Does hard delivery help on text (A3, A4; in nats of soft NLL)? {' '.join(hard_delivery(ledger))}",
        votes_sentence(evidence),
        _how_sure(ledger, evidence),
    ]


def rows_of(ledger: Ledger, claim: str, checkpoint: str = "best") -> list[Row]:
    """What was run of a claim, data set by data set and model by model."""
    protocols = read_paper("soft-labels").protocols
    rows = [row for row in ledger if row.claim == claim and row.protocol in protocols and row.seeds]
    return [row for row in rows if row.checkpoint == checkpoint]


def on_text(row: Row) -> bool:
    """Whether it is of a data set of texts."""
    return read_paper("soft-labels").protocols[row.protocol].model in TEXT


def by_numbers(row: Row) -> str:
    """What the numbers alone say, also where a model has learned too little for them to count."""
    return combined(row.parts)[0]


def refuted(row: Row, evidence: Evidence) -> str:
    """The numbers of the parts that contradict a claim, then of the others; and what has to be known with them."""
    parts = sorted(row.deciding, key=lambda part: part.verdict != CONTRADICTED)
    told = [part.measured + f", {part.verdict}" * (part.verdict != CONTRADICTED) for part in parts]
    known = KNOWN_WITH[row.claim](evidence, row.protocol) if row.claim in KNOWN_WITH else ""
    return "; ".join(filter(None, [*told, known]))


def farther(ledger: Ledger) -> str:
    """Where soft labels are farther from people by a distance that decides nothing; "" where nowhere."""
    found: dict[tuple[str, str], list[tuple[Row, Measured]]] = {}
    for row in judged_rows(ledger, "S1"):
        for cell in next(part for part in row.parts if part.part == "other distances").cells:
            metric, _, reading = cell.cell.partition(", ")
            found.setdefault((metric, reading), []).append((row, cell))
    told = []
    for (metric, reading), cells in found.items():
        worse = [(row, cell) for row, cell in cells if cell.verdict == CONTRADICTED]
        if not worse:
            continue
        by = sorted(100 * (1 / cell.mean - 1) for _, cell in worse if cell.mean)
        span = " to ".join(dict.fromkeys(f"{share:.0f}" for share in (by[0], by[-1])))
        mended = {row.view for row, cell in found.get((metric, TEMPERED), []) if cell.verdict == SUPPORTED}
        nearer = [where(row) for row, _ in worse if row.view in mended]
        but = f"; {TEMPERED} in both arms they are nearer {listed(nearer)}" if nearer else ""
        told.append(
            f"By {metric}, which decides no verdict, soft labels {reading} are {span} % farther from people "
            f"{listed([where(row) for row, _ in worse])}{but}."
        )
    return " ".join(told)


def judged_rows(ledger: Ledger, claim: str) -> list[Row]:
    """Those of data sets and models, and then of their means, that have learned enough for a verdict."""
    rows = [*rows_of(ledger, claim), *(ledger.row(claim, view) for view in MEANS)]
    return [row for row in rows if row.seeds and not row.barred]


def where(row: Row) -> str:
    """As it is spoken of: on a data set and model, or on average over some."""
    return f"on average over {MEANS[row.view]}{' †' * bool(row.added)}" if row.view in MEANS else f"on {row.view}"


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


def _told(ledger: Ledger, evidence: Evidence, claim: str) -> str:
    """Where a claim holds, of the data sets and models that have learned enough to tell."""
    what, more = SAYS[claim], READ.get(claim, "")
    alone = rows_of(ledger, claim)
    if not alone:
        return f"Whether {what} ({claim}) is not known yet: nothing was run."
    judged = [row for row in alone if not row.barred]
    lines = []
    if held := [row.view for row in judged if row.verdict == SUPPORTED]:
        lines.append(f"supported on {listed(held)}")
    if not_ := [f"{row.view} ({refuted(row, evidence)})" for row in judged if row.verdict == CONTRADICTED]:
        lines.append(f"contradicted on {listed(not_)}")
    if open_ := [row.view for row in judged if row.verdict == UNDECIDED]:
        lines.append(f"undecided on {listed(open_)}")
    lines += _averages(ledger, claim)
    return f"{what[:1].upper()}{what[1:]}{more} ({claim}): {'; '.join(lines) or NONE}."


def _averages(ledger: Ledger, claim: str) -> Iterator[str]:
    """Those of enough models that have learned enough."""
    for view, words in MEANS.items():
        row = ledger.row(claim, view)
        if row.seeds and not row.barred:
            yield f"{row.verdict} on average over {words}{' †' * bool(row.added)} ({row.measured})"


def _sets(number: int) -> str:
    """So many combinations of the two."""
    return f"{number} data set and model" if number == 1 else f"{number} data sets and models"


def hard_delivery(ledger: Ledger, alone: bool = True) -> list[str]:
    """Where it helps on text: with few votes, with all, ``alone`` by numbers that decide nothing; and on images."""
    told = [*_few(ledger), *_all(ledger), *(_too_little(ledger) if alone else ()), *_images(ledger)]
    return told or ["Not known yet: nothing was run."]


def _few(ledger: Ledger) -> Iterator[str]:
    """Which numbers of votes, at which epoch."""
    rows = [row for at in ("last", "best") for row in rows_of(ledger, "A4", at) if not row.barred]
    early = {row.protocol: row.deciding[0].reason for row in rows if row.standing == EARLY}
    rows = [row for row in rows if row.standing != EARLY]
    for row in sorted(rows, key=lambda row: row.verdict != SUPPORTED):
        where, later = f"{EPOCH[row.checkpoint]} on {row.protocol}", ADDED if row.added else ""
        if helps := _cells(row, SUPPORTED):
            gain = f"With {_which(helps)} votes an item it helps {where}{_by(helps, later)}{_left(row, helps)}"
            yield f"{gain}{_lost(row, helps)}."
            continue
        worse, of = _cells(row, CONTRADICTED), len(row.deciding[0].cells)
        lost = f"; it loses in {len(worse)} of {of} comparisons{_by(worse)}" if worse else ""
        yield f"{where[:1].upper()}{where[1:]} it is not shown to help with any of 2 to 50 votes{lost}{_lost(row)}."
    for protocol, why in early.items():
        yield f"Whether it helps on {protocol} with any of 2 to 50 votes is not known yet ({why})."


def _left(row: Row, helps: Sequence[Measured]) -> str:
    """Whether what is gained is more than sharpness, and how much of it."""
    kept = [cell for cell in _tempered(row) if cell.cell in {one.cell for one in helps} and cell.verdict == SUPPORTED]
    if len(kept) == len(helps):
        return f", with a temperature in both arms too{_by(kept)}"
    if kept:
        return f", but with a temperature in both arms in {len(kept)} of {len(helps)} comparisons only{_by(kept)}"
    return ", but with a temperature in both arms that is not shown"


def _lost(row: Row, helps: Sequence[Measured] = ()) -> str:
    """Where it loses once both arms have a temperature; ``helps``: that was spoken of just before."""
    cells = _tempered(row)
    worse = [cell for cell in cells if cell.verdict == CONTRADICTED]
    it = "it then" if helps else f"{TEMPERED} in both arms it"
    return f"; {it} loses in {len(worse)} of {len(cells)} comparisons{_by(worse)}" if worse else ""


def _tempered(row: Row) -> Sequence[Measured]:
    return next(part for part in row.parts if part.part.endswith("after a temperature")).cells


def _all(ledger: Ledger) -> Iterator[str]:
    """With all votes: set by set at the best epoch, on average at the last."""
    alone = [row for row in rows_of(ledger, "A3") if on_text(row)]
    if not alone:
        return
    helps, loses = ([row for row in alone if row.verdict == verdict] for verdict in (SUPPORTED, CONTRADICTED))
    told = f"helps on {_named(helps)}" if helps else "is nowhere shown to help at the best epoch"
    lost = f" and loses to soft labels on {_named(loses)}" if loses else ""
    ends = [ledger.row("A3", f"mean-{model}-last") for model in TEXT]
    ends = [row for row in ends if row.seeds and not row.barred and row.verdict != UNDECIDED]
    words = {SUPPORTED: "helps", CONTRADICTED: "loses"}
    last = [
        f"{words[row.verdict]} on average over {_encoder(row)}{_by(cells)}"
        f"{_left(row, cells) if row.verdict == SUPPORTED else ''}"
        for row in ends
        if (cells := _cells(row, row.verdict))
    ]
    at_last = f"; at the last epoch it {listed(last)}" if last else ""
    yield f"With all votes it {told}{lost}{at_last}."


def _encoder(row: Row) -> str:
    """In words, for views that are called mean-MODEL-last."""
    model = row.view.removeprefix("mean-").removesuffix("-last")
    return f"the sets on which a {model} encoder has learned something"


def _too_little(ledger: Ledger) -> Iterator[str]:
    """What the numbers say at the last epoch of models that have learned too little for a verdict."""
    told = [
        f"on {row.protocol} with {_which(cells)} votes{_by(cells)}{_left(row, cells)}"
        for row in rows_of(ledger, "A4", "last")
        if row.barred and by_numbers(row) == SUPPORTED and (cells := _cells(row, SUPPORTED))
    ]
    if told:
        yield (
            "By the numbers alone, since the models have learned too little for a verdict, it helps at the last "
            f"epoch {'; '.join(told)}."
        )


def _images(ledger: Ledger) -> Iterator[str]:
    """By the votes that the trainings had: what "all" means is not the same in all of them."""
    by_votes: dict[int | str, list[Row]] = {}
    for row in rows_of(ledger, "A3"):
        if not on_text(row) and not row.barred:
            by_votes.setdefault(read_paper("soft-labels").protocols[row.protocol].votes, []).append(row)
    told = [
        f"with {'all votes' if votes == 'all' else f'{votes} votes an image'}, {said}"
        for votes, rows in by_votes.items()
        if (said := listed(list(_on_images(rows))))
    ]
    if told:
        yield f"On images, {'; '.join(told)}."


def _on_images(images: Sequence[Row]) -> Iterator[str]:
    """One delivery that loses leaves the claim open, which is about either, and is told all the same."""
    partly = [row for row in images if row.verdict == UNDECIDED and _cells(row, CONTRADICTED)]
    words = {SUPPORTED: "it helps", CONTRADICTED: "it loses", UNDECIDED: "nothing is shown"}
    for verdict, said in words.items():
        if rows := [row for row in images if row.verdict == verdict and row not in partly]:
            yield f"{said} on {_named(rows)}"
    for row in partly:
        worse = _cells(row, CONTRADICTED)
        named = listed([cell.cell for cell in worse])
        yield f"{named} loses on {row.view}{_by(worse)}, while nothing is shown of the other delivery"


def _named(rows: Sequence[Row]) -> str:
    """The data sets and models, with the span of what is shown on them: a difference that is sure may be small."""
    cells = [cell for row in rows for cell in _cells(row, row.verdict) if row.verdict != UNDECIDED]
    return f"{listed([row.view for row in rows])}{_by(cells)}"


def _cells(row: Row, verdict: str) -> list[Measured]:
    return [cell for cell in row.deciding[0].cells if cell.verdict == verdict]


def _which(cells: Sequence[Measured]) -> str:
    """The numbers of votes, of cells that are called "2 votes, sls"."""
    return listed(list(dict.fromkeys(cell.cell.partition(" ")[0] for cell in cells)))


def _by(cells: Sequence[Measured], more: str = "") -> str:
    means = sorted(abs(cell.mean) for cell in cells if cell.mean is not None)
    span = dict.fromkeys(f"{mean:.3f}" for mean in (means[0], means[-1])) if means else {}
    return f" (by {' to '.join(span)}{f'; {more}' if more else ''})" if span else ""


def swept() -> list[Experiment]:
    """The paper's sweep over numbers of votes: the same on each of its data sets, and with each model."""
    return [one for one in read_paper("soft-labels").experiments if one.name == "votes"]


def enough_of(
    evidence: Evidence, method: str, protocols: Sequence[str], margins: Mapping[str, float] | None = None
) -> list[Enough]:
    """By metric, how many votes are enough with a method, on average over these protocols."""
    numbers = [votes for votes in swept()[0].votes if votes != "all"]
    margins = read_claims("soft-labels").enough if margins is None else margins
    return [
        votes_enough(evidence, metric, margin, protocols=protocols, method=method, votes=numbers)
        for metric, margin in margins.items()
    ]


def learned(evidence: Evidence) -> list[str]:
    """The protocols whose sweep is made, and whose model has learned enough to tell how many votes it needs."""
    return [name for name in _made(evidence) if _learned(evidence, name)]


def left_out(evidence: Evidence) -> list[str]:
    """The protocols whose sweep is made, and whose model has not."""
    return [name for name in _made(evidence) if not _learned(evidence, name)]


def _made(evidence: Evidence) -> list[str]:
    """The protocols of which every training of the sweep is there."""
    runs = set(evidence.runs.values())
    return [one.protocol for one in swept() if runs.issuperset(one.cells())]


def _learned(evidence: Evidence, protocol: str) -> bool:
    guard = read_claims("soft-labels")["A6"].guard
    assert guard is not None
    value = lead(guard, protocol, "best", evidence)
    return value is not None and value >= guard.by


def enough_by_set(evidence: Evidence) -> list[tuple[str, str, list[Enough]]]:
    """For each protocol of which runs with few votes are there, by method, how many are enough.

    Also where the model has learned too little, and by metrics that the answer does without; both are marked.
    """
    few = {cell.protocol for cell in evidence.runs.values() if cell.votes != "all"}
    return [
        (name, method, [replace(one, barred=not _learned(evidence, name)) for one in _all_of(evidence, method, name)])
        for name in (one.protocol for one in swept() if one.protocol in few)
        for method in swept()[0].methods
    ]


def _all_of(evidence: Evidence, method: str, protocol: str) -> list[Enough]:
    beside = enough_of(evidence, method, [protocol], BESIDE)
    return [*enough_of(evidence, method, [protocol]), *(replace(one, added=True) for one in beside)]


def votes_sentence(evidence: Evidence, method: str = "soft") -> str:
    """For whoever pays for the votes, model by model; and by which margins, for whoever asks."""
    models = {name: one.model for name, one in read_paper("soft-labels").protocols.items()}
    told = []
    for model in dict.fromkeys(models[name] for name in _made(evidence)):
        sets, without = ([name for name in of(evidence) if models[name] == model] for of in (learned, left_out))
        found = enough_of(evidence, method, sets) if sets else []
        if found and all(one.votes is not None for one in found):
            told.append(_enough_in_words(evidence, method, found, sets, without))
    return " ".join(told) or "How many votes an item are enough is not known yet: not all of these runs were made."


def _enough_in_words(
    evidence: Evidence, method: str, found: Sequence[Enough], sets: Sequence[str], without: Sequence[str]
) -> str:
    """A metric is left out where its margin is more than half of all that the model reaches.

    There any number of votes would be enough, as more cannot help.
    """
    levels = {one.metric: _level(evidence, one.metric, sets, method) for one in found}
    poor = [one for one in found if METRICS[one.metric].higher_is_better and levels[one.metric] < 2 * one.margin]
    told = [one for one in found if one not in poor]
    most = max((one.votes for one in told), key=lambda votes: float("inf") if votes == "all" else float(votes or 0))
    margins = [f"{one.margin:g} of {metric_title(one.metric)} ({_votes(one.votes)})" for one in told]
    reached = [f"{metric_title(one.metric)} {levels[one.metric]:.3f}" for one in told]
    beside = [
        f"{metric_title(one.metric)} is left out: with all votes it is {levels[one.metric]:.3f}, too little for any "
        "number of votes to matter."
        for one in poor
    ]
    if without:
        beside.append(f"Not counted: {', '.join(without)}, where soft labels hardly beat the shares of the classes.")
    more = "more of them, up to a hundred, make no noticeably better model"
    if most == "all":
        more = "with fewer, models are worse"
    weak = list(_weak(evidence, sets))
    poor_ones = [] if weak else ["Where that is poor, few votes are enough because more cannot help."]
    return " ".join(
        [
            f"Pay for {_votes(most)} an item, as far as {listed(sets)} can tell: {more}.",
            *weak,
            f"Measured with {method} labels; enough to come within {listed(margins)} of what all votes reach, which is "
            f"{', '.join(reached)}.",
            *poor_ones,
            *beside,
        ]
    )


def _weak(evidence: Evidence, protocols: Sequence[str]) -> Iterator[str]:
    """Of those that have learned too little for claims on the hard arm: how little, and what that means for votes."""
    guard = read_claims("soft-labels")["S1"].guard
    assert guard is not None
    for name in protocols:
        ahead = lead(guard, name, "best", evidence)
        if ahead is not None and ahead < guard.by:
            yield (
                f"But {name} is a weak witness: with majority labels it is {100 * ahead:.1f} points of accuracy ahead "
                f"of the most frequent class, where S1 to S5 ask for {100 * guard.by:g}; few votes may be enough for "
                "it because it cannot use more."
            )


def _level(evidence: Evidence, metric: str, protocols: Sequence[str], method: str) -> float:
    """What is reached with all votes, on average."""
    found = [evidence.numbers(metric, protocol=name, method=method).values() for name in protocols]
    return sum(sum(values) / len(values) for values in found) / len(found)


def _votes(number: int | str | None) -> str:
    if number == "all":
        return "more than 50 votes"
    return "1 vote" if number == 1 else f"{number} votes"


def _how_sure(ledger: Ledger, evidence: Evidence) -> str:
    protocols = list(dict.fromkeys(cell.protocol for cell in evidence.runs.values()))
    if not protocols:
        return "How sure all that is: nothing was run yet."
    guard = read_claims("soft-labels")["S1"].guard
    assert guard is not None
    leads = {name: lead(guard, name, "best", evidence) for name in protocols}
    weak = [name for name, value in leads.items() if value is not None and value < guard.by]
    seeds = len({cell.seed for cell in evidence.runs.values()})
    lost = f", of which {len(evidence.diverged)} diverged" if evidence.diverged else ""
    of = len(read_paper("soft-labels").protocols)
    told = f"{many(len(evidence.runs), 'training')}{lost}, {many(seeds, 'seed')}, {len(protocols)} of {_sets(of)}"
    kept = (
        f" On {', '.join(weak)} the hard arm does not {guard.says}: there no claim that compares with it is decided "
        f"({', '.join(_compare_with_it())}), whatever the numbers."
    )
    later = any(row.added and row.seeds and not row.barred for row in (ledger.row("S1", view) for view in MEANS))
    mark = f" † {ADDED[0].upper()}{ADDED[1:]}." if later else ""
    return f"All that rests on {told}.{kept if weak else ''}{_alone(ledger)}{_no_averages(ledger)}{mark}"


def _alone(ledger: Ledger) -> str:
    """What the numbers would say where the model has learned too little for them to count."""
    told = []
    for claim in SAYS:
        counted = Counter(by_numbers(row) for row in rows_of(ledger, claim) if row.barred)
        if said := [f"{verdict} on {counted[verdict]}" for verdict in (SUPPORTED, CONTRADICTED) if counted[verdict]]:
            told.append(f"{claim} {' and '.join(said)}")
    return f" By the numbers alone there would be {listed(told)} of them." if told else ""


def _no_averages(ledger: Ledger) -> str:
    """Those that were run, and of which fewer than two models have learned enough."""
    barred = [words for view, words in MEANS.items() if (row := ledger.row("S1", view)).seeds and row.barred]
    if not barred:
        return ""
    return f" Means over {listed(barred)} decide nothing: of each, fewer than two models have learned enough."


def _compare_with_it() -> list[str]:
    """The claims that need a hard arm which has learned something; the others have a guard of their own, or none."""
    claims = read_claims("soft-labels")
    return [claim.name for claim in claims.claims if claim.guard == claims["S1"].guard]
