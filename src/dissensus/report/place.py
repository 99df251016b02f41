"""Where a page belongs: a comparison that is made again, or has grown, renews its page; the page of another stays."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from dissensus.base.words import first, listed
from dissensus.report.comparison import Comparison
from dissensus.report.pairing import NAME_FIELDS, short

CONTENT = ("data.votes", "data.inputs")  # digests, which tell people nothing: files have names
ENCODER = "model.options.encoder"  # another one; what it is called is in "model.encoder"


def page_file(out: str | os.PathLike[str]) -> Path:
    """The page itself: a name that ends in ``.html``, or ``index.html`` in a folder.

    >>> page_file("report").as_posix(), page_file("deep/one.html").as_posix()
    ('report/index.html', 'deep/one.html')
    """
    page = Path(out)
    return page if page.suffix.lower() in (".html", ".htm") else page / "index.html"


@dataclass(frozen=True)
class Page:
    """A page that is there, as its tables tell of it; they tell nothing of one that is not ours."""

    runs: frozenset[str] = frozenset()
    title: str = ""  # of its data; "" where an older page does not tell
    setting: Mapping[str, Any] = field(default_factory=dict)
    panels: Sequence[Mapping[str, Any]] = ()

    def renewed_by(self, runs: Collection[str]) -> bool:
        """Whether all that it shows is shown again: the same runs, by name, or more methods, seeds and votes."""
        return bool(self.runs) and self.runs <= set(runs)

    def beside(self, comparison: Comparison) -> str:
        """In what it is another one's than ``comparison``."""
        if not self.runs:
            return "not of a comparison"
        return _other_setting(self, comparison) or _more(self.panels, comparison)


def page_at(out: str | os.PathLike[str]) -> Page | None:
    """The page that is there, if any."""
    page = page_file(out)
    return told_beside(page.parent) if page.exists() else None


def told_beside(folder: Path) -> Page:
    """The comparison that the tables in ``folder`` tell of."""
    try:
        told = json.loads((folder / "tables" / "comparison.json").read_text("utf-8"))
        runs = frozenset(run for panel in told["panels"] for names in panel["runs"].values() for run in names)
        return Page(runs, str(told.get("title", "")), told["setting"], told["panels"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Page()


def own_place(runs: Collection[str], folder: str | os.PathLike[str]) -> Path:
    """``folder``, or one with a number behind that name: the first without a page, or with one that ``runs`` renew."""
    return next(place for place in _places(Path(folder)) if (page := page_at(place)) is None or page.renewed_by(runs))


def _places(folder: Path) -> Iterator[Path]:
    yield folder
    yield from (folder.with_name(f"{folder.name}-{number}") for number in count(2))


def _other_setting(page: Page, comparison: Comparison) -> str:
    there, here = page.setting, comparison.setting
    names = [name for name in dict.fromkeys((*here, *there)) if name not in NAME_FIELDS]
    differ = [name for name in names if there.get(name) != here.get(name)]
    told = []
    if content := [name.removeprefix("data.") for name in differ if name in CONTENT]:
        told.append(_other_data(page.title, comparison.title, content))
    for name in differ:
        if name == ENCODER and there.get("model.encoder") != here.get("model.encoder"):
            name = "model.encoder"
        if name not in CONTENT:
            told.append(f"{name} {short(there.get(name))} there, {short(here.get(name))} here")
    return first(told, 3)


def _other_data(there: str, here: str, content: Sequence[str]) -> str:
    """Whose data they are; where one file's, or nobody knows, what of them is another.

    >>> _other_data("labels.csv", "new.csv", ["votes"]), _other_data("labels.csv", "labels.csv", ["votes", "inputs"])
    ('labels.csv there, new.csv here', 'labels.csv had other votes and inputs')
    """
    if there and there != here:
        return f"{there} there, {here} here"
    return f"{there} had other {listed(content)}" if there else f"of other {listed(content)}"


def _more(panels: Sequence[Mapping[str, Any]], comparison: Comparison) -> str:
    """The methods, seeds and numbers of votes that the other one has in addition."""
    votes = {panel.votes for panel in comparison.panels}
    seeds = {seed for panel in comparison.panels for seed in panel.seeds}
    more = [method for panel in panels for method in panel["runs"] if method not in comparison.methods]
    more += [panel["votes"] for panel in panels if panel["votes"] not in votes]
    lacking = list(dict.fromkeys(seed for panel in panels for seed in panel["seeds"] if seed not in seeds))
    more += [f"seed{'s' if len(lacking) > 1 else ''} {first(lacking)}"] if lacking else []
    return f"there with {listed(list(dict.fromkeys(more)))} as well" if more else "of other runs"
