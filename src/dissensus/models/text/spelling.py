"""Options of text models: those that are given, and what the encoder says where they are not."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from dissensus.base.errors import InputError, unknown
from dissensus.models.classifier import whole
from dissensus.models.text.encoder import Encoder

LEAST = 8  # tokens: two texts of a pair and what stands around them


def spelt(
    name: str,
    defaults: Mapping[str, Any],
    encoder: Encoder,
    given: Mapping[str, Any],
    more: Collection[str] = (),
) -> dict[str, Any]:
    """``defaults`` and the length, overridden by what is given; the encoder by its content. ``more`` may be given."""
    defaults = {**defaults, "length": encoder.length}
    for option in given:
        if option not in (*defaults, *more, "encoder"):
            raise InputError(unknown(f"option of {name}", option, [*defaults, *more]))
    found = {**defaults, **given, "encoder": encoder.digest}
    whole("length", found["length"], LEAST)
    if found["length"] > encoder.most:
        raise InputError(f"length is {found['length']}, but {encoder.name} takes at most {encoder.most} tokens.")
    return found


def one_of(name: str, given: Any, known: Collection[Any]) -> None:
    if given not in known:
        raise InputError(unknown(name, given, [str(one) for one in known]))
