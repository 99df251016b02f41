"""How a model is trained, as a value; and the two seeds a training run has. Needs no torch."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import Any, ClassVar

from dissensus.base.errors import InputError, unknown

SCHEDULES: dict[str, Callable[[float], float]] = {
    "cosine": lambda done: (1 + math.cos(math.pi * done)) / 2,
    "constant": lambda done: 1.0,
    "linear": lambda done: 1 - done,
}
OPTIMIZERS = ("sgd", "adamw")
PRECISIONS = ("fp32", "tf32", "bf16")


@dataclass(frozen=True)
class Recipe:
    r"""Optimizer, schedule, batches, augmentation and precision. The defaults never change.

    SGD with momentum and weight decay on every parameter. The learning rate is constant within an epoch :math:`e` of
    :math:`E`; the cosine schedule is :math:`\mathrm{lr} \cdot (1 + \cos(\pi e / E)) / 2`, from ``lr`` down to almost 0.

    For fine-tuning: ``optimizer="adamw"``, with ``momentum`` as its :math:`\beta_1` and weight decay on matrices only,
    and ``schedule="linear"``, down to 0 step by step. ``warmup`` is the share of all steps in which the rate first
    rises from 0, whatever the schedule; it then changes in every step, too.

    ``crop``: images are padded with that many zeros on every side and cropped to their size at a random place.
    ``flip``: half of the images are mirrored. Both before normalising, anew in every epoch.
    ``mixup``: the α of its Beta distribution; 0 is no mixup.
    ``mean`` and ``std``: one number a channel (uint8 images count from 0 to 1) or feature; by default those of the
    training inputs.

    >>> Recipe(epochs=4, lr=0.2).rate(2)
    0.1
    >>> Recipe(epochs=0, lr=-1)
    Traceback (most recent call last):
    dissensus.base.errors.InputError: this recipe has 2 mistakes:
      epochs must be a whole number of at least 1, but is 0.
      lr must be a number above 0, but is -1.
    """

    version: ClassVar[int] = 1

    epochs: int = 200
    batch_size: int = 128
    lr: float = 0.1
    momentum: float = 0.9
    weight_decay: float = 5e-4
    nesterov: bool = False
    schedule: str = "cosine"
    crop: int = 0
    flip: bool = False
    mixup: float = 0.0
    precision: str = "fp32"
    mean: tuple[float, ...] | None = None
    std: tuple[float, ...] | None = None
    optimizer: str = "sgd"
    warmup: float = 0.0

    def __post_init__(self) -> None:
        for name in ("mean", "std"):  # lists, as JSON and TOML give them, become tuples: a recipe can be hashed
            value = getattr(self, name)
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
        mistakes = list(self._mistakes())
        if len(mistakes) == 1:
            raise InputError(f"this recipe has a mistake: {mistakes[0]}")
        if mistakes:
            raise InputError(f"this recipe has {len(mistakes)} mistakes:\n  " + "\n  ".join(mistakes))

    def rate(self, epoch: int, steps: int = 1) -> float:
        """The learning rate of an epoch of so many steps; the mean, where it changes from step to step."""
        rates = self.rates(epoch, steps)
        return rates[0] if self.steady else sum(rates) / steps

    def rates(self, epoch: int, steps: int) -> list[float]:
        """The learning rate of every step of an epoch of so many.

        >>> Recipe(epochs=2, lr=1, schedule="linear", warmup=0.25).rates(0, steps=4)
        [0.0, 0.5, 1.0, 0.8333333333333334]
        """
        if self.steady:
            return [self.lr * SCHEDULES[self.schedule](epoch / self.epochs)] * steps
        total = self.epochs * steps
        rise = math.ceil(self.warmup * total)
        return [
            self.lr * (step / rise if step < rise else SCHEDULES[self.schedule]((step - rise) / (total - rise)))
            for step in range(epoch * steps, (epoch + 1) * steps)
        ]

    @property
    def steady(self) -> bool:
        """Whether the learning rate stays the same within an epoch."""
        return self.schedule != "linear" and not self.warmup

    def _mistakes(self) -> Iterator[str]:
        for name, least in (("epochs", 1), ("batch_size", 1), ("crop", 0)):
            value = getattr(self, name)
            if not _is_whole(value) or value < least:
                yield f"{name} must be a whole number of at least {least}, but is {value!r}."
        for name, fits, expected in (
            ("lr", lambda x: x > 0, "above 0"),
            ("momentum", lambda x: 0 <= x < 1, "of at least 0 and below 1"),
            ("weight_decay", lambda x: x >= 0, "of at least 0"),
            ("mixup", lambda x: x >= 0, "of at least 0"),
            ("warmup", lambda x: 0 <= x < 1, "of at least 0 and below 1"),
        ):
            value = getattr(self, name)
            if not _is_number(value) or not fits(value):
                yield f"{name} must be a number {expected}, but is {value!r}."
        for name in ("nesterov", "flip"):
            if not isinstance(getattr(self, name), bool):
                yield f"{name} must be True or False, but is {getattr(self, name)!r}."
        if self.nesterov is True and self.momentum == 0:
            yield "nesterov needs a momentum above 0."
        if self.nesterov is True and self.optimizer == "adamw":
            yield "nesterov is a form of sgd, but the optimizer is adamw."
        if self.optimizer not in OPTIMIZERS:
            yield f"{unknown('optimizer', self.optimizer, OPTIMIZERS)}."
        if self.schedule not in SCHEDULES:
            yield f"{unknown('schedule', self.schedule, SCHEDULES)}."
        if self.precision not in PRECISIONS:
            yield f"{unknown('precision', self.precision, PRECISIONS)}."
        yield from self._mistakes_in_scale()

    def _mistakes_in_scale(self) -> Iterator[str]:
        given = {name: value for name in ("mean", "std") if (value := getattr(self, name)) is not None}
        for name, value in given.items():
            if not isinstance(value, tuple) or not value or not all(map(_is_number, value)):
                yield f"{name} must be a list of numbers, one a channel or feature, but is {value!r}."
            elif name == "std" and min(value) <= 0:
                yield f"std must be above 0, but is {value!r}."
        if len(given) == 1:
            (present,) = given
            yield f"mean and std belong together, but only {present} was given."
        elif (
            given
            and all(isinstance(value, tuple) for value in given.values())
            and len(given["mean"]) != len(given["std"])
        ):
            yield f"mean and std must be equally long, but have {len(given['mean'])} and {len(given['std'])} numbers."


@dataclass(frozen=True)
class Seeds:
    """Where chance starts: ``init`` for the initial weights, ``order`` for batches, augmentation, mixup and dropout.

    >>> Seeds.of(3)
    Seeds(init=3, order=3)
    """

    init: int
    order: int

    def __post_init__(self) -> None:
        for name in ("init", "order"):
            if not _is_whole(getattr(self, name)):
                raise InputError(f"the {name} seed must be a whole number, but is {getattr(self, name)!r}.")

    @classmethod
    def of(cls, seed: int | Seeds) -> Seeds:
        """One whole number is both seeds."""
        return seed if isinstance(seed, Seeds) else cls(init=seed, order=seed)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
