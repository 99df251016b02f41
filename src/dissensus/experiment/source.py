"""Where data come from: a named set with its options, or a file of votes and one of inputs or texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args, get_origin, get_type_hints

from pydantic import AfterValidator, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from dissensus.base.errors import unknown
from dissensus.datasets import DATASETS, OFFICIAL, Dataset, load, own_data
from dissensus.experiment.mistakes import PlanPart, known, sentence

Scalar = bool | int | float | str


def _with_votes(name: str) -> str:
    """Some official data sets are pictures that nobody voted on: for other uses than training."""
    if name in OFFICIAL and name not in DATASETS:
        raise sentence(f"{name} has no votes to train on. Choose one of: {', '.join(DATASETS)}")
    return name


DataName = Annotated[
    str | None,
    AfterValidator(_with_votes),
    known("data set", lambda: DATASETS),
    Field(description="the name of a data set"),
]
FileName = Annotated[Annotated[str, Field(min_length=1)] | None, Field(description="the path of a file")]
LoadOptions = Annotated[
    dict[str, Scalar | list[Scalar] | dict[str, Scalar]],
    Field(description="a table of options, each a number, a text, true, false, or a list or a table of these"),
]


class Source(PlanPart):
    """What ``[data]`` says in a comparison file.

    Options are those of the named set's loader, or those of ``read_votes`` and ``own_data``.

    >>> Source(name="glyphs", options={"items": 100}).load().votes.n_items
    100
    """

    name: DataName = None
    votes: FileName = None
    inputs: FileName = None
    texts: FileName = None
    encoder: Annotated[
        Annotated[str, Field(min_length=1)] | None, Field(description="the folder of a text encoder, or its name")
    ] = None
    options: LoadOptions = Field(default_factory=dict)

    @model_validator(mode="after")
    def _names_a_set_or_two_files(self) -> Self:
        files = [part for part in ("votes", "inputs", "texts") if getattr(self, part) is not None]
        whole = not files if self.name is not None else files in (["votes", "inputs"], ["votes", "texts"])
        if not whole:
            given = " and ".join([*(["a name"] if self.name is not None else []), *files]) or "nothing"
            raise sentence(
                f"give a name (one of: {', '.join(DATASETS)}), or two files: votes and inputs, or votes and texts. "
                f"Given: {given}."
            )
        if self.name is not None:
            of, allowed = self.name, _kinds(DATASETS[self.name])
        else:
            from dissensus.votes import read_votes

            of, allowed = "files", _kinds(read_votes, Parameter.KEYWORD_ONLY) | _kinds(own_data, Parameter.KEYWORD_ONLY)
            del allowed["texts"]  # a file, not an option
        for option, value in self.options.items():
            if option not in allowed:
                raise sentence(unknown(f"option of {of}", option, allowed))
            _check_kind(option, value, allowed[option])
        return self

    def beside(self, folder: Path) -> Source:
        """The same, with relative paths taken from ``folder``."""
        files = {part: getattr(self, part) for part in ("votes", "inputs", "texts")}
        if self.encoder is not None and (folder / self.encoder).is_dir():  # else it is a name
            files["encoder"] = self.encoder
        return self.model_copy(update={part: str(folder / path) for part, path in files.items() if path is not None})

    @property
    def told(self) -> dict[str, Any]:
        """What was given, as runs keep it."""
        return self.model_dump(exclude_defaults=True)

    def load(self) -> Dataset:
        options = {name: _fixed(value) for name, value in self.options.items()}
        if self.votes is None:
            return load(str(self.name), **options)
        return own_data(self.votes, self.inputs, texts=self.texts, **options)


def _fixed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _kinds(function: Callable[..., Any], only: Any = None) -> dict[str, Any]:
    """What the keywords of a function may be, by name."""
    hints = get_type_hints(function)
    return {
        name: hints.get(name, Any)
        for name, given in signature(function).parameters.items()
        if only in (None, given.kind)
    }


def _check_kind(option: str, value: Any, kind: Any) -> None:
    if get_origin(kind) is Literal:
        return  # the loader names what there is
    try:
        TypeAdapter(kind, config=ConfigDict(strict=True)).validate_python(_fixed(value))
    except ValidationError:
        kinds = [one for one in get_args(kind) or [kind] if one is not type(None)]
        told = f"option {option} must be {_WORDS[get_origin(kinds[0]) or kinds[0]]}, but is {value!r}."
        more = f" As a text it is {option}='\"{value}\"'." if str in kinds and not isinstance(value, list) else ""
        raise sentence(told + more) from None


_WORDS: dict[Any, str] = {
    bool: "true or false",
    int: "a whole number",
    str: "a text",
    tuple: "two whole numbers, such as [32, 32]",
    Sequence: 'a list, such as ["a", "b"]',
    Mapping: 'a table, such as {"a" = "b"}',
}
