"""What every benchmark writes down beside its numbers: the code, the packages and the machine; no names, no paths."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PACKAGES = ("numpy", "scipy", "polars", "torch")


def no_options(about: str | None) -> None:
    """For a script that takes none: ``--help`` says what it is about, anything else is refused before it begins."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()


def environment(packages: tuple[str, ...] = PACKAGES) -> dict[str, Any]:
    """The version and commit of dissensus, the installed ``packages``, and the machine in words."""
    from dissensus._version import __version__  # of these sources, installed or not

    return {
        "dissensus": __version__,
        "commit": _commit(),
        "python": platform.python_version(),
        "packages": {name: version for name in packages if (version := _version(name)) is not None},
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "cpu": _cpu(),
            "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
            "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        },
    }


def write_result(name: str, result: dict[str, Any], command: str, packages: tuple[str, ...] = PACKAGES) -> Path:
    """``benchmarks/results/<name>.json``: the result, the command that made it and the environment, keys sorted."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    told = {"command": command, "environment": environment(packages), "result": result}
    path.write_text(json.dumps(told, indent=2, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8")
    return path


def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit, with ``+`` where files of the package differ from it; from the environment where there is no git."""
    if given := os.environ.get("DISSENSUS_COMMIT"):
        return given
    git = ["git", "-C", str(HERE.parent)]
    try:
        commit = subprocess.run([*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True)
        changed = subprocess.run([*git, "status", "--porcelain", "src"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return commit.stdout.strip() + ("+" if changed.stdout.strip() else "")


def _cpu() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"
