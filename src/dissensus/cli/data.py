"""``dissensus data``: the official data sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from dissensus.cli import options
from dissensus.cli.tables import show_table
from dissensus.cli.telling import err, out, print_json, tell_note

app = typer.Typer(help="The official data sets: list them, get them, find them.", no_args_is_help=True)


@app.command("list", epilog="Example: [bold]dissensus data list[/bold]")
def data_list(as_json: options.Json = False) -> None:
    """The data sets that have a name, and whether they are here."""
    from dissensus.datasets import OFFICIAL, data_path

    if as_json:
        keys = ("title", "items", "size", "licence", "there", "home")
        print_json([{"name": name} | {key: getattr(data, key) for key in keys} for name, data in OFFICIAL.items()])
        return
    rows = [
        [
            name,
            data.title,
            f"{data.items:,}",
            "by hand" if data.home else f"{data.size / 1e6:,.0f} MB",
            data.licence,
            "yes" if data.there else "no",
        ]
        for name, data in OFFICIAL.items()
    ]
    show_table("", ["name", "what", "items", "download", "licence", "here"], rows)
    for name, data in OFFICIAL.items():
        if data.home and not data.there:
            files = ", ".join(Path(file).name for file in data.files)
            tell_note(f"{name}: get {files} from {data.home} into {data_path(name)}")


@app.command(
    "get",
    epilog="Examples: [bold]dissensus data get cifar10h[/bold]; "
    "[bold]DISSENSUS_DATA=sets dissensus data get svhn[/bold]",
)
def data_get(
    name: Annotated[str, typer.Argument(help="The name of a data set; see: dissensus data list.")],
    quiet: options.Quiet = False,
) -> None:
    """Download a data set and all it needs; a download that broke off goes on, what is here and whole stays."""
    from dissensus.datasets import OFFICIAL, data_path, get

    with _downloads(quiet) as progress:
        came = get(name, progress)
    for path in came:
        out.print(str(path), markup=False, soft_wrap=True)
    if not came:
        where = "it comes with dissensus" if not OFFICIAL[name].files else f"it is here, and whole: {data_path(name)}"
        out.print(f"{name} needs no download: {where}", markup=False, soft_wrap=True)


@contextmanager
def _downloads(quiet: bool) -> Iterator[Callable[[str], Callable[[int, int | None], None]]]:
    """For every address that is downloaded a bar in a terminal, lines elsewhere."""
    if not (quiet or err.is_terminal):
        yield _lines
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err, transient=True, disable=quiet) as bars:

        def bar(url: str) -> Callable[[int, int | None], None]:
            task = bars.add_task(escape(url.rpartition("/")[2]), total=None)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield bar


def _lines(url: str) -> Callable[[int, int | None], None]:
    """A line at the start, and one for every tenth that has come; for every 10 MB where the whole is not known."""
    name, told = url.rpartition("/")[2], -1

    def tell(done: int, total: int | None) -> None:
        nonlocal told
        step = done * 10 // total if total else done // 10**7
        if step > told:
            told = step
            of = f" of {total / 1e6:,.1f}" if total else ""
            err.print(f"{name}: {done / 1e6:,.1f}{of} MB", markup=False, soft_wrap=True)

    return tell


@app.command("path", epilog='Example: [bold]ls "$(dissensus data path cifar10h)"[/bold]')
def data_path_command(name: Annotated[str | None, typer.Argument(help="The name of a data set.")] = None) -> None:
    """The folder of the data sets, or that of one."""
    from dissensus.datasets import data_path

    out.print(str(data_path(name)), markup=False, soft_wrap=True)
