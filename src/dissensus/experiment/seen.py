"""What a model sees of a data set: images and features as they are, texts through an encoder.

A plan knows an encoder by its content. Where it lies, a folder or a name on a hub, is said by the
:class:`~dissensus.experiment.Source` of the data; the default encoder lies in a package, and need not be said.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from dissensus.base.errors import InputError, PlanError, unknown
from dissensus.datasets import Dataset, Texts
from dissensus.experiment.plan import ModelPart
from dissensus.records.canonical import canonical_json

if TYPE_CHECKING:
    from torch import nn

    from dissensus.models.text import Encoder
    from dissensus.models.text.sentences import Progress
    from dissensus.models.text.tokens import Say

OURS = ("small-cnn", "mlp", "resnet18", "frozen", "fine-tuned")  # models by name, told without torch


def model_part(name: str, options: Mapping[str, Any], data: Dataset, encoder: str | None = None) -> ModelPart:
    """The model as a plan has it: one of texts with its encoder by content, and all that it leaves to the encoder."""
    from dissensus.models import MODELS
    from dissensus.models.text import TEXT_MODELS, find_encoder

    known, others = (TEXT_MODELS, MODELS) if data.texts else (MODELS, TEXT_MODELS)
    if name in others:
        named = name if data.texts else encoder or name  # of a model on the hub, the name that was given
        raise InputError(f"{named} is no model of {data.kind}, which the inputs are. Choose one of: {', '.join(known)}")
    if name not in known:
        places = f"; or give the folder of a Hugging Face model, or its name: --model fine-tuned --encoder {name}"
        raise InputError(unknown("model", name, known) + (places if data.texts else ""))
    if not data.texts:
        if encoder is not None:
            raise InputError(f"an encoder is for texts, but the inputs are {data.kind}.")
        return ModelPart(name=name, options=dict(options))
    found = find_encoder(encoder)
    return ModelPart(name=name, encoder=found.name, options=TEXT_MODELS[name].spelt_out(found, **options))


def is_place(name: Any) -> bool:
    """Whether the name of a model says where one lies: a path, a folder that is here, or a name on the hub.

    A name that is like one of ours is none: it is more likely misspelt.

    >>> is_place("./encoder"), is_place("owner/encoder"), is_place("roberta-base"), is_place("mlp"), is_place("frozn")
    (True, True, True, False, False)
    """
    if not isinstance(name, str) or "/" in name or os.sep in name:
        return isinstance(name, str)
    if name in OURS or (not Path(name).is_dir() and get_close_matches(name, OURS)):
        return False
    from dissensus.models.text import is_hub_name

    return Path(name).is_dir() or is_hub_name(name)


def seen(model: ModelPart, data: Dataset, encoder: str | None = None) -> Dataset:
    """The same items and votes, with the inputs as this model of a plan takes them; made once, and remembered."""
    return _seen(canonical_json(model.model_dump()), data, encoder) if data.texts else data


@lru_cache(4)
def _seen(model: str, data: Dataset, encoder: str | None) -> Dataset:
    return encoded(ModelPart.model_validate_json(model), data, encoder)


def encoded(
    model: ModelPart,
    data: Dataset,
    encoder: str | None = None,
    progress: Progress = lambda done, of: None,
    say: Say = lambda line: None,
) -> Dataset:
    """The same, with word of how far it is: features that the cache does not have are computed here."""
    assert isinstance(data.inputs, Texts)
    return replace(data, inputs=read_by(model, data.inputs, the_encoder(model, encoder), progress, say))


def read_by(model: ModelPart, texts: Texts, encoder: Encoder, progress: Progress, say: Say) -> NDArray[Any]:
    """Texts as this model of a plan takes them: features or tokens."""
    from dissensus.models.text import TEXT_MODELS

    return TEXT_MODELS[model.name].inputs(texts, encoder, progress, say, **_options(model))


def factory(model: ModelPart, data: Dataset, encoder: str | None = None) -> Callable[[], nn.Module]:
    """What makes fresh models of a plan for a data set as they see it."""
    return factory_for(model, data.array.shape[1:], data.votes.n_classes, encoder)


def factory_for(
    model: ModelPart, shape: tuple[int, ...], n_classes: int, encoder: str | None = None
) -> Callable[[], nn.Module]:
    """The same for items of this shape, as the model sees them."""
    from dissensus.models import MODELS, make

    if model.name in MODELS:
        return make(model.name, shape, n_classes, **model.options)
    return _text_factory(canonical_json(model.model_dump()), shape, n_classes, encoder)


@lru_cache(4)
def _text_factory(model: str, shape: tuple[int, ...], n_classes: int, encoder: str | None) -> Callable[[], nn.Module]:
    """Remembered, since it holds the weights that every run begins with."""
    from dissensus.models.text import TEXT_MODELS

    part = ModelPart.model_validate_json(model)
    return TEXT_MODELS[part.name].factory(the_encoder(part, encoder), shape, n_classes, **_options(part))


def _options(model: ModelPart) -> dict[str, Any]:
    """All but the encoder, which is given by itself."""
    return {name: value for name, value in model.options.items() if name != "encoder"}


def the_encoder(model: ModelPart, where: str | None) -> Encoder:
    """The encoder that a plan means, and no other."""
    from dissensus.models.text import find_encoder

    found, meant = find_encoder(where), model.options.get("encoder")
    if found.digest != meant:
        raise PlanError(
            f"the plan is about the encoder {model.encoder} ({meant!s:.12}), but the one that was found, {found.name} "
            f"({found.digest:.12}), is another. Say where the former lies: --encoder FOLDER."
        )
    return found
