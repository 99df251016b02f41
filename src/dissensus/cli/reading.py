"""How to read data, said in either of two ways by any command: ``--item task`` or ``--option item=task``."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import signature
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

from typer.core import TyperCommand

from dissensus.base.errors import InputError, unknown
from dissensus.cli.given import comma_separated, key_values, renames

FILES = {"votes", "inputs", "texts"}  # which have options of their own, as have the other things that readers take
WITHIN = {"say", "endings"}


class Reading(TyperCommand):
    """A command that takes what readers are told as options of that name, too."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        own = {flag for parameter in self.get_params(ctx) for flag in parameter.opts}  # --help is among these
        others = [word for word in args if word.startswith("--") and word.partition("=")[0] not in own]
        return super().parse_args(ctx, as_options(args, own, keywords(self.name or "")) if others else args)


def keywords(command: str) -> dict[str, Any]:
    """What may be said of the data that a command reads, and what kind of thing it is."""
    from dissensus.datasets import own_data, own_items
    from dissensus.votes import read_votes

    readers: tuple[Callable[..., Any], ...] = (own_items,) if command == "predict" else (read_votes, own_data)
    readers = (read_votes,) if command == "votes" else readers
    also = {"item": str} if command == "predict" else {}  # as votes call what inputs call ids
    return also | {
        name: _kind(get_type_hints(reader)[name])
        for reader in readers
        for name, parameter in signature(reader).parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY and name not in FILES | WITHIN
    }


def _kind(hint: Any) -> Any:
    """
    >>> _kind(bool), _kind(str | None), _kind(Mapping[str, str] | None) is Mapping
    (<class 'bool'>, <class 'str'>, True)
    """
    one = get_args(hint)[0] if isinstance(hint, UnionType) else hint
    return get_origin(one) or one


def as_options(words: Sequence[str], own: Collection[str], kinds: Mapping[str, Any]) -> list[str]:
    """Words of a command, with ``--option`` for what it has no option for.

    >>> as_options(["--item", "my id", "--ordered", "--seed", "1"], {"--seed"}, {"item": str, "ordered": bool})
    ['--option', 'item="my id"', '--option', 'ordered=true', '--seed', '1']
    """
    rest, found = list(words), []
    pairs: list[str] = []
    while rest:
        word = rest.pop(0)
        flag, equals, value = word.partition("=")
        name = flag.removeprefix("--").replace("-", "_")
        if not word.startswith("--") or flag in own or name not in kinds:
            found.append(word)
            continue
        if kinds[name] is bool and not equals:
            value = "true"
        elif not equals:
            if not rest:
                raise InputError(f"{flag} needs a value.")
            value = rest.pop(0)
        if kinds[name] is Mapping:
            pairs.append(value)
        else:
            found += ["--option", f"{name}={as_toml(_said(value, kinds[name]))}"]
    return found + (["--option", f"rename={as_toml(renames(pairs))}"] if pairs else [])


def _said(value: str, kind: Any) -> Any:
    """What is said by an option of its own: names between commas, a size, true or false, or a text."""
    if kind is Sequence:
        return comma_separated(value)
    if kind is tuple:
        parts = [part.strip() for part in value.strip("[]()").replace("x", ",").split(",")]
        return [int(part) for part in parts] if all(part.isdigit() for part in parts) else value
    return value == "true" if kind is bool and value in ("true", "false") else value


def as_toml(value: Any) -> str:
    """As ``--option`` reads it.

    >>> as_toml("answer"), as_toml(["no", "yes"]), as_toml({"Ok": "ok"}), as_toml(True)
    ('"answer"', '["no", "yes"]', '{"Ok" = "ok"}', 'true')
    """
    if isinstance(value, dict):
        return "{" + ", ".join(f"{as_toml(old)} = {as_toml(new)}" for old, new in value.items()) + "}"
    return json.dumps(value, ensure_ascii=False)


def as_option(name: str, value: Any) -> str:
    """What ``--option`` takes; a text without quotes, where that is read as a text.

    >>> as_option("item", "my id"), as_option("item", "7"), as_option("ordered", True)
    ('item=my id', 'item="7"', 'ordered=true')
    """
    plain = f"{name}={value}"
    is_text = isinstance(value, str) and key_values("--option", [plain], "") == {name: value}
    return plain if is_text else f"{name}={as_toml(value)}"


def with_options(said: Mapping[str, Any], option: Sequence[str] | None) -> dict[str, Any]:
    """What is said of votes by options of their own, and by ``--option``; nothing twice."""
    kinds, given = keywords("votes"), key_values("--option", option, "label=answer")
    for name, value in given.items():
        if name not in kinds:
            raise InputError(unknown("option of votes", name, kinds) + ".")
        if said.get(name) not in (None, False):
            raise InputError(f"--{name} and --option {name}=... were both given; give one of them.")
        if isinstance(value, bool) and kinds[name] is not bool:
            raise InputError(f"option {name} is not true or false, but {value!r} was given.")
        if kinds[name] is bool and not isinstance(value, bool):
            raise InputError(f"option {name} must be true or false, but is {value!r}.")
    return {**said, **given}
