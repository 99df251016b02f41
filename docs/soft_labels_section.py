"""What was found of soft labels: in short for the README, and a page with all of it."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from in_markdown import CHANGED, item, table, table_row, wrapped

from dissensus.base.words import listed
from dissensus.experiment.claims import Answer, Ledger, answers
from dissensus.experiment.claims.answers.rows import ADDED, EARLY, MEANS, by_numbers, rows_of
from dissensus.experiment.claims.ledger import CONTRADICTED, SUPPORTED, UNDECIDED, Measured, Row
from dissensus.experiment.papers import Evidence, read_paper
from dissensus.experiment.studies import studies_of
from dissensus.experiment.studies.study import Studied
from dissensus.report.output import signed
from dissensus.report.paper.ledger import SIGNS, sign
from dissensus.report.paper.measured import Sought, measured
from dissensus.report.tables import number

CLAIMS = ("S1", "S2", "S3", "S4", "S5")
FIRST = "cifar10h-small-cnn"  # the paper's first experiment
HARD = ("sls", "multipass")
MEASURED = Path(__file__).resolve().parents[1] / "benchmarks" / "results"
PAPER = read_paper("soft-labels")


def soft_labels_in_short(results: Path) -> str:
    """What was found where models have learned enough to tell; nothing while no run is in ``results``."""
    if (read := _read(results)) is None:
        return ""
    evidence, ledger, run = read
    judged = [name for name in run if not ledger.row("S1", name).barred]
    parts = [
        "### The soft-labels paper",
        _asks(evidence, run),
        "\n".join(item(f"**{one.question}** {signed(one.short)}") for one in answers(ledger, evidence)),
        _table(evidence, ledger, judged, [one for one in MEANS if not ledger.row("S1", one).barred], guesses=False),
        wrapped(
            f"""{_legend()} Only what has learned enough for a verdict is shown. {FIRST} is
            {PAPER.protocols[FIRST].about}. {_made_again()} {_abstract(results, judged)}"""
        ),
        wrapped(
            """All data sets and models, what has to be known with each answer, what soft targets cost, and studies
            beside it (the surest answers, few real votes, careful and unreliable annotators, transfer):
            [docs/soft-labels.md](docs/soft-labels.md)."""
        ),
    ]
    return "\n\n".join(parts) + "\n"


def soft_labels(results: Path, link: str = "results/soft-labels") -> str:
    """All of it; nothing while no run is in ``results``. ``link`` leads there from where it is written."""
    if (read := _read(results)) is None:
        return ""
    evidence, ledger, run = read
    parts = [
        _asks(evidence, run),
        *(_whole(one) for one in answers(ledger, evidence)),
        "## By data set and model",
        _table(evidence, ledger, run, list(MEANS)),
        wrapped(
            f"""{_legend()} In brackets what the numbers alone say, where the model has learned too little for a
            verdict. Each verdict stands by itself, at 5 %: there is no correction over data sets and models. Of people:
            half of them predict the other half, which a model may pass where votes are few; class shares: the same
            guess for every item. {FIRST} is {PAPER.protocols[FIRST].about}. {_made_again()}"""
        ),
        wrapped(_abstract(results, run)),
        "## Hard delivery on text, by the number of votes",
        *_hard_table(ledger),
        "## What whole distributions cost as targets",
        wrapped(_cost()),
        "## One question at a time",
        *_studies(results, link),
        wrapped(
            f"""Rules came before runs, and what came later says so:
            `src/dissensus/experiment/papers/soft_labels_claims.toml` and the docstrings of
            `src/dissensus/experiment/studies`. Every number and verdict is in [results/soft-labels]({link}), curves by
            the number of votes in [figure 2]({link}/figures/figure2.png), risk against coverage in
            [its figure]({link}/figures/coverage.png). `dissensus reproduce soft-labels --from results/soft-labels`
            makes tables, figures and the page; `--only real-sparsity` one study."""
        ),
    ]
    return "\n\n".join(parts) + "\n"


def _whole(one: Answer) -> str:
    """An answer in bold, and below it what has to be known with it."""
    told = wrapped(f"**{one.question}** {signed(one.short)}")
    return "\n\n".join([told, "\n".join(item(signed(more)) for more in one.more)]) if one.more else told


def _read(results: Path) -> tuple[Evidence, Ledger, list[str]] | None:
    """Evidence, ledger, and the data sets and models with both arms; None while no run is in ``results``."""
    if not (results / "runs.csv").exists() or not (results / "ledger.csv").exists():
        return None
    evidence = Evidence.read(results)
    made = {(cell.protocol, cell.method) for cell in evidence.runs.values()}
    run = [name for name in PAPER.protocols if {(name, "majority"), (name, "soft")} <= made]
    return (evidence, Ledger.from_csv((results / "ledger.csv").read_text("utf-8")), run) if evidence.runs else None


def _asks(evidence: Evidence, run: Sequence[str]) -> str:
    title = f'"{PAPER.title}" ([arXiv {PAPER.arxiv}](https://arxiv.org/abs/{PAPER.arxiv}))'
    return wrapped(
        f"""{title} claims that training on the votes instead of their majority keeps what people disagree about. Of the
        paper only the abstract was at hand, so `dissensus reproduce soft-labels` runs its design anew:
        {len(evidence.runs):,} of {len(PAPER.cells()):,} runs so far, on {len(run)} of {len(PAPER.protocols)} data sets
        and models. Those of cifar10h-resnet18 are the audited runs of the Basins paper with all votes."""
    )


def _abstract(results: Path, protocols: Sequence[str]) -> str:
    """What the paper's abstract says, and the same of ours."""
    with (results / "tables" / "abstract.csv").open(encoding="utf-8") as file:
        ours = {(one["protocol"], one["what"]): one["mean"] for one in csv.DictReader(file)}
    kl, correlation = (f"{100 * told.mean:.0f} %" for told in PAPER.published.numbers.values())
    both = [(name, ours[name, "kl"], ours[name, "entropy_correlation"]) for name in protocols]
    told = [f"{float(a):.0%} and {float(b):.0%} on {name}".replace("%", " %") for name, a, b in both if a and b]
    return (
        f"The abstract says {kl} lower KL and a {correlation} stronger correlation of entropies, on average over sets "
        f"and models that are not known; here it is {listed(told)}."
    )


