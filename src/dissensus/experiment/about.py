"""Where and how a run was made: recorded beside it, and no part of its name."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dissensus
from dissensus.datasets import Dataset
from dissensus.delivery import DELIVERIES, METHODS, PUBLISHED, code_of
from dissensus.votes.summary import glance

PACKAGES = ("numpy", "scipy", "torch", "pydantic")
WHERE_USED = ("transformers", "tokenizers")


def about(seconds: float, device: str, source: Mapping[str, Any] | None, data: Dataset) -> dict[str, Any]:
    """What ``about.json`` holds; ``device`` by its name, ``data`` with all their votes."""
    import torch

    return {
        "dissensus": dissensus.__version__,
        "commit": commit(),
        "python": platform.python_version(),
        "packages": {
            name: version(name) for name in (*PACKAGES, *(name for name in WHERE_USED if name in sys.modules))
        },
        "platform": platform.platform(),
        "device": device,
        "threads": torch.get_num_threads(),
        "seconds": round(seconds, 3),
        "source": dict(source or {}),
        "votes": _votes(data),
    }


@lru_cache(1)  # all runs of a sweep are of the same data
def _votes(data: Dataset) -> dict[str, Any]:
    """How many they are, how far they agree, and what was left out or is odd: the file may be gone when a page is."""
    return {**glance(data.votes).as_json, "notes": list(data.votes.notes)}


def own_method(method: str) -> dict[str, str | None] | None:
    """What a method of one's own is made of; None for those of a release, whose versions say what they mean."""
    if method in PUBLISHED:
        return None
    chosen = METHODS[method]
    code = None if chosen.delivery in PUBLISHED else code_of(DELIVERIES[chosen.delivery])
    return {"delivery": chosen.delivery, "code": code, "recipe": str(chosen.recipe)}


@cache
def commit() -> str | None:
    """The last commit that changed this package, with "+" if files differ from it; None outside of a checkout.

    A package installed into an environment that lies inside of somebody else's repository is not tracked there, and
    gives None as well. Where the sources were sent without their repository, ``DISSENSUS_COMMIT`` may say it.
    """
    if told := os.environ.get("DISSENSUS_COMMIT"):
        return told
    home = Path(__file__).resolve().parents[1]
    last = _git(home, "log", "-1", "--format=%H", "--", ".")
    return last and last + ("+" if _git(home, "status", "--porcelain", "--", ".") else "")


def _git(home: Path, *words: str) -> str | None:
    try:
        done = subprocess.run(["git", "-C", str(home), *words], capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
