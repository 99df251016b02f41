"""All commands as one program, and how it ends."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from typing import Annotated, NoReturn

import typer
from rich.markup import escape

from dissensus._version import __version__
from dissensus.base.errors import DissensusError, InputError
from dissensus.cli import compare, data, demo, diagnose, doctor, predict, report, reproduce, runs, train, votes
from dissensus.cli.exits import MISTAKE, STOPPED, TERMINATED
from dissensus.cli.reading import Reading
from dissensus.cli.telling import err, out


def flowing(text: str | None) -> str:
    """Paragraphs without the line ends of the source, for terminals of any width.

    >>> flowing("One\\nline.\\n\\n    Two\\n    lines.")
    'One line.\\n\\nTwo lines.'
    """
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in (text or "").split("\n\n"))


app = typer.Typer(
    name="dissensus",
    help="Train on what annotators actually said, and see what collapsing their votes costs.",
    epilog="New here? Run [bold]dissensus demo[/bold].",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for command, examples in (
    (demo.demo, demo.EXAMPLES),
    (votes.votes, votes.EXAMPLES),
    (train.train, train.EXAMPLES),
    (predict.predict, predict.EXAMPLES),
    (compare.compare, compare.EXAMPLES),
    (diagnose.diagnose, diagnose.EXAMPLES),
    (reproduce.reproduce, reproduce.EXAMPLES),
    (report.report, report.EXAMPLES),
    (doctor.doctor, doctor.EXAMPLES),
):
    reads = command in (compare.compare, train.train, predict.predict)
    app.command(help=flowing(command.__doc__), epilog=examples, cls=Reading if reads else None)(command)
app.add_typer(runs.app, name="runs")
app.add_typer(data.app, name="data")


@app.callback(invoke_without_command=True)
def _version(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        out.print(__version__)
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command; a user's mistake is one message and exit code 2, never a traceback."""
    words = sys.argv[1:] if arguments is None else arguments
    try:
        code = app(args=words, standalone_mode=False, obj=shlex.join(["dissensus", *words])) or 0
    except DissensusError as error:
        told = _told(error, words[0] if words else "")
        err.print(f"[bold red]{_kind(error)}:[/] {escape(told)}", soft_wrap=True)
        sys.exit(MISTAKE)
    except Exception as error:
        if not hasattr(error, "exit_code"):  # not a wrong option but a mistake of ours, which deserves its traceback
            raise
        error.show()  # type: ignore[attr-defined]
        sys.exit(error.exit_code)
    if code in (STOPPED, TERMINATED):
        err.print("Stopped. What is done is kept; the same command goes on from there.")
    sys.exit(code)


def _kind(error: DissensusError) -> str:
    """The name of the error as it is documented: that of the first public class it belongs to."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == DissensusError.__module__)


def _told(error: DissensusError, command: str) -> str:
    """Its message; keywords of Python's are options of votes, and for all others what ``--option`` takes."""
    if isinstance(error, InputError):
        return (
            error.told("--{} ...", "--{}") if command == "votes" else error.told("--option {}=...", "--option {}=true")
        )
    return str(error)
