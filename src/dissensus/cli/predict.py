"""``dissensus predict``: what the model of a run says of new items."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape

from dissensus.base.errors import InputError, unknown
from dissensus.base.words import first, listed, many, shown
from dissensus.cli import options
from dissensus.cli.extras import need
from dissensus.cli.given import key_values, refuse_place
from dissensus.cli.reading import as_option, keywords
from dissensus.cli.sweeping import encoding
from dissensus.cli.tables import in_words, show_table
from dissensus.cli.telling import err, out, print_json, print_text, tell_note, waiting

if TYPE_CHECKING:
    import numpy as np
    import polars as pl
    from numpy.typing import NDArray

    from dissensus.datasets import Inputs
    from dissensus.records import StoredRun

SHOWN = 10  # classes, those with the largest shares
DISPUTED = 5  # items
NAMED = 3  # classes of such an item
EXAMPLES = (
    "Examples: [bold]dissensus train --votes labels.csv --texts texts.csv --save-model[/bold], then, by the name that "
    "it told, [bold]dissensus predict 3f2a --texts new.csv -o predictions.csv[/bold]; "
    "[bold]dissensus predict 3f2a --inputs images/ --temperature | head[/bold]; "
    "[bold]dissensus predict saved/3f2a90c1d2e3f4a5 --inputs new.npz --json[/bold]"
)


def predict(
    name: Annotated[
        str,
        typer.Argument(
            metavar="RUN", help="A run that kept its model (--save-model): its name, its first digits, or its folder."
        ),
    ],
    inputs: Annotated[
        str | None,
        typer.Option(
            "--inputs",
            metavar="FILE|FOLDER",
            help="New items: features (.npy, .npz, .csv, ...) or images, as trained. Of a folder, those in "
            "folders inside of it, too.",
        ),
    ] = None,
    texts: Annotated[
        str | None,
        typer.Option(
            "--texts",
            metavar="FILE",
            help="New items: a table with the columns id, text and, for pairs, text_pair, or an export. Without ids, "
            "rows count from 0.",
        ),
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="NAME", help="Or the items of a named data set.")
    ] = None,
    option: Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="KEY=VALUE",
            help="How to read them: item=task, text=sentence, text_pair=answer, texts_delimiter=';', 'size=[32,32]'; "
            "others=drop leaves items without a text out. Columns and a size as in training need not be named.",
        ),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where to write the predictions: .csv, .tsv, .jsonl or .parquet. By default, CSV on standard output.",
        ),
    ] = None,
    temperature: Annotated[
        bool,
        typer.Option(
            "--temperature", help="After the temperature that fits the votes on the run's selection items best."
        ),
    ] = False,
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            metavar="FOLDER|NAME",
            help="Where the run's text encoder lies, if not where it lay in training.",
        ),
    ] = None,
    store: options.Store = Path("runs"),
    as_json: options.Json = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="No progress; and no summary beside CSV on standard output.")
    ] = False,
) -> None:
    """What would annotators say of new items? The probability of every class, by a model that was trained and kept.

    A row an item, in the order in which they come: its id (item), the most probable class (predicted), the entropy in
    nats (entropy: 0 where the model is sure; high where it expects annotators to disagree), and the probability of
    every class (p_ and its name).

    Items are scaled, or read by the text encoder, as they were in training; the files of the training are not needed.
    The model is that of the best epoch.
    """
    need("train")
    from dissensus.evaluation import selected_temperature
    from dissensus.experiment.trained import predict_with, refuse_without_model
    from dissensus.metrics import softmax

    if file is not None:
        refuse_place("--out", file, WRITERS, [Path(one) for one in (inputs, texts) if one])
    run = _run(name, store)
    refuse_without_model(run)
    heat = selected_temperature(run) if temperature else None
    with waiting("Reading the items", quiet):
        ids, items = _items({"--inputs": inputs, "--texts": texts, "--data": data}, option, run)
    with encoding(quiet, once="") as progress:
        said = predict_with(run, items, encoder=encoder, progress=progress, say=tell_note)
    found = Predicted(run, ids, softmax(said.logits, heat or 1.0), heat)
    if file is not None:
        _write(found.table, file)
    if as_json:
        place = {"file": None, "predictions": found.table.to_dicts()}
        print_json(found.summary | (place if file is None else {"file": str(file), "predictions": None}))
    elif file is not None:
        _show(found, out)
        out.print(f"\nThe predictions: [bold]{escape(str(file))}[/]", soft_wrap=True)
    else:
        print_text(found.table.write_csv())
        if not quiet:
            _show(found, err)


def show_next(run: StoredRun, store: Path, told: str) -> None:
    """The command that takes the model of a run to new items, after what is ``told`` of it."""
    place = [] if store == Path("runs") else ["--store", str(store)]
    items = ["--texts", "NEW.csv"] if run.plan["model"]["encoder"] else ["--inputs", "NEW"]
    columns = _columns_in_training(run)
    named = [as_option("item" if role == "ids" else role, column) for role, column in columns.items()]
    items += [word for one in named for word in ("--option", one)]
    words = ["dissensus", "predict", run.name, *place, *items, "-o", "predictions.csv"]
    out.print(f"What would annotators say of new items? {escape(told)}")
    out.print(f"[bold]{escape(shlex.join(words))}[/]", soft_wrap=True)


@dataclass(frozen=True)
class Predicted:
    """What is told of new items."""

    run: StoredRun
    ids: Sequence[str]
    probs: NDArray[np.float64]  # (items, classes)
    temperature: float | None

    @cached_property
    def classes(self) -> list[str]:
        return [str(name) for name in self.run.plan["data"]["classes"]]

    @cached_property
    def entropy(self) -> NDArray[np.float64]:
        from dissensus.metrics.entropies import entropy

        return entropy(self.probs)

    @cached_property
    def table(self) -> pl.DataFrame:
        import polars as pl

        predicted = [self.classes[best] for best in self.probs.argmax(1)]
        shares = {f"p_{name}": self.probs[:, place] for place, name in enumerate(self.classes)}
        return pl.DataFrame({"item": self.ids, "predicted": predicted, "entropy": self.entropy, **shares})

    @cached_property
    def most_disputed(self) -> list[int]:
        """The highest entropy first; of those alike, the earlier item."""
        return (-self.entropy.round(12)).argsort(kind="stable")[:DISPUTED].tolist()

    @property
    def summary(self) -> dict[str, Any]:
        return {
            "run": self.run.name,
            "items": len(self.ids),
            "temperature": self.temperature,
            "shares": dict(zip(self.classes, self.probs.mean(0).tolist(), strict=True)),
            "top_probability": float(self.probs.max(1).mean()),
            "entropy": float(self.entropy.mean()),
            "most_disputed": [self.ids[place] for place in self.most_disputed],
        }


def _run(name: str, store: Path) -> StoredRun:
    """By its folder, or by the beginning of its name in the store."""
    from dissensus.records import RunStore, StoredRun

    if (Path(name) / "plan.json").is_file():
        return StoredRun.at(name)
    if inside := RunStore(name).names() if Path(name).is_dir() else []:
        raise InputError(f"{name} is a folder of runs; give one of them, such as {Path(name) / inside[0]}.")
    kept = RunStore(store)
    return kept.read(kept.resolve(name))


def _items(given: Mapping[str, str | None], option: Sequence[str] | None, run: StoredRun) -> tuple[list[str], Inputs]:
    """The new items and their ids, in their order."""
    from dissensus.datasets import load, own_items
    from dissensus.datasets.input_files import TABLES

    named = {flag: value for flag, value in given.items() if value is not None}
    if len(named) != 1:
        raise InputError(
            f"{listed(list(named))} both name items; give one of them."
            if named
            else "there are no items to predict: give --texts FILE, or --inputs FILE|FOLDER, as the run was trained."
        )
    ((flag, place),) = named.items()
    settings = key_values("--option", option, "text=sentence")
    if flag == "--data":
        loaded = load(place, **settings)
        return [str(item) for item in loaded.votes.items.tolist()], loaded.inputs
    known = keywords("predict")
    if wrong := [key for key in settings if key not in known]:
        raise InputError(unknown("option of new items", wrong[0], known))
    if no_text := [key for key, value in settings.items() if known[key] is str and not isinstance(value, str)]:
        key, value = no_text[0], settings[no_text[0]]
        as_text = shlex.quote(as_option(key, str(value)))
        raise InputError(f"option {key} must be a text, but is {value!r}. As a text it is {as_text}.")
    if "item" in settings:
        if "ids" in settings:
            raise InputError("item and ids both name the column of the ids; give one of them.")
        settings["ids"] = settings.pop("item")
    if flag == "--texts":
        settings = _as_named_in_training(Path(place), settings, run) | settings
        return own_items(texts=place, say=tell_note, **settings)
    if not Path(place).is_dir():
        named = _as_named_in_training(Path(place), settings, run) if Path(place).suffix in TABLES else {}
        return own_items(place, **named | settings)
    size = run.source.get("options", {}).get("size")  # as the run read them
    paths, images = own_items(place, endings=True, **({"size": size} if size else {}) | settings)
    return _as_in_training(paths, Path(place), [str(item) for item in run.predictions["ids"].tolist()]), images


def _columns_in_training(run: StoredRun) -> dict[str, str]:
    """Columns of ids, texts and second texts that had to be named to train the run."""
    options = run.source.get("options", {})
    if "item" in options and run.source.get("votes") == run.source.get("texts"):  # one file has the votes and the texts
        options = {"ids": options["item"], **options}
    return {role: options[role] for role in ("ids", "text", "text_pair") if role in options}


def _as_named_in_training(path: Path, settings: Mapping[str, Any], run: StoredRun) -> dict[str, str]:
    """Those that this file has, too, and nobody names otherwise; which is told."""
    from dissensus.datasets.text_files import columns_of

    wanted = {role: column for role, column in _columns_in_training(run).items() if role not in settings}
    if not wanted or not path.is_file():
        return {}
    there = columns_of(path, settings.get("texts_delimiter"))
    found = {role: column for role, column in wanted.items() if column in there}
    if found:
        told = listed([f"{'item' if role == 'ids' else role}={column!r}" for role, column in found.items()])
        tell_note(f"Columns are named as in training: {told}.")
    return found


def _as_in_training(paths: list[str], folder: Path, trained: Sequence[str]) -> list[str]:
    """The ids of images: as those of the run if these are among them, else their paths, with endings if those have any.

    >>> _as_in_training(["cats/a.png", "cats/b.png"], Path("images"), ["images/cats/b"])
    ['images/cats/a', 'images/cats/b']
    >>> _as_in_training(["cats/c.png", "eels/c.png"], Path("new"), ["images/cats/b"])
    ['cats/c', 'eels/c']
    """
    from dissensus.datasets.image_folder import ENDINGS, ids_like, without_endings

    ids = ids_like(paths, folder, trained)
    if not set(trained) <= set(ids):
        ids = paths if any(item.lower().endswith(ENDINGS) for item in trained) else without_endings(paths)
    return ids if len(set(ids)) == len(ids) else paths


WRITERS: dict[str, Callable[[pl.DataFrame, Path], object]] = {
    ".csv": lambda table, path: table.write_csv(path),
    ".tsv": lambda table, path: table.write_csv(path, separator="\t"),
    ".jsonl": lambda table, path: table.write_ndjson(path),
    ".parquet": lambda table, path: table.write_parquet(path),
}


def _write(table: pl.DataFrame, file: Path) -> None:
    import polars as pl

    from dissensus.base.files import written_whole

    with written_whole(file) as part:
        try:
            WRITERS[file.suffix.lower()](table, part)
        except pl.exceptions.PolarsError as error:  # which tells of a full disk in its own words
            raise OSError(str(error)) from error


def _show(found: Predicted, to: Console) -> None:
    told, classes = found.summary, found.classes
    heat = "" if found.temperature is None else f", after a temperature of {found.temperature:.3f}"
    times = dict(zip(*found.table["predicted"].value_counts(), strict=True))
    shares = sorted(told["shares"].items(), key=lambda pair: -pair[1])
    rows = [[shown(name), f"{share:.3f}", f"{times.get(name, 0):,}"] for name, share in shares[:SHOWN]]
    title = f"{many(len(found.ids), 'item')} by run {found.run.name} ({in_words(found.run)}){heat}"
    show_table(title, ["class", "mean probability", "items predicted"], rows, console=to)
    if len(shares) > SHOWN:
        rest = sum(share for _, share in shares[SHOWN:])
        to.print(f"and {len(shares) - SHOWN:,} other classes, together {rest:.3f}")
    to.print(
        f"\nHow sure: the most probable class has {told['top_probability']:.3f} on average, and the mean entropy is "
        f"{told['entropy']:.3f} nats (0: sure, {log(len(classes)):.3f}: all classes alike).\n"
    )
    disputed = [
        [found.ids[place], f"{found.entropy[place]:.3f}", _largest(classes, found.probs[place])]
        for place in found.most_disputed
    ]
    show_table("Most disputed items, as the model expects", ["item", "entropy", "probabilities"], disputed, console=to)


def _largest(classes: Sequence[str], probs: NDArray[np.float64]) -> str:
    best = [f"{shown(classes[place])} {probs[place]:.3f}" for place in (-probs).argsort(kind="stable")]
    return first(best, NAMED)
