"""``dissensus demo``: a comparison that needs nothing but the package."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dissensus.cli import options
from dissensus.cli.compare import compare_and_report
from dissensus.cli.extras import need

EXAMPLES = "Example: [bold]dissensus demo[/bold], then open dissensus-demo/index.html"


def demo(
    folder: Annotated[Path, typer.Option("--out", "-o", help="Where to put the runs and the page.")] = Path(
        "dissensus-demo"
    ),
    jobs: options.Jobs = 2,
    as_json: options.Json = False,
    quiet: options.Quiet = False,
) -> None:
    """The whole flow on embedded data whose truth is known: four deliveries, eight seeds, about a minute."""
    need("train", "report")
    from dissensus.experiment import DEMO

    compare_and_report(DEMO, folder / "runs", folder, {"jobs": jobs}, None, as_json, quiet)
