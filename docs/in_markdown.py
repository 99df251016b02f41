"""Markdown from what was measured."""

from __future__ import annotations

import textwrap

CHANGED = " ‡"  # beside a claim whose rule was changed when results had been seen


def joined(*blocks: str) -> str:
    """Blocks with a line between; tables and lists as they are, texts wrapped."""
    return "\n\n".join(block if block[0] in "|-" else wrapped(block) for block in blocks if block)


def wrapped(text: str, indent: str = "") -> str:
    """``indent``: that of all lines but the first."""
    options = {"break_long_words": False, "break_on_hyphens": False, "subsequent_indent": indent}
    return textwrap.fill(" ".join(text.split()), 120, **options)


def item(text: str) -> str:
    """A line of a list."""
    return wrapped(f"- {text}", indent="  ")


def table(head: tuple[str, ...], rows: list[str], centred: int = 0) -> str:
    """The first column to the left, numbers to the right, so many of the last in the middle."""
    sides = "|---" + "|---:" * (len(head) - 1 - centred) + "|:---:" * centred + "|"
    return "\n".join([table_row(*head), sides, *rows])


def table_row(*cells: object) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def bold(best: bool, *cells: str) -> tuple[str, ...]:
    return tuple(f"**{cell}**" for cell in cells) if best else cells


def if_any(parts: list[str], text: str, between: str = ", ") -> str:
    return text.format(between.join(parts)) if parts else ""


def gpu_name(*names: str) -> str:
    return " and ".join(name.removeprefix("NVIDIA ") for name in names)