def _made_again() -> str:
    """Where the verdicts on the first experiment hang on how a processor rounds."""
    told = json.loads((MEASURED / f"made_again_{FIRST.replace('-', '_')}.json").read_text("utf-8"))["result"]
    other = [
        f"{claim} would be {two['again']['verdict']} instead of {two['first']['verdict']}"
        for claim, two in told["claims"].items()
        if claim in CLAIMS and two["again"]["verdict"] != two["first"]["verdict"]
    ]
    return f"Its {told['runs']} runs were made a second time, on another processor: by those {listed(other)}."


def _legend() -> str:
    signs = ", ".join(f"{sign} {verdict}" for verdict, sign in SIGNS.items())
    return f"""Means over seeds, majority vote → soft labels; of several sets, the change. S1 to S5 as above: {signs}; †
    {ADDED};{CHANGED} its rule was changed then."""


def _table(
    evidence: Evidence, ledger: Ledger, protocols: Sequence[str], means: Sequence[str], guesses: bool = True
) -> str:
    """A row a data set and model, then the means; with ``guesses`` what people and class shares score."""
    beside = ("KL, EntCorr of people", "KL of class shares") if guesses else ()
    head = ("data set and model", "KL ↓", "KL with a temperature ↓", "EntCorr ↑", "accuracy ↑", *beside)
    head += tuple(f"{claim}{CHANGED * ledger.row(claim, FIRST).changed}" for claim in CLAIMS)
    rows = []
    for name in protocols:
        numbers = [
            _both(evidence, name, metric, tempered)
            for metric, tempered in (("kl", False), ("kl", True), ("entropy_correlation", False), ("accuracy", False))
        ]
        if guesses:
            people = (_guess(evidence, name, metric, "ceiling") for metric in ("kl", "entropy_correlation"))
            numbers += [", ".join(people), _guess(evidence, name, "kl", "shares")]
        rows.append(table_row(name, *numbers, *_signs(ledger, name)))
    for view in means:
        first, second, third = (ledger.row(claim, view) for claim in ("S1", "S2", "S3"))
        if first.seeds:
            kl, tempered = (cell.mean or 1.0 for part in first.deciding for cell in part.cells)
            correlation, accuracy = (row.deciding[0].cells[0].mean or 0.0 for row in (second, third))
            changes = [_less(kl), _less(tempered), f"{correlation:+.3f}", f"{accuracy:+.3f}".replace("-", "−")]
            rows.append(
                table_row(
                    f"mean of {MEANS[view]}{' †' * bool(first.added)}",
                    *changes,
                    *([""] * len(beside)),
                    *_signs(ledger, view),
                )
            )
    return table(head, rows, centred=len(CLAIMS))


