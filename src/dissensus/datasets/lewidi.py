"""Learning With Disagreements (LeWiDi 2023 and 2025): votes with their annotators, one JSON file a part.

An item's number is unique within its file only, so ids are ``train-1``, ``dev-1``, ``test-1`` and tell the part that
the organisers put it into. The soft labels in the files are not read: shares are computed from the votes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np

from dissensus.base.errors import InputError, unknown
from dissensus.datasets.chaosnli import load_mnli
from dissensus.datasets.dataset import Dataset
from dissensus.datasets.folder import data_files
from dissensus.datasets.groups import by_words
from dissensus.datasets.json_files import Entry, json_entries, refuse_wrong_number
from dissensus.datasets.texts import Texts
from dissensus.votes import Votes

HOME = "https://le-wi-di.github.io"

Pair: TypeAlias = tuple[str, ...]  # one text or two
Said: TypeAlias = tuple[str, list[str]]  # an annotator, and the class or classes named


@dataclass(frozen=True)
class Shared:
    """A set of the shared task."""

    file: str  # with {} for the part
    task: str  # what every item says it is for
    parts: dict[str, int]  # how many items each has
    classes: tuple[str, ...] | tuple[int, ...]
    read: Callable[[Entry], tuple[Pair, list[Said]]]  # the texts and votes of an entry

    @property
    def files(self) -> dict[str, str]:
        """File by part."""
        return {part: self.file.format(part) for part in self.parts}


@dataclass(frozen=True)
class Item:
    """What a file says of one item; ``label`` is what the organisers made of the votes, if anything."""

    id: str
    texts: Pair
    votes: list[Said]
    label: str | None


def load_hs_brexit() -> Dataset:
    """Tweets about Brexit, hate speech (1) or not (0); the same six annotators voted on all of them."""
    return _load("hs-brexit")


def load_md_agreement() -> Dataset:
    """Tweets of three domains, offensive (1) or not (0); five votes an item, by hundreds of annotators."""
    return _load("md-agreement")


def load_varierr(votes: Literal["labels", "sets"] = "labels") -> Dataset:
    """VariErrNLI: items of ChaosNLI's MNLI part, of which up to four careful annotators could name several classes.

    ``votes="labels"``: every class that was named is a vote, as the organisers count them; ``votes="sets"``: a vote is
    the set of classes that an annotator named. :func:`experts_and_crowd` has the votes of ChaosNLI on the same items.
    """
    if votes not in ("labels", "sets"):
        raise InputError(unknown("votes of varierr", votes, ("labels", "sets")) + ".")
    return _load("varierr", sets=votes == "sets")


def experts_and_crowd() -> tuple[Dataset, Dataset]:
    """The items of VariErrNLI twice: with the votes of its careful annotators, and with ChaosNLI's hundred.

    All else is the same in both, so that a seed splits them alike: texts, groups, MNLI's labels, the ids of ChaosNLI
    and, as ``truth``, the shares of the hundred.
    """
    few, many = load_varierr(), load_mnli()
    ids = chaosnli_ids(few, many)
    place = {uid: row for row, uid in enumerate(many.votes.items.tolist())}
    at = np.array([place[uid] for uid in ids])
    crowd = many.votes.take(at)
    assert many.labels is not None
    experts = replace(
        few, votes=replace(few.votes, items=crowd.items), labels=many.labels[at], truth=crowd.frequencies()
    )
    return experts, replace(experts, name="varierr-crowd", votes=crowd)


def chaosnli_ids(varierr: Dataset, chaosnli: Dataset) -> list[str]:
    """The uid in ``chaosnli`` (its MNLI part) of every item of ``varierr``: few careful votes beside a hundred.

    VariErrNLI lost the last letter of the uid, by which the items of one premise differ, and blanks at the ends of
    texts: an item is the one with the same number and the same texts but for these.
    """
    known = {(uid[:-1], *pair): uid for uid, pair in _trimmed(chaosnli)}
    found = {item: known.get((item.partition("-")[2], *pair)) for item, pair in _trimmed(varierr)}
    lost = [item for item, uid in found.items() if uid is None]
    if lost:
        raise InputError(
            f"{len(lost)} of {len(found)} items of {varierr.name} are not in {chaosnli.name} (first: {lost[0]!r}). "
            'Give load("varierr") and load("chaosnli-mnli").'
        )
    return [uid for uid in found.values() if uid is not None]


def read_part(path: Path, name: str, part: str) -> list[Item]:
    """The items of a file, which must be that part of the set ``name``, whole and as published."""
    shared = SETS[name]
    items = [_item(f"{part}-{key}", entry, shared, part) for key, entry in json_entries(path)]
    refuse_wrong_number(path, len(items), shared.parts[part], "items")
    return items


def readers(name: str) -> dict[str, Callable[[Path], object]]:
    """The files of a set, each with the reader that checks it."""
    return {file: partial(read_part, name=name, part=part) for part, file in SETS[name].files.items()}


def _load(name: str, sets: bool = False) -> Dataset:
    shared = SETS[name]
    paths = data_files(name, *shared.files.values())
    items = [item for part, path in zip(shared.files, paths, strict=True) for item in read_part(path, name, part)]
    code = {str(value): value for value in shared.classes}
    rows: list[tuple[str, str, object]] = []
    for item in items:
        for who, named in item.votes:
            said = [code[one] for one in named]
            rows += [(item.id, who, one) for one in ([said] if sets else said)]
    ids, annotators, cast = zip(*rows, strict=True)
    votes = Votes.from_records(items=ids, labels=cast, annotators=annotators, classes=shared.classes)
    labels = [list(code).index(item.label) for item in items if item.label is not None]
    return Dataset(
        name,
        Texts(*zip(*(item.texts for item in items), strict=True)),
        votes,
        np.array(labels, np.int64) if labels else None,
        groups=by_words(item.texts[0] for item in items),
    )


def _item(name: str, entry: Entry, shared: Shared, part: str) -> Item:
    for field, expected in (("annotation task", shared.task), ("split", part)):
        if entry.get(field, str) != expected:
            raise entry.error(f"{field!r} is {entry.values[field]!r}, but {expected!r} was expected. Another file?")
    classes = [str(value) for value in shared.classes]
    texts, votes = shared.read(entry)
    named = [vote for _, said in votes for vote in said]
    if not named or any(vote not in classes for vote in named):
        told = entry.values["annotations"]
        raise entry.error(f"'annotations' must be votes for {', '.join(classes)}, but it is {told!r:.80}")
    if entry.get("number of annotations", int) != len(named):
        told = entry.values["number of annotations"]
        raise entry.error(f"it holds {len(named)} votes, but its 'number of annotations' is {told}")
    label = entry.values.get("hard_label")
    if label is not None and str(label) not in classes:
        raise entry.error(f"'hard_label' must be one of {', '.join(classes)}, but it is {label!r:.40}")
    return Item(name, texts, votes, None if label is None else str(label))


def _text_of_2023(entry: Entry) -> tuple[Pair, list[Said]]:
    """Votes and annotators are two lists of equal length, each in a string."""
    votes, annotators = (entry.get(field, str).split(",") for field in ("annotations", "annotators"))
    if len(votes) != len(annotators):
        raise entry.error(f"there are {len(votes)} annotations by {len(annotators)} annotators")
    return (entry.get("text", str),), [(who, [vote]) for who, vote in zip(annotators, votes, strict=True)]


def _pair_of_2025(entry: Entry) -> tuple[Pair, list[Said]]:
    """Votes by annotator, each a list of classes in a string; texts are named."""
    text, said = entry.inner("text"), entry.inner("annotations")
    votes = [(who, said.get(who, str).split(",")) for who in said.values]
    return (text.get("context", str), text.get("statement", str)), votes


def _trimmed(data: Dataset) -> Iterator[tuple[str, Pair]]:
    texts = data.inputs
    if not isinstance(texts, Texts) or texts.second is None:
        raise InputError(f"{data.name} has no pairs of texts to compare.")
    for item, *pair in zip(data.votes.items.tolist(), texts.first, texts.second, strict=True):
        yield item, tuple(text.strip() for text in pair)


_BINARY = (0, 1)

SETS: dict[str, Shared] = {
    "hs-brexit": Shared(
        "lewidi2023/HS-Brexit_{}.json",
        "hate speech detection",
        {"train": 784, "dev": 168, "test": 168},
        _BINARY,
        _text_of_2023,
    ),
    "md-agreement": Shared(
        "lewidi2023/MD-Agreement_{}.json",
        "offensiveness detection",
        {"train": 6_592, "dev": 1_104, "test": 3_057},
        _BINARY,
        _text_of_2023,
    ),
    "varierr": Shared(
        "lewidi2025/VariErrNLI_{}.json",
        "natural language inference",
        {"train": 388, "dev": 50, "test": 50},
        ("entailment", "neutral", "contradiction"),
        _pair_of_2025,
    ),
}
