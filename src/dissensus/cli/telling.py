"""Saying things: results on standard output, stages and notes on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape

out = Console(highlight=False)
err = Console(stderr=True, highlight=False)


def tell_notes(notes: Sequence[str]) -> None:
    for note in notes:
        tell_note(note)


def tell_note(note: str) -> None:
    """One line, however long: it may hold a path or a command to copy."""
    err.print(f"[yellow]Note:[/] {escape(note)}", soft_wrap=True)


def print_json(content: Any) -> None:
    sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False, default=str) + "\n")


def print_text(text: str) -> None:
    """As it is; whoever reads it may have had enough before its end, as head has."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python tries again when it ends


@contextmanager
def waiting(what: str, quiet: bool) -> Iterator[None]:
    """A stage of a command: something that moves in a terminal, a line elsewhere."""
    if err.is_terminal and not quiet:
        with err.status(f"{what} ..."):
            yield
        return
    if not quiet:
        err.print(f"{what} ...")
    yield