def _less(factor: float) -> str:
    """By which share a number is lower that is so many times smaller.

    >>> _less(1.25), _less(0.8)
    ('20 % lower', '25 % higher')
    """
    return f"{abs(1 - 1 / factor):.0%} {'lower' if factor >= 1 else 'higher'}".replace("%", " %")


def _signs(ledger: Ledger, view: str) -> list[str]:
    """A verdict each; in brackets what the numbers alone say, where there is none."""
    rows = [ledger.row(claim, view) for claim in CLAIMS]
    return [f"({SIGNS[word]})" if row.barred and (word := by_numbers(row)) != UNDECIDED else sign(row) for row in rows]


def _both(evidence: Evidence, protocol: str, metric: str, tempered: bool) -> str:
    hard, soft = (
        measured(evidence, Sought(metric, method, protocol=protocol, tempered=tempered))
        for method in ("majority", "soft")
    )
    return f"{number(hard.mean)} → {number(soft.mean)}" if hard and soft else "–"


def _guess(evidence: Evidence, protocol: str, metric: str, whose: str) -> str:
    """What people, or a guess, score on the same items."""
    found = measured(evidence, Sought(metric, "soft", protocol=protocol, outside=whose))
    return number(found.mean) if found else "–"


def _hard_table(ledger: Ledger) -> Iterator[str]:
    """A row a hard delivery and epoch, as trained and with a temperature in both arms; a column a number of votes."""
    yield wrapped(
        """Soft NLL of soft labels less that of a hard delivery, above 0 where hard delivery is better; in square
        brackets 95 % intervals. ✓ and ✗ after Holm, over all comparisons with few votes and over the two with all; in
        round brackets where soft labels have learned too little there for a verdict. One vote is not among them: of it
        every delivery makes the same label."""
    )
    for best in sorted(rows_of(ledger, "A4"), key=lambda row: row.barred):
        yield f"On {best.protocol}{_so_far(best)}:"
        rows = []
        for checkpoint, tempered in product(("best", "last"), (False, True)):
            cells: dict[tuple[str, str], str] = {}
            for row in (one for claim in ("A4", "A3") for one in rows_of(ledger, claim, checkpoint)):
                if row.protocol == best.protocol:
                    part = next(one for one in row.parts if one.part.endswith("after a temperature") == tempered)
                    cells |= {_votes_and_method(cell): _cell(cell, row.barred) for cell in part.cells}
                    later = " †" * bool(row.added)
            votes = list(dict.fromkeys(number for number, _ in cells))
            reading = f"{checkpoint} epoch{', with a temperature' * tempered}"
            rows += [
                table_row(f"{method}, {reading}{later}", *(cells[k, method] for k in votes)) for method in HARD if cells
            ]
        yield table(("", *(f"{k} votes" for k in votes)), rows)


