"""Files beside a page that it no longer has: what it wrote when it showed other numbers of votes, or more items."""

from __future__ import annotations

import re
from collections.abc import Collection
from pathlib import Path

from dissensus.report.place import told_beside

_PANEL = r"(-all-votes|-\d+-votes?-an-item(--[a-z]+-)?)?"  # the end of a name where there are several numbers of votes
_FIGURES = rf"figures/(by-votes|gallery-\d+|(differences|reliability|entropy|learning){_PANEL})\.(png|svg)"
_TABLES = rf"tables/((methods|verdicts|basin){_PANEL}\.md|(scores|seeds|verdicts|basin)\.csv|comparison\.json)"
_OWN = re.compile(f"{_FIGURES}|{_TABLES}")


def belongs(name: str) -> bool:
    """Whether a comparison's page names a file beside it so.

    >>> belongs("tables/methods-5-votes-an-item.md"), belongs("figures/gallery-3.svg"), belongs("tables/mine.md")
    (True, True, False)
    """
    return _OWN.fullmatch(name) is not None


def leftovers(folder: Path, files: Collection[str]) -> list[str]:
    """What the last comparison in ``folder`` wrote beside its page, and is not among ``files``; nobody else's files.

    Nothing where another page stands in the folder, or where figures or tables are elsewhere, behind a link: who else
    has files there is not known.
    """
    parts = [folder / part for part in ("figures", "tables")]
    another = any(path.name not in files for path in folder.glob("*.htm*"))
    if another or any(part.is_symlink() for part in parts) or not told_beside(folder).runs:
        return []
    there = [path for part in parts for path in part.glob("*") if path.is_file()]
    names = (path.relative_to(folder).as_posix() for path in there)
    return sorted(name for name in names if belongs(name) and name not in files)
