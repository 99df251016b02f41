"""Where the official data sets lie: one folder, laid out as their publishers lay them out."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from dissensus.base.errors import MissingDataError

# The same arrays without a pickle around them, as they are sometimes passed on; read where the official file is absent.
PLAIN = {"cifar-10n/CIFAR-10_human.pt": "cifar-10n/cifar10n.npz"}


def data_folder() -> Path:
    """The folder that ``DISSENSUS_DATA`` names, else ``dissensus`` in the platform's folder for caches."""
    named = os.environ.get("DISSENSUS_DATA")
    return Path(named).expanduser() if named else _caches() / "dissensus"


def data_file(file: str) -> Path:
    """Where a published file lies, or would lie, in the data folder."""
    path = data_folder() / file
    plain = data_folder() / PLAIN.get(file, file)
    return plain if plain.is_file() and not path.is_file() else path


def data_files(name: str, *files: str) -> list[Path]:
    """The files that data set ``name`` is read from, or an error that names every one that is not there."""
    paths = [data_file(file) for file in files]
    lost = [file for file, path in zip(files, paths, strict=True) if not path.is_file()]
    if lost:
        raise MissingDataError(
            f"{name} needs {', '.join(lost)} in {data_folder()}, but {'it is' if len(lost) == 1 else 'they are'} not "
            f"there. Run: dissensus data get {name}, which gets them or says from where, or point DISSENSUS_DATA "
            "at the folder that has them."
        )
    return paths


def _caches() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    named = Path(os.environ.get("XDG_CACHE_HOME") or "")
    return named if named.is_absolute() else Path.home() / ".cache"  # relative ones are to be ignored, by the standard
