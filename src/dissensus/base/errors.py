"""Errors that a user can act on: what was given, what was expected, what to do, and where."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from difflib import get_close_matches
from types import ModuleType
from typing import Any

from dissensus.base.words import listed


class DissensusError(Exception):
    """Anything a user can mend. The command prints it in one piece and exits with 2, never with a traceback."""


class InputError(DissensusError, ValueError):
    """The data, the file or the argument that was given cannot be used as it is.

    Where keywords would mend it, the message ends with them: those to ``give`` a value, which may be said, and those to
    ``switch_on``. They are kept apart from its words, since the command has options in their place.

    >>> error = InputError("the columns are task and what; say which is the label", give=["label"])
    >>> str(error)
    'the columns are task and what; say which is the label with label=...'
    >>> error.told(keyword="--{} ...")
    'the columns are task and what; say which is the label with --label ...'
    >>> InputError("two votes have no input; leave them out", give=['others="drop"']).told(keyword="--option {}=...")
    'two votes have no input; leave them out with --option others="drop"'
    >>> InputError("classes are numbers; say that they are ratings", switch_on=["ordered"]).told(switch="--{}")
    'classes are numbers; say that they are ratings with --ordered'
    """

    def __init__(self, message: str, *, give: Iterable[str] = (), switch_on: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.give, self.switch_on = tuple(give), tuple(switch_on)

    def __str__(self) -> str:
        return self.told()

    def told(self, keyword: str = "{}=...", switch: str = "{}=True") -> str:
        """The message, with keywords written as whoever reads it writes them."""
        given = [one.partition("=") for one in self.give]
        values = [keyword.format(name).replace("...", value or "...") for name, _, value in given]
        mends = [*values, *map(switch.format, self.switch_on)]
        return f"{self.args[0]} with {listed(mends)}" if mends else str(self.args[0])


class PlanError(InputError):
    """A plan that cannot be carried out; its message lists every mistake, not only the first."""


class MissingDataError(InputError):
    """Files of a named data set are not in the data folder."""


class StoreError(DissensusError, OSError):
    """A run store that cannot be read or written."""


class DownloadError(DissensusError, OSError):
    """A file that could not be brought here; the message says how to bring it by hand."""


class MissingExtra(DissensusError, ImportError):
    """A part of dissensus was used whose dependencies are not installed."""


def require(module: str, extra: str) -> ModuleType:
    """Import ``module``, or say which extra brings it.

    >>> require("json", extra="train").dumps([1])
    '[1]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(
            f"{module.partition('.')[0]} is needed for this and could not be imported ({error}). "
            f'Install it with: pip install "dissensus[{extra}]"'
        ) from None


def unknown(kind: str, given: Any, known: Iterable[str]) -> str:
    """The sentence for a name that is not in a registry.

    >>> unknown("delivery", "sotf", ["soft", "sls"])
    "unknown delivery 'sotf'; did you mean 'soft'? Choose one of: soft, sls"
    """
    names = list(known)
    close = get_close_matches(str(given), names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return f"unknown {kind} {given!r}{hint} Choose one of: {', '.join(names)}"
