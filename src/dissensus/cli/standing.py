"""What ``dissensus reproduce`` says of runs and studies before it makes any: how many, how many are done, how long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from dissensus.base.words import duration, many
from dissensus.cli.tables import show_table
from dissensus.cli.telling import out, print_json

if TYPE_CHECKING:
    from dissensus.base.errors import MissingDataError
    from dissensus.experiment.chosen import Chosen
    from dissensus.experiment.papers import Evidence, Paper
    from dissensus.experiment.reproduce import Reproduction, Several, Standing
    from dissensus.experiment.reproduce.standing import Count


def show_plan(
    paper: Paper,
    repeated: Reproduction | Several | None,
    now: Standing | None,
    wanted: Chosen,
    seeds: set[int] | None,
    folder: Path,
    as_json: bool,
) -> None:
    """What would run, from what a store and results tell."""
    from dissensus.experiment.reproduce import counts

    if repeated is None or now is None:
        _show([], {}, [], paper, wanted, seeds, folder, as_json)
        return
    rows = counts(now.plans, now.done, paper)
    _show(rows, _json_standing(repeated, now), told_standing(repeated, now), paper, wanted, seeds, folder, as_json)


def show_plan_without_data(
    paper: Paper,
    before: Evidence,
    lacks: MissingDataError,
    wanted: Chosen,
    protocol: str | None,
    seeds: set[int] | None,
    folder: Path,
    as_json: bool,
) -> None:
    """The same from results alone: the names of runs hang on the data, so no store can be asked."""
    from dissensus.experiment.defaults import DEFAULTS
    from dissensus.experiment.reproduce import counts, measured_on_a_gpu, protocols_like, wanted_of

    under = set(protocols_like(paper, protocol))
    planned = [cell for cell in paper.cells() if cell.protocol in under]
    cells = wanted_of(paper, planned, wanted.places, None, seeds) if wanted.runs else []
    done = {*before.runs.values()} & {*cells}
    left = len(cells) - len(done)
    defaults = DEFAULTS.get(paper.data)
    times = measured_on_a_gpu({defaults.model}, {defaults.recipe["precision"]}) if defaults else None
    seconds = None if times is None or times.training is None else left * times.training
    lines = [f"{many(len(cells), 'run')}: results tell of {len(done)}, {left} left."]
    if times is not None and seconds:
        lines.append(f"About {duration(seconds)} of training are left, without looks inside models ({times.source}).")
    lines.append(f"No store was asked, since the data is not here: {lacks}")
    told = {"runs": len(cells), "done": len(done), "told_by_results": len(done), "left": left, "lacks": str(lacks)}
    told["seconds_left"] = seconds
    _show(counts(cells, done, paper), told, lines, paper, wanted, seeds, folder, as_json)


def _show(
    rows: Sequence[Count],
    told: Mapping[str, Any],
    lines: Iterable[str],
    paper: Paper,
    wanted: Chosen,
    seeds: set[int] | None,
    folder: Path,
    as_json: bool,
) -> None:
    """Experiments and studies: how far they are, and what has to be known with that."""
    from dissensus.experiment.studies import FOLDER, SEEDS

    asked = set(SEEDS) if seeds is None else seeds & set(SEEDS)
    done = {study: len(study.seeds_in(folder / FOLDER) & asked) for study in wanted.studies}
    if as_json:
        studies = [{"study": study.name, "seeds": len(asked), "done": made} for study, made in done.items()]
        print_json({**told, "experiments": [asdict(row) for row in rows], "studies": studies})
        return
    if rows:
        head = ["experiment", "protocol", "for", "runs", "done", "left"]
        cells = [
            [row.experiment, row.protocol, ", ".join(row.feeds), str(row.runs), str(row.done), str(row.runs - row.done)]
            for row in rows
        ]
        show_table(f"{paper.title}: what is run", head, cells)
        out.print("\nExperiments share runs; each is made once.")
        for line in lines:
            out.print(escape(line), soft_wrap=True)
        out.print()
    if done:
        head = ["study", "asks", "seeds", "done", "left"]
        cells = [
            [study.name, study.question, str(len(asked)), str(made), str(len(asked) - made)]
            for study, made in done.items()
        ]
        show_table("Studies beside it", head, cells)
        if any(study.model == "fine-tuned" and made < len(asked) for study, made in done.items()):
            out.print(
                "\nThose of whole encoders (-fine-tuned) are made on a CUDA GPU, and left as they are without one."
            )


def _json_standing(repeated: Reproduction | Several, now: Standing) -> dict[str, Any]:
    left = repeated.left(now)
    return {
        "runs": len(now.plans),
        "done": len(now.done),
        "told_by_results": len(now.recorded),
        "diverged": len(now.diverged),
        "left": len(now.left),
        "again": len(now.again),
        "to_be_made_again": len(now.spent),
        "seconds_left": left.seconds,
        "looks_not_timed": left.looks,
        "runs_not_timed": left.runs,
        "source": left.source,
    }


def told_standing(repeated: Reproduction | Several, now: Standing) -> Iterator[str]:
    """How far it is, and what is left: two or three lines."""
    again = f", of which {len(now.again)} were made before and lack something" if now.again else ""
    told_of = f" (of {len(now.recorded)} only results tell)" if now.recorded else ""
    yield f"{many(len(now.plans), 'run')}: {len(now.done)} done{told_of}, {len(now.left)} left{again}."
    if now.diverged:
        yield f"Of those that are done, {len(now.diverged)} diverged: they have no numbers, and are not made again."
    if now.spent:
        yield _told_again(now)
    if not now.left:
        return
    left = repeated.left(now)
    if left.seconds is None:
        yield f"How long they take is not known yet: {left.source}."
        return
    lacking = [f"{many(left.runs, 'run')} of other kinds"] * bool(left.runs)
    lacking += [f"the looks inside {many(left.looks, 'model')}"] * bool(left.looks)
    without = f"; without {' and '.join(lacking)}, which nobody has timed yet" if lacking else ""
    yield f"About {duration(left.seconds)} are left{without} ({left.source})."


def _told_again(now: Standing) -> str:
    """Which runs that are done will be made again, why, and how one spares them."""
    told, stored = now.spent & now.recorded, now.spent - now.recorded
    again = f"{many(len(now.spent), 'run')} that {'is' if len(now.spent) == 1 else 'are'} done will be made again: "
    why = []
    if told:
        why.append(f"of {len(told)} only results tell, while runs that are left are compared with what they kept")
    if stored:
        why.append(f"of {len(stored)} in the store the weights are gone, while models that are made again need them")
    mend = "Make such runs in one store, or merge the stores: where that will be done, --to-merge."
    return f"{again}{'; '.join(why)}. {mend}"