def _so_far(row: Row) -> str:
    """Which seeds a table rests on that is not whole."""
    return f", with few votes so far {row.deciding[0].reason}" if row.standing == EARLY else ""


def _votes_and_method(cell: Measured) -> tuple[str, str]:
    """Of "2 votes, sls"; with all votes a cell is called by the method alone."""
    few, _, method = cell.cell.rpartition(" votes, ")
    return few or "all", method


def _cell(cell: Measured, barred: bool) -> str:
    if cell.mean is None or cell.low is None or cell.high is None:
        return "–"
    mark = f" {SIGNS[cell.verdict]}" if cell.verdict in (SUPPORTED, CONTRADICTED) else ""
    mark = f" ({mark.strip()})" if mark and barred else mark
    mean, low, high = (number(value, 4) for value in (cell.mean, cell.low, cell.high))  # they are of a few thousandths
    return f"{mean} [{low}, {high}]{mark}"


def _cost() -> str:
    """Time and memory of soft against hard targets, by the number of classes."""
    rows, on_gpu = (_cost_rows(name) for name in ("target_cost.json", "target_cost_gpu.json"))
    loss, layer = (_times(rows, what) for what in ("loss", "last layer"))
    gpu_loss, gpu_layer = (_times(on_gpu, what) for what in ("loss", "last layer"))
    kept = [f"{row['kept_bytes']['soft'] / row['kept_bytes']['hard']:.1f}" for row in rows]
    dense = [f"{row['storage_bytes']['dense float32'] / 1e9:g}" for row in rows]
    votes = [f"{row['storage_bytes']['votes'] / 1e6:.0f}" for row in rows]
    peaks = [f"{row['peak_bytes']['soft'] / row['peak_bytes']['hard']:.2f}" for row in on_gpu]
    return f"""On a CPU, with {listed([f"{row['classes']:,}" for row in rows])} classes, the loss of a batch takes
        {loss} times as long as with hard labels, with one layer before it {layer} times (on a GPU {gpu_loss}, with the
        layer {gpu_layer}; each is the least of the repeats), and keeps {listed(kept)} times the memory for its backward
        pass; the peak of a GPU's memory is {listed(peaks)} times as high. The targets of a million items take
        {listed(dense)} GB as rows, and {listed(votes)} MB as five votes an item, which is how they are kept here
        (`benchmarks/results/target_cost.json` and `target_cost_gpu.json`)."""


def _cost_rows(name: str) -> list[dict[str, Any]]:
    return list(json.loads((MEASURED / name).read_text("utf-8"))["result"]["rows"])


def _times(rows: Sequence[Mapping[str, Any]], what: str) -> str:
    return listed([f"{row['times_hard'][what]['soft']:.2f}" for row in rows])


def _to_claims(one: Studied) -> str:
    """What the rule says of S1 to S3 where it says anything: whether they hold, and what changes them."""
    of_claims = [line.partition(";")[0].rstrip(".") for line in one.verdicts if re.search(r"\bS[123]\b", line)]
    if not of_claims:
        return ""
    told = [line for line in of_claims if re.search(r"holds|fails|strengthens|weakens|leaves S", line)]
    if not told:
        return "S1 to S3 are open throughout."
    return f"Of S1 to S3: {'; '.join(told)}; all else is open."


def _studies(results: Path, link: str) -> Iterator[str]:
    """A line a study: what it asks, and the first things that it found; and which were not made."""
    read = {name: study.read(results / "studies") for name, study in studies_of("soft-labels").items()}
    rows = [
        f"| [{one.question}]({link}/studies/{one.name}.md) | {signed(one.short)} {_to_claims(one)} |"
        for one in read.values()
        if one and one.plain
    ]
    if rows:
        yield "Beside the table, one question at a time:"
        yield "\n".join(["| question | what was found |", "|---|---|", *rows])
        if missing := [name for name, one in read.items() if one is None]:
            yield wrapped(f"With a fine-tuned encoder, these were not made: {listed(missing)}.")
