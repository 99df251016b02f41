"""Files beside a page that it no longer has: what it wrote when it showed other numbers of votes, or more items.

A page lists what it wrote, so that nothing else is ever taken for its own.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

LIST = "tables/files.json"


def file_list(page: str, files: Collection[str]) -> bytes:
    """The list itself: which page wrote these files, by their names in its folder."""
    return (json.dumps({"page": page, "files": sorted({*files, LIST})}, indent=1) + "\n").encode()


def leftovers(page: Path, files: Collection[str]) -> list[str]:
    """What ``page`` wrote beside itself the last time, and is not among ``files`` now.

    Nothing where another page was the last to write there, or where figures or tables are elsewhere, behind a link.
    """
    parts = {part: page.parent / part for part in ("figures", "tables")}
    try:
        told = json.loads((page.parent / LIST).read_text("utf-8"))
        before = [Path(name) for name in told["files"]] if told["page"] == page.name else []
    except (OSError, ValueError, KeyError, TypeError):
        return []
    if any(part.is_symlink() for part in parts.values()):
        return []
    own = (name for name in before if len(name.parts) == 2 and name.parts[0] in parts and name.name != "..")
    return sorted(name.as_posix() for name in own if name.as_posix() not in files)
