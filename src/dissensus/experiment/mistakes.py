"""What is wrong with a plan or a comparison file: everything at once, in our own words, with the place.

A field says what it must be, once, in its ``description``; that is the sentence a user reads.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError
from pydantic_core import PydanticCustomError

from dissensus.base.errors import PlanError, unknown


@dataclass(frozen=True)
class Mistake:
    """One thing to mend: the path of its key, and a sentence that names it."""

    path: tuple[str, ...]
    sentence: str


LineOf = Callable[[tuple[str, ...]], int | None]


def plan_error(what: str, mistakes: Iterable[Mistake], line_of: LineOf = lambda _: None) -> PlanError:
    """The error that tells all mistakes of ``what``, in the order of its lines where they are known.

    >>> print(plan_error("a.toml", [Mistake(("hold",), "hold must be ..."), Mistake(("split",), "split must be ...")]))
    a.toml has 2 mistakes:
      hold must be ...
      split must be ...
    """
    placed = sorted(((line_of(mistake.path), mistake.sentence) for mistake in mistakes), key=lambda one: one[0] or 0)
    count = f"{len(placed)} mistakes" if len(placed) > 1 else "a mistake"
    told = (f"\n  line {line}: {text}" if line else f"\n  {text}" for line, text in placed)
    return PlanError(f"{what} has {count}:{''.join(told)}")


class PlanPart(BaseModel):
    """A table of a plan: strict types, no extra keys, and fixed once it is made."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class Document(PlanPart):
    """A part that stands alone; making one from wrong values raises a :class:`PlanError` that tells all of them."""

    def __init__(self, **values: Any) -> None:
        self._fill(values, f"this {type(self).__name__.lower()}")

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], **where: Any) -> Self:
        """From plain values, as JSON and TOML give them; ``where`` says what and on which lines, for errors."""
        document = cls.__new__(cls)
        document._fill(values, **{"what": f"this {cls.__name__.lower()}"} | where)
        return document

    def _fill(self, values: Mapping[str, Any], what: str, line_of: LineOf = lambda _: None) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise plan_error(what, found(error, type(self), values), line_of) from None


def known(kind: str, names: Callable[[], Iterable[str]]) -> AfterValidator:
    """The check that a name stands in a registry."""

    def check(given: str) -> str:
        options = list(names())
        if given not in options:
            raise sentence(unknown(kind, given, options))
        return given

    return AfterValidator(check)


def sentence(text: str) -> PydanticCustomError:
    """An error of a validator whose text is told as it stands."""
    return PydanticCustomError("sentence", "{text}", {"text": text})


def found(error: ValidationError, model: type[BaseModel], values: Mapping[str, Any]) -> list[Mistake]:
    """The mistakes that pydantic found, each key's once, in the order of the fields."""
    mistakes: dict[Mistake, None] = {}
    for detail in error.errors(include_url=False):
        path, kind = _field(model, detail["loc"]), detail["type"]
        key = ".".join(path)
        if kind == "extra_forbidden":
            table = path[:-1]
            options = _part(model, table).model_fields
            text = unknown("key", key, [".".join((*table, name)) for name in options])
        elif kind == "missing":
            text = f"{key} is missing; it must be {_expected(model, path)}."
        elif kind == "sentence":
            text = f"{key}: {detail['ctx']['text']}" if key else detail["ctx"]["text"]
        else:
            text = f"{key} must be {_expected(model, path)}, but is {_shown(_value(values, path))}."
        mistakes.setdefault(Mistake(path, text))
    return list(mistakes)


def line_of(text: str, path: tuple[str, ...]) -> int | None:
    """The line of a TOML text that sets the key, or the nearest table around it that is there.

    >>> line_of("seeds = 3\\n[recipe]\\nepochs = 0\\n", ("recipe", "epochs"))
    3
    """
    table: tuple[str, ...] = ()
    places: dict[tuple[str, ...], int] = {}
    for number, line in enumerate(text.splitlines(), 1):
        if header := re.match(r"\s*\[([\w.\-\s]+)\]", line):
            table = _keys(header[1])
            places.setdefault(table, number)
        elif setting := re.match(r"\s*([\w\-]+(?:\s*\.\s*[\w\-]+)*)\s*=", line):
            places.setdefault((*table, *_keys(setting[1])), number)
    return next((places[path[:depth]] for depth in range(len(path), 0, -1) if path[:depth] in places), None)


def _keys(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in dotted.split("."))


def _field(model: type[BaseModel], place: tuple[int | str, ...]) -> tuple[str, ...]:
    """The part of pydantic's place that the user wrote: keys of tables, without positions and members of unions."""
    path: list[str] = []
    part: type[BaseModel] | None = model
    for step in place:
        if part is None:
            break
        path.append(str(step))
        part = _table(part, str(step))
    return tuple(path)


def _table(model: type[BaseModel], name: str) -> type[BaseModel] | None:
    """The model of a field that is a table, with or without "or nothing"."""
    if name not in model.model_fields:
        return None
    annotation = model.model_fields[name].annotation
    for option in (annotation, *get_args(annotation)):
        if isinstance(option, type) and issubclass(option, BaseModel):
            return option
    return None


def _part(model: type[BaseModel], path: Iterable[str]) -> type[BaseModel]:
    for step in path:
        model = _table(model, step) or model
    return model


def _expected(model: type[BaseModel], path: tuple[str, ...]) -> str:
    *table, name = path
    field = _part(model, table).model_fields[name]
    if field.description:
        return field.description
    part = _table(_part(model, table), name)
    assert part is not None, f"{name} needs a description"
    return f"a table of {', '.join(part.model_fields)}"


def _value(values: Any, path: tuple[str, ...]) -> Any:
    for step in path:
        values = values[step] if isinstance(values, Mapping) else getattr(values, step)
    return values


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
