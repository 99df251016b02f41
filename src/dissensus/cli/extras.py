"""The extras that a command needs."""

from __future__ import annotations

from importlib.util import find_spec

from dissensus.base.errors import MissingExtra

EXTRAS = {"train": ("torch", "pydantic"), "report": ("matplotlib", "jinja2")}  # what they bring, by its module


def need(*extras: str) -> None:
    """All that a command needs is asked for before it starts, not when minutes of training are done."""
    missing = [module for extra in extras for module in EXTRAS[extra] if find_spec(module) is None]
    if missing:
        raise MissingExtra(
            f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} needed for this and not installed. "
            f'Install all of it with: pip install "dissensus[{",".join(extras)}]"'
        )
