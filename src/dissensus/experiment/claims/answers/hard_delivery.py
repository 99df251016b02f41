"""Does hard delivery help on text, with how many votes, and is it still so with a temperature in both arms?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dissensus.base.words import listed
from dissensus.experiment.claims.answers.answer import Answer
from dissensus.experiment.claims.answers.rows import ADDED, EARLY, TEMPERED, by_numbers, on_text, rows_of
from dissensus.experiment.claims.ledger import CONTRADICTED, SUPPORTED, UNDECIDED, Ledger, Measured, Row
from dissensus.experiment.papers import read_paper

TEXT = ("frozen", "fine-tuned")  # models of texts
EPOCH = {"best": "at the best epoch", "last": "at the last epoch, where none is chosen,"}
AT = {"best": "", "last": "-last"}
BARRED = "hardly better than the shares of the classes by then, or worse"
NO_TEMPERATURE = ", but with a temperature in both arms that is not shown"


def hard_delivery(ledger: Ledger) -> Answer:
    """In short by epoch; then with few votes, with all, what numbers alone say, and on images."""
    question = "Does hard delivery help on text (A3, A4; sizes in nats of soft NLL)?"
    told = [*_few(ledger), *_all(ledger), *_too_little(ledger), *_images(ledger)]
    if not told:
        return Answer(question, "Not known yet: nothing was run.")
    short = [_at_an_epoch(ledger, checkpoint) for checkpoint in ("best", "last")]
    short.append(_numbers_in_short(ledger))
    if early := [row.protocol for row in _judged_few(ledger, early=True)]:
        short.append(f"With few votes on {listed(list(dict.fromkeys(early)))} it is not known yet.")
    return Answer(question, " ".join(filter(None, short)), tuple(told))


def _at_an_epoch(ledger: Ledger, checkpoint: str) -> str:
    """Where it helps and where it loses, with few votes and with all; "" where nothing was run."""
    told: dict[str, list[str]] = {SUPPORTED: [], CONTRADICTED: []}
    few = [row for row in _judged_few(ledger) if row.checkpoint == checkpoint]
    every = _sets(ledger) if checkpoint == "best" else _averages(ledger, "last")
    for verdict, phrases in told.items():
        for row in few:
            if cells := _cells(row, verdict):
                phrases.append(f"with {_which(cells)} votes on {row.protocol}{_by(cells, _gone(row, cells))}")
        if rows := [row for row in every if row.verdict == verdict]:
            cells = [cell for row in rows for cell in _cells(row, verdict)]
            gone = _gone(rows[0], _cells(rows[0], verdict)) if len(rows) == 1 else ""
            phrases.append(f"with all votes on {listed([_briefly(row) for row in rows])}{_by(cells, gone)}")
        for row in _averages(ledger, checkpoint):
            if row.verdict == UNDECIDED and (cells := _cells(row, verdict)):  # of one of two, which decides nothing
                alone = listed([cell.cell for cell in cells])
                phrases.append(f"with all votes on {_briefly(row)}, as {alone} alone{_by(cells)}")
    if not few and not every:
        return ""
    later = " †" * any(row.added for row in (*few, *every) if row.verdict != UNDECIDED)
    loses = f"; it loses {listed(told[CONTRADICTED])}" if told[CONTRADICTED] else ""
    if told[SUPPORTED]:
        return f"At the {checkpoint} epoch{later} it helps {listed(told[SUPPORTED])}{loses}."
    return f"It is not shown to help at the {checkpoint} epoch{later}, with any number of votes{loses}."


def _gone(row: Row, cells: Sequence[Measured]) -> str:
    """Said of a gain that a temperature takes away."""
    if cells and cells[0].verdict == SUPPORTED and _left(row, cells) == NO_TEMPERATURE:
        return f"not shown {TEMPERED} in both arms"
    return ""


def _briefly(row: Row) -> str:
    if row.view.startswith("mean-"):
        return f"{_model(row)} encoders, on average"
    return row.view


def _judged_few(ledger: Ledger, early: bool = False) -> list[Row]:
    """Of the models that have learned enough to tell: the last epoch, then the best."""
    rows = [row for at in ("last", "best") for row in rows_of(ledger, "A4", at) if not row.barred]
    return [row for row in rows if (row.standing == EARLY) == early]


def _sets(ledger: Ledger) -> list[Row]:
    """With all votes, at the best epoch."""
    return [row for row in rows_of(ledger, "A3") if on_text(row)]


def _averages(ledger: Ledger, checkpoint: str) -> list[Row]:
    """With all votes, over the sets of a model: those that say something, be it of one of the deliveries."""
    rows = [ledger.row("A3", f"mean-{model}{AT[checkpoint]}") for model in TEXT]
    return [row for row in rows if row.seeds and not row.barred and _decided(row)]


def _decided(row: Row) -> list[Measured]:
    return [*_cells(row, SUPPORTED), *_cells(row, CONTRADICTED)]


def _few(ledger: Ledger) -> Iterator[str]:
    """Which numbers of votes, at which epoch."""
    for row in sorted(_judged_few(ledger), key=lambda row: row.verdict != SUPPORTED):
        where, later = f"{EPOCH[row.checkpoint]} on {row.protocol}", ADDED if row.added else ""
        if helps := _cells(row, SUPPORTED):
            gain = f"With {_which(helps)} votes an item it helps {where}{_by(helps, later)}{_left(row, helps)}"
            yield f"{gain}{_lost(row, helps)}."
            continue
        worse, of = _cells(row, CONTRADICTED), len(row.deciding[0].cells)
        lost = f"; it loses in {len(worse)} of {of} comparisons{_by(worse)}" if worse else ""
        yield f"{where[:1].upper()}{where[1:]} it is not shown to help with any of 2 to 50 votes{lost}{_lost(row)}."
    early = {row.protocol: row.deciding[0].reason for row in _judged_few(ledger, early=True)}
    for protocol, why in early.items():
        yield f"Whether it helps on {protocol} with any of 2 to 50 votes is not known yet ({why})."


def _left(row: Row, helps: Sequence[Measured]) -> str:
    """Whether what is gained is more than sharpness, and how much of it."""
    kept = _kept(row, helps)
    if len(kept) == len(helps):
        return f", with a temperature in both arms too{_by(kept)}"
    if kept:
        return f", but with a temperature in both arms in {len(kept)} of {len(helps)} comparisons only{_by(kept)}"
    return NO_TEMPERATURE


def _kept(row: Row, helps: Sequence[Measured]) -> list[Measured]:
    """Of these cells, those that are still so with a temperature."""
    names = {one.cell for one in helps}
    return [cell for cell in _tempered(row) if cell.cell in names and cell.verdict == SUPPORTED]


def _lost(row: Row, helps: Sequence[Measured] = (), joint: str = ";") -> str:
    """Where it loses once both arms have a temperature; ``helps``: that was spoken of just before."""
    it, worse = "it then" if helps else f"{TEMPERED} in both arms it", _worse(row)
    return f"{joint} {it} loses in {len(worse)} of {len(_tempered(row))} comparisons{_by(worse)}" if worse else ""


def _worse(row: Row) -> list[Measured]:
    return [cell for cell in _tempered(row) if cell.verdict == CONTRADICTED]


def _tempered(row: Row) -> Sequence[Measured]:
    return next(part for part in row.parts if part.part.endswith("after a temperature")).cells


def _all(ledger: Ledger) -> Iterator[str]:
    """With all votes: set by set at the best epoch, on average at the last."""
    if not (alone := _sets(ledger)):
        return
    helps, loses = ([row for row in alone if row.verdict == verdict] for verdict in (SUPPORTED, CONTRADICTED))
    told = f"helps on {_named(helps)}" if helps else "is nowhere shown to help at the best epoch"
    lost = f" and loses to soft labels on {_named(loses)}" if loses else ""
    best, last = ([_on_average(row) for row in _averages(ledger, checkpoint)] for checkpoint in AT)
    at_best = f"; it {listed(best)}" if best else ""
    at_last = f"; at the last epoch it {listed(last)}" if last else ""
    yield f"With all votes it {told}{lost}{at_best}{at_last}."


def _on_average(row: Row) -> str:
    """Of one of two deliveries, it is told which."""
    verdict = SUPPORTED if row.verdict == SUPPORTED or _cells(row, SUPPORTED) else CONTRADICTED
    cells = _cells(row, verdict)
    alone = f", as {listed([cell.cell for cell in cells])} alone" if row.verdict == UNDECIDED else ""
    return (
        f"{'helps' if verdict == SUPPORTED else 'loses'} on average over the sets on which a {_model(row)} encoder has "
        f"learned something{_by(cells)}{_left(row, cells) if verdict == SUPPORTED else ''}{alone}"
    )


def _model(row: Row) -> str:
    """Of views that are called mean-MODEL or mean-MODEL-last."""
    return row.view.removeprefix("mean-").removesuffix("-last")


def _by_numbers(ledger: Ledger) -> list[tuple[Row, list[Measured]]]:
    """At the last epoch, where the numbers say that it helps, but soft labels are too bad by then for a verdict."""
    rows = [row for row in rows_of(ledger, "A4", "last") if row.barred and by_numbers(row) == SUPPORTED]
    return [(row, cells) for row in rows if (cells := _cells(row, SUPPORTED))]


def _numbers_in_short(ledger: Ledger) -> str:
    """On how many, with how many votes, by how much, and how often with a temperature, too."""
    if not (told := _by_numbers(ledger)):
        return ""
    cells = [cell for _, of_row in told for cell in of_row]
    kept = sum(len(_kept(row, of_row)) for row, of_row in told)
    worse = sum(len(_worse(row)) for row, _ in told)
    loses = f", and loses in {worse}" if worse else ""
    barred = sum(row.barred for row in rows_of(ledger, "A4", "last"))
    return (
        f"Where soft labels are {BARRED}, so that nothing is judged, it overfits less by the numbers: on "
        f"{len(told)} of {barred} sets and models with {_which(_in_order(cells))} votes{_by(cells)}; {TEMPERED} in "
        f"both arms it still helps in {kept} of {len(cells)} comparisons{loses}."
    )


def _in_order(cells: Sequence[Measured]) -> list[Measured]:
    return sorted(cells, key=lambda cell: int(cell.cell.partition(" ")[0]))


def _too_little(ledger: Ledger) -> Iterator[str]:
    """The same, one by one; and what the numbers say at the best epoch."""
    told = [
        f"on {row.protocol} with {_which(cells)} votes{_by(cells)}{_left(row, cells)}{_lost(row, cells, ', and')}"
        for row, cells in _by_numbers(ledger)
    ]
    if told:
        yield f"By the numbers alone, since soft labels are {BARRED}, it helps at the last epoch {'; '.join(told)}."
    barred = [row for row in rows_of(ledger, "A4") if row.barred]
    found = [
        f"{word} on {row.protocol} with {cell.cell.replace(', ', ' and ')}{_by([cell])}"
        for word, verdict in (("helps", SUPPORTED), ("loses", CONTRADICTED))
        for row in barred
        for cell in _cells(row, verdict)
    ]
    if found:
        of = sum(len(row.deciding[0].cells) for row in barred)
        yield (
            f"By the numbers alone, at the best epoch, where models have learned too little for a verdict, it "
            f"{listed(found)}; of {of} comparisons no other shows anything."
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
