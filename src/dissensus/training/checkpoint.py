"""A run under way, as one file: what is needed to go on from the end of an epoch."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import torch
from torch import Tensor, nn

from dissensus.base.errors import InputError, require
from dissensus.base.files import parts_of, written_whole
from dissensus.training.held_out import Watch
from dissensus.training.recipe import Recipe, Seeds


@dataclass(frozen=True)
class Checkpoint:
    """Where a run leaves its state, and how often: at the end of an epoch when ``every`` seconds have passed, or after
    each ``epochs`` epochs. ``fit`` with an existing file goes on from it. Who gave the path removes the file.
    """

    path: str | os.PathLike[str]
    every: float = 60.0
    epochs: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.every, (int, float)) or not self.every >= 0:
            raise InputError(f"every must be a number of seconds of at least 0, but is {self.every!r}.")
        if self.epochs is not None and (not isinstance(self.epochs, int) or self.epochs < 1):
            raise InputError(f"epochs must be a whole number of at least 1, but is {self.epochs!r}.")

    def due(self, epochs: int, seconds: float) -> bool:
        """Whether to write, this long after the last time."""
        return seconds >= self.every or (self.epochs is not None and epochs >= self.epochs)

    def tidy(self) -> None:
        """Remove what processes left beside the file that were killed while they wrote it."""
        for part in parts_of(self.path):
            part.unlink(missing_ok=True)


@dataclass(frozen=True)
class Saved:
    """What a checkpoint holds. ``run`` says whose it is: parts by name, compared one by one."""

    run: dict[str, Any]
    history: list[dict[str, float]]
    tensors: dict[str, Tensor]

    def part(self, name: str) -> dict[str, Tensor]:
        """The tensors under this name, without it."""
        return {
            key.removeprefix(f"{name}."): value for key, value in self.tensors.items() if key.startswith(f"{name}.")
        }

    def into(self, tensors: Mapping[str, Tensor]) -> None:
        """Copy them in place over these, which have the same names."""
        with torch.no_grad():
            for name, ours in tensors.items():
                ours.copy_(self.tensors[name])


def identity(
    recipe: Recipe, seeds: Seeds, model: nn.Module, inputs: Tensor, first: Tensor, watch: Watch
) -> dict[str, Any]:
    """Whose checkpoint it is: what the run was given, the data and the labels of the first epoch by their hash."""
    sha = hashlib.sha256()
    for tensor in (inputs, first, *(part for items in watch.sets.values() for part in (items.inputs, items.human))):
        sha.update(repr((tensor.dtype, tensor.shape)).encode())
        sha.update(tensor.cpu().contiguous().numpy().data)
    return {
        "recipe": {"version": Recipe.version, **asdict(recipe)},
        "seeds": asdict(seeds),
        "model": {name: list(value.shape) for name, value in model.state_dict().items()},
        "data": {name: len(items.human) for name, items in watch.sets.items()} | {"sha256": sha.hexdigest()},
    }


def save(path: str | os.PathLike[str], saved: Saved) -> None:
    """As one safetensors file, which is there whole or not at all. JSON writes a float so that it reads the same."""
    require("safetensors", extra="train")
    from safetensors.torch import save_file

    tensors = {name: value.detach().cpu().contiguous() for name, value in saved.tensors.items()}
    about = {"run": saved.run, "history": saved.history, "sum": _sum(saved.run, saved.history, tensors)}
    with written_whole(path) as part:
        save_file(tensors, part, {name: json.dumps(value) for name, value in about.items()})
        with part.open("rb") as file:
            os.fsync(file.fileno())  # or a power cut leaves an empty file of that name


def _sum(run: dict[str, Any], history: list[dict[str, float]], tensors: Mapping[str, Tensor]) -> int:
    """Changes with any bit that a disk may lose; 0.06 s for the 134 MB of a resnet18."""
    found = crc32(json.dumps([run, history, sorted(tensors)]).encode())
    for name in sorted(tensors):
        found = crc32(tensors[name].reshape(-1).view(torch.uint8).numpy().data, found)
    return found


def load(path: str | os.PathLike[str], run: Mapping[str, Any]) -> Saved | None:
    """The checkpoint at this path, None where there is none yet; an error if it is damaged or another run's."""
    if not Path(path).exists():
        return None
    try:
        saved = read(path)
    except ValueError as error:
        raise InputError(f"{path} is no checkpoint, or damaged ({error}). Remove it to train from the start.") from None
    # A field that the recipe has got since then had its default.
    saved.run["recipe"] = asdict(Recipe()) | saved.run.get("recipe", {})
    expected = json.loads(json.dumps(run))
    if other := [part for part in expected if saved.run.get(part) != expected[part]]:
        raise InputError(
            f"{path} is the checkpoint of another run: its {' and '.join(other)} differ from those of this one. "
            "Remove it, or give this run a path of its own."
        )
    return saved


def read(path: str | os.PathLike[str]) -> Saved:
    """What was saved there, whosever it is; ValueError where it is not what was written."""
    require("safetensors", extra="train")
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            about = {name: json.loads(value) for name, value in file.metadata().items()}
            saved = Saved(about["run"], about["history"], {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
    except (SafetensorError, OSError, KeyError, AttributeError) as error:
        raise ValueError(str(error)) from None
    if "sum" in about and about["sum"] != _sum(saved.run, saved.history, saved.tensors):  # older ones have none
        raise ValueError("its content is not what was written")
    return saved
