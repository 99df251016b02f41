"""What the options say, as the library wants it."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dissensus.base.errors import InputError, unknown

if TYPE_CHECKING:
    from dissensus.experiment import Comparison


def comparison_of(plan: Path | None, **options: Any) -> Comparison:
    """The plan file, if any, overridden by the options that were given."""
    from dissensus.experiment import Comparison

    given = {key: value for key, value in options.items() if value is not None}
    if plan is not None:
        return Comparison.read(plan, **given)
    _refuse_half(given.get("data", {}))
    return Comparison(**given)


def _refuse_half(data: Mapping[str, Any]) -> None:
    """A named set, or votes with what they are votes on: whatever else was given, or not, is said in options."""
    there = [f"--{part} {data[part]}" for part in ("inputs", "texts") if part in data]
    if not (there or "name" in data or "votes" in data):
        raise InputError(
            "there is no data. Give --data NAME (such as glyphs), or --votes FILE with --inputs FILE or --texts FILE, "
            "or a plan."
        )
    if "name" in data and there:
        raise InputError(
            f"--data {data['name']} has inputs of its own: leave out {there[0]}; or leave out --data, and give --votes "
            "FILE instead."
        )
    if len(there) > 1:
        raise InputError(f"{' and '.join(there)} were both given; give one of them.")
    if "votes" not in data and "name" not in data:
        raise InputError(f"{there[0]} has no votes on it. Give --votes FILE, too.")
    if "votes" in data and not there:
        raise InputError(
            f"--votes {data['votes']} needs what the votes are on. Give --inputs FILE (features or images) or --texts "
            f"FILE, too; where a column of the votes file has the texts: --texts {data['votes']}"
        )


def source_of(
    data: str | None, votes: str | None, inputs: str | None, texts: str | None, option: Sequence[str] | None
) -> dict[str, Any] | None:
    """Where the data come from, as far as the options say."""
    file = None if votes is None or _is_numbers(votes) else votes
    if file is not None and data is not None:
        raise InputError(
            f"--data {data} has votes of its own, so --votes says how many an item to train on, such as 5,10,all, but "
            f"{votes!r} was given. To use a votes file of yours, leave out --data and give --inputs or --texts."
        )
    settings = key_values("--option", option, "label=answer")
    given = {"name": data, "votes": file, "inputs": inputs, "texts": texts, "options": settings}
    return {key: value for key, value in given.items() if value} or None


def recipe_of(fields: Sequence[str] | None, epochs: int | None) -> dict[str, Any] | None:
    """``--recipe`` and ``--epochs``, which is one of its fields."""
    given = [*(fields or []), *([] if epochs is None else [f"epochs={epochs}"])]
    return key_values("--recipe", given, "lr=0.05") or None


def model_of(model: str | None, encoder: str | None) -> dict[str, str] | None:
    """A model, an encoder, both or neither; an encoder alone is for the default model of texts."""
    if model is None and encoder is None:
        return None
    return {"name": model or "frozen"} | ({} if encoder is None else {"encoder": encoder})


def votes_an_item(votes: str | None, per_item: str | None) -> list[int | str] | None:
    """``--per-item``, or ``--votes`` where that is no file."""
    if votes is not None and _is_numbers(votes):
        if per_item is not None:
            raise InputError("--votes and --per-item both say how many votes an item; give one of them.")
        per_item = votes
    if per_item is None:
        return None
    if not _is_numbers(per_item):
        raise InputError(f'votes an item are whole numbers or "all", separated by commas, but {per_item!r} was given.')
    return [part if part == "all" else int(part) for part in comma_separated(per_item) or []]


def look_for(inside: bool, ood: str | None) -> Callable[..., Any] | None:
    """What a sweep shall look for in its models."""
    if not inside:
        if ood is not None:
            raise InputError("--ood names what --diagnose looks at; give both.")
        return None
    from dissensus.experiment import look_inside

    return partial(look_inside, outside=outside_sets(ood))


def outside_sets(ood: str | None) -> list[str]:
    """Names of sets of images, which are here."""
    from dissensus.datasets import load_images

    names = comma_separated(ood) or []
    for name in names:
        load_images(name)  # or the error that says how to get it, before anything is trained
    return names


def key_values(flag: str, given: Sequence[str] | None, example: str) -> dict[str, Any]:
    """``KEY=VALUE`` pairs; a value is what TOML reads in it, or else a text.

    >>> key_values("--option", ["label=answer", "ordered=true", "size=[32, 32]", "test=.2"], "")
    {'label': 'answer', 'ordered': True, 'size': [32, 32], 'test': 0.2}
    """
    settings: dict[str, Any] = {}
    for setting in given or []:
        key, equals, text = setting.partition("=")
        if not (key and equals):
            raise InputError(f"{flag} takes KEY=VALUE, such as {example}, but was given {setting!r}.")
        if key in settings:
            raise InputError(f"{flag} {key}=... was given twice; once is enough.")
        try:
            settings[key] = tomllib.loads(f"value = {'0' * text.startswith('.')}{text}")["value"]  # .1 is 0.1
        except tomllib.TOMLDecodeError:
            settings[key] = text
    return settings


def renames(pairs: Sequence[str] | None) -> dict[str, str] | None:
    """``OLD=NEW`` pairs, with the spaces that are in them.

    >>> renames(["Ok=ok", "ok =ok"])
    {'Ok': 'ok', 'ok ': 'ok'}
    """
    if pairs is None:
        return None
    found: dict[str, str] = {}
    for pair in pairs:
        old, equals, new = pair.partition("=")
        if not (old and equals and new):
            raise InputError(f"--rename takes OLD=NEW, such as okay=ok, but was given {pair!r}.")
        if found.setdefault(old, new) != new:
            raise InputError(f"--rename gives {old!r} two names, {found[old]!r} and {new!r}; one is enough.")
    return found


def comma_separated(text: str | None) -> list[str] | None:
    """Comma-separated names.

    >>> comma_separated("soft, sls")
    ['soft', 'sls']
    """
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


def _is_numbers(text: str) -> bool:
    return all(part == "all" or part.isdigit() for part in comma_separated(text) or [""])


def seeds_of(text: str | None) -> int | list[int] | None:
    """``8`` is so many seeds; ``0,3,5`` or ``7,`` are these.

    >>> seeds_of("8"), seeds_of("0,3,5"), seeds_of("7,")
    (8, [0, 3, 5], [7])
    """
    if text is None:
        return None
    parts = comma_separated(text) or [""]
    if not all(part.isdigit() for part in parts):
        raise InputError(f"--seeds takes a number of seeds (8) or a list of seeds (0,3,5), but was given {text!r}.")
    return int(parts[0]) if "," not in text else [int(part) for part in parts]


def seed_set(text: str | None) -> set[int] | None:
    """``0-4`` are these five seeds, ``0,3,5`` and ``7`` those.

    >>> seed_set("0-2,7")
    {0, 1, 2, 7}
    """
    if text is None:
        return None
    found: set[int] = set()
    for part in comma_separated(text) or [""]:
        first, dash, last = part.partition("-")
        if not first.isdigit() or (dash and not last.isdigit()) or (dash and int(last) < int(first)):
            raise InputError(f"--seeds takes seeds (0,3,5) or a span of them (0-4), but was given {text!r}.")
        found |= set(range(int(first), int(last or first) + 1))
    return found


def refuse_place(flag: str, place: Path, suffixes: Collection[str], read: Iterable[Path]) -> None:
    """A file that cannot be written in a format that its name says, or would overwrite one that is read."""
    if place.suffix.lower() not in suffixes:
        raise InputError(unknown(f"suffix of {flag}", place.suffix, suffixes) + ".")
    if any(place.exists() and one.exists() and place.samefile(one) for one in read):
        raise InputError(f"{flag} {place} would overwrite the file that is read; give another name.")


def refuse_beside(option: str, others: Mapping[str, bool]) -> None:
    """An error if one of the others was given, too: by their names, whether they were."""
    if wrong := [name for name, there in others.items() if there]:
        raise InputError(f"{option} and {wrong[0]} do not go together; give one of them.")
