"""What pages are made of: figures that a page holds, templates, and files that are written all or not at all."""

from __future__ import annotations

import base64
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias

from dissensus.base.errors import StoreError, require
from dissensus.report.figures import rendered

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Files: TypeAlias = dict[str, bytes]  # by their names


@dataclass(frozen=True)
class Picture:
    """A figure as the page embeds it."""

    uri: str
    alt: str
    caption: str


def picture(files: Files, name: str, figure: Figure | None, alt: str, caption: str) -> Picture | None:
    """The figure as the page embeds it; what it is as files of its own is added to ``files``."""
    if figure is None:
        return None
    drawn = rendered(figure)
    files |= {f"{name}.{kind}": content for kind, content in drawn.items()}
    return Picture(uri(drawn["svg"], "image/svg+xml"), alt, caption)


def uri(content: bytes, kind: str) -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"


def render(template: str, content: Mapping[str, Any]) -> str:
    """A page from a template beside this file."""
    jinja2 = require("jinja2", extra="report")
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("dissensus.report", package_path=""),
        autoescape=True,  # names come from users' files
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["signed"] = signed
    return str(environment.get_template(template).render(content))


def signed(text: str) -> str:
    """A sentence with minus signs before its numbers; hyphens within words and spans stay.

    >>> signed("-0.002 to 0.001 [-0.01, 0.02] of md-agreement, seeds 0-4")
    '−0.002 to 0.001 [−0.01, 0.02] of md-agreement, seeds 0-4'
    """
    return re.sub(r"(?<![\w.])-(?=[\d.])", "−", text)


def check_folder(folder: str | os.PathLike[str]) -> None:
    """Whether a page can be written there: better asked before hours of training than told after them."""
    path = Path(folder)
    made = [part for part in (path, *path.parents) if not part.exists()]
    write_files({}, path)
    for part in made:  # no trace, should training not come to an end
        with suppress(OSError):  # unless somebody has put something there meanwhile
            part.rmdir()


def write_files(files: Files, folder: Path, instead_of: Iterable[str] = ()) -> None:
    """All files, or none: they are written aside, which is where a disk is found to be full, and then moved.

    Those that they stand ``instead_of`` go at the end.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".part-", dir=folder) as aside:
            for name, content in files.items():
                (Path(aside) / name).parent.mkdir(exist_ok=True)
                (Path(aside) / name).write_bytes(content)
            for name in files:
                (folder / name).parent.mkdir(exist_ok=True)
                (Path(aside) / name).replace(folder / name)
        for name in instead_of:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        with suppress(OSError):
            folder.rmdir()  # if it was made here, and so is empty
        raise StoreError(f"cannot write the page to {folder}: {error.strerror or error}.") from None
