"""A model that a run kept: its weights, how its inputs are scaled, and what it says of items that are new to it.

The weights are a safetensors file; what its inputs were, in words, and their scaling are its metadata. So neither the
inputs nor the votes of the training are needed again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError, PlanError, require
from dissensus.base.files import written_whole
from dissensus.base.words import many
from dissensus.datasets import Inputs, Texts, inputs_in_words
from dissensus.datasets.dataset import check_inputs, image_shape
from dissensus.evaluation.predictions import Predictions
from dissensus.experiment.machine import device
from dissensus.experiment.plan import Plan, refuse_other_versions
from dissensus.experiment.seen import factory_for, read_by, the_encoder
from dissensus.records import StoredRun
from dissensus.records.run import WEIGHTS

if TYPE_CHECKING:
    from torch import nn

    from dissensus.models.text import Encoder
    from dissensus.models.text.sentences import Progress
    from dissensus.models.text.tokens import Say
    from dissensus.training import Fitted
    from dissensus.training.inputs import Normalise

TEXTS = 64  # that are predicted at once


def predict_with(
    run: StoredRun | str | os.PathLike[str],
    inputs: Inputs,
    *,
    encoder: str | None = None,
    progress: Progress = lambda done, of: None,
    say: Say = lambda line: None,
) -> Predictions:
    """What the model of a run says of new items, in their order: ``.probs`` are (items, classes).

    ``run``, or its folder, must have kept its model (``--save-model``, or ``carry_out(keep_model=True)``): the weights
    of its best epoch. Inputs are of the kind and shape that it was trained with, float32 features, uint8 images or
    :class:`~dissensus.datasets.Texts`, and are scaled, or read by the encoder, as they were then. Grey images take
    three equal channels where it was trained in colour, as a grey file among coloured ones did. An encoder is looked
    for where it lay, or at ``encoder``; ``progress`` is given how many of how many texts are read.

    The classes are ``run.plan["data"]["classes"]``; :func:`~dissensus.evaluation.selected_temperature` is a temperature
    for ``softmax(predictions.logits, temperature)``.
    """
    run = run if isinstance(run, StoredRun) else StoredRun.at(run)
    refuse_without_model(run)
    check_inputs(inputs)
    plan = Plan.from_dict(run.plan)
    refuse_other_versions(plan, "model")
    takes, prepare = _scaling(run)
    inputs = _in_colour(inputs, takes)
    if inputs_in_words(inputs) != takes:
        raise _other_kind(run, takes, inputs_in_words(inputs))
    if isinstance(inputs, Texts):
        encoder = encoder or run.source.get("encoder")
        array = read_by(plan.model, inputs, _encoder_of(run, plan, encoder), progress, say)
    else:
        array = inputs
    model = factory_for(plan.model, array.shape[1:], len(plan.data.classes), encoder)().to(device())
    load_weights(model, run)
    return Predictions(_logits(model, array, prepare, progress), int(run.predictions["best_epoch"]))


def save_weights(path: Path, fitted: Fitted, takes: str) -> None:
    """Those of the best epoch of a model that ``takes`` such inputs."""
    require("safetensors", extra="train")
    from safetensors.torch import save_file

    assert fitted.best_state is not None
    told = {part: json.dumps(getattr(fitted.prepare, part).flatten().tolist()) for part in ("scale", "shift")}
    with written_whole(path) as part:
        save_file(fitted.best_state, part, {"inputs": takes, **told})


def load_weights(model: nn.Module, run: StoredRun) -> None:
    require("safetensors", extra="train")
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        model.load_state_dict(load_file(run.path / WEIGHTS))
    except (OSError, SafetensorError, RuntimeError) as error:  # the last where they are those of another model
        raise run.damaged(WEIGHTS, error) from None


def refuse_without_model(run: StoredRun) -> None:
    """A run that kept its weights has a model; others can be made again with it."""
    if run.has_weights:
        return
    if run.diverged is not None:
        raise InputError(f"run {run.name} diverged in epoch {run.diverged}, so there is no model to predict with.")
    raise InputError(
        f"run {run.name} did not keep its model, and predicting needs it; all else of the run is there. Give the "
        "command that made it again, with --save-model: it is trained again, and replaced by the same run with its "
        "model."
    )


def _scaling(run: StoredRun) -> tuple[str, Normalise]:
    """What the inputs of the run were, in words, and what turns a batch of such inputs into what the model takes."""
    import torch
    from safetensors import SafetensorError, safe_open

    from dissensus.training.inputs import AsTheyAre, Normalise

    try:
        with safe_open(run.path / WEIGHTS, "pt") as file:
            told = file.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise run.damaged(WEIGHTS, error) from None
    if not {"inputs", "scale", "shift"} <= told.keys():
        raise InputError(
            f"run {run.name} kept its weights by an earlier version, without how inputs are scaled for them. Remove "
            f"it, dissensus runs rm {run.name} --store {run.path.parent}, and give the command that made it again."
        )
    scale, shift = (torch.tensor(json.loads(told[part]), dtype=torch.float32) for part in ("scale", "shift"))
    if not len(scale):
        return told["inputs"], AsTheyAre(scale, shift)
    sides = (1, -1, 1, 1) if told["inputs"].startswith("images") else (1, -1)
    return told["inputs"], Normalise(scale.view(sides), shift.view(sides))


def _in_colour(inputs: Inputs, takes: str) -> Inputs:
    if isinstance(inputs, Texts) or inputs.ndim != 4 or inputs.shape[1] != 1:
        return inputs
    coloured: NDArray[np.uint8] = np.repeat(inputs, 3, axis=1).astype(np.uint8, copy=False)
    return coloured if inputs_in_words(coloured) == takes else inputs


def _other_kind(run: StoredRun, takes: str, given: str) -> InputError:
    told = f"run {run.name} was trained with {takes}, but these are {given}."
    if {takes, given} == {"texts", "pairs of texts"}:
        if given == "texts":
            return InputError(
                f"{told} The second text of an item is the column text_pair, or named", give=["text_pair"]
            )
        return InputError(f"{told} Leave the column text_pair out.")
    if (ours := image_shape(takes)) and (theirs := image_shape(given)):
        channels, height, width = ours
        if (height, width) == theirs[1:]:
            return InputError(f"{told} Bring them to {'grey' if channels == 1 else many(channels, 'channel')}, too.")
        told = f"{told} Bring a folder of images to that height and width"
        return InputError(told, give=[f"size=[{height},{width}]"])
    told = f"{told} Give it items of the same kind, made in the same way."
    if takes.startswith("features") and given.startswith("features"):
        told += " The first column of a table is read as its ids, if none is named; rows without ids can be an .npy."
    return InputError(told)


def _encoder_of(run: StoredRun, plan: Plan, where: str | None) -> Encoder:
    try:
        return the_encoder(plan.model, where)
    except PlanError:
        raise
    except InputError as error:
        raise InputError(
            f"run {run.name} reads texts by the encoder {plan.model.encoder}, which cannot be had: {error} "
            "Where it lies elsewhere, say so: --encoder FOLDER."
        ) from None


def _logits(model: nn.Module, inputs: NDArray, prepare: Normalise, progress: Progress) -> NDArray[np.float32]:
    """In 32 bits, whatever the precision of the training; texts with those of like length, as in training."""
    import torch

    from dissensus.evaluation.predict import device_of, predict
    from dissensus.training import Engine
    from dissensus.training.inputs import checked, cut, is_tokens, lengths_of
    from dissensus.training.precision import arithmetic

    prepare, x = prepare.to(device_of(model)), checked("inputs", inputs)
    with arithmetic("fp32", device_of(model), Engine(graph=False)):
        if not is_tokens(x):
            return predict(model, x, prepare)
        lengths = lengths_of(x)
        order = torch.argsort(lengths, stable=True)
        rows: list[NDArray[np.float32]] = []
        for part in order.split(TEXTS):
            rows.extend(predict(model, cut(x[part], int(lengths[part].max())), prepare))
            progress(len(rows), len(x))
    return np.stack(rows)[torch.argsort(order).numpy()]
