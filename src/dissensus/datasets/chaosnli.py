"""ChaosNLI (Nie et al., EMNLP 2020): a hundred votes on each of 4,645 items of three natural language inference sets.

Annotators are not known, and of their votes only the counts; those of SNLI and MNLI are read with the votes of the
original sets too: five an item, four for seven items of SNLI. The entropy in the files is in bits and is not read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError, unknown
from dissensus.datasets.dataset import Dataset
from dissensus.datasets.folder import data_files
from dissensus.datasets.groups import by_words
from dissensus.datasets.json_files import Entry, json_lines, refuse_wrong_number
from dissensus.datasets.texts import Texts
from dissensus.votes import Votes
from dissensus.votes.classes import CHAOSNLI
from dissensus.votes.table import Class

HOME = "https://github.com/easonnie/ChaosNLI"
VOTES = 100  # an item


@dataclass(frozen=True)
class Subset:
    """One of the three files; ``keys`` are what votes are counted by, in the order of ``label_count``."""

    file: str
    items: int
    source: str  # what every item says of where it comes from
    keys: tuple[str, ...]
    given: str  # the field that several items may share, and that no split may part

    @property
    def classes(self) -> tuple[Class, ...]:
        return CHAOSNLI[self.keys]


PARTS = {
    "chaosnli-snli": Subset("chaosNLI_v1.0/chaosNLI_snli.jsonl", 1_514, "snli_agree_3", ("e", "n", "c"), "premise"),
    "chaosnli-mnli": Subset("chaosNLI_v1.0/chaosNLI_mnli_m.jsonl", 1_599, "mnli_agree_3", ("e", "n", "c"), "premise"),
    "chaosnli-alpha": Subset("chaosNLI_v1.0/chaosNLI_alphanli.jsonl", 1_532, "abdnli_dev", ("1", "2"), "obs1"),
}


@dataclass(frozen=True)
class Content:
    """What a file holds, in its order."""

    ids: list[str]
    counts: NDArray[np.int64]
    labels: NDArray[np.int64]  # those of the original set
    original: list[list[str]]  # the votes of the original set; none for abductive inference
    texts: Texts
    given: list[str]  # premises, or first observations; second ones are all different


def load_snli(votes: Literal["all", "original"] = "all") -> Dataset:
    """Premise and hypothesis, a hundred votes an item, and SNLI's own label.

    ``votes="original"``: the votes of SNLI instead, mostly five an item, to train on few real votes; the shares of the
    hundred then stand as ``truth``, by which runs are judged too.
    """
    return _load("chaosnli-snli", votes)


def load_mnli(votes: Literal["all", "original"] = "all") -> Dataset:
    """Premise and hypothesis, a hundred votes an item, and MNLI's own label; ``votes="original"`` as of SNLI: five."""
    return _load("chaosnli-mnli", votes)


def load_alpha() -> Dataset:
    """Abductive inference: which of two hypotheses explains how one observation led to another, 1 or 2.

    A pair here is the story with the first and the story with the second hypothesis between the two observations.
    """
    return _load("chaosnli-alpha", "all")


def read_part(path: Path, name: str) -> Content:
    """The items of a file, which must be those of the part ``name``, whole and as published."""
    part = PARTS[name]
    entries = list(json_lines(path))
    for entry in entries:
        _check(entry, part)
    refuse_wrong_number(path, len(entries), part.items, "items")
    ids = [entry.get("uid", str) for entry in entries]
    if len(set(ids)) < len(ids):
        twice = next(entry for row, entry in enumerate(entries) if ids[row] in ids[:row])
        raise twice.error(f"the uid {twice.values['uid']!r} was there before")
    examples = [entry.inner("example") for entry in entries]
    return Content(
        ids,
        np.array([entry.values["label_count"] for entry in entries], np.int64),
        np.array([part.keys.index(str(entry.values["old_label"])) for entry in entries], np.int64),
        [entry.values.get("old_labels", []) for entry in entries],
        _pairs(examples) if part.given == "premise" else _stories(examples),
        [example.get(part.given, str) for example in examples],
    )


def readers(name: str) -> dict[str, Callable[[Path], object]]:
    """The file of a part, with the reader that checks it."""
    return {PARTS[name].file: partial(read_part, name=name)}


def _load(name: str, votes: str) -> Dataset:
    if votes not in ("all", "original"):
        raise InputError(unknown(f"votes of {name}", votes, ("all", "original")) + ".")
    part = PARTS[name]
    (path,) = data_files(name, part.file)
    content = read_part(path, name)
    table, truth = Votes.from_counts(content.counts, classes=part.classes, items=content.ids), None
    if votes == "original":
        truth = table.frequencies()
        items = [one for one, cast in zip(content.ids, content.original, strict=True) for _ in cast]
        labels = [vote for cast in content.original for vote in cast]
        table = Votes.from_records(items=items, labels=labels, classes=part.classes)
    return Dataset(name, content.texts, table, content.labels, truth, groups=by_words(content.given))


def _pairs(examples: list[Entry]) -> Texts:
    return Texts(
        [example.get("premise", str) for example in examples], [example.get("hypothesis", str) for example in examples]
    )


def _stories(examples: list[Entry]) -> Texts:
    def told(hypothesis: str) -> list[str]:
        return [" ".join(example.get(field, str) for field in ("obs1", hypothesis, "obs2")) for example in examples]

    return Texts(told("hyp1"), told("hyp2"))


def _check(entry: Entry, part: Subset) -> None:
    source = entry.inner("example").get("source", str)
    if source != part.source:
        raise entry.error(f"the item comes from {source!r}, but those of this file from {part.source!r}. Another file?")
    counts, counter = entry.get("label_count", list), entry.get("label_counter", dict)
    if counts != [counter.get(key, 0) for key in part.keys] or not counter.keys() <= set(part.keys):
        raise entry.error(
            f"'label_count' {counts} does not fit 'label_counter' {counter}; its order must be {', '.join(part.keys)}"
        )
    if any(type(count) is not int or count < 0 for count in counts) or sum(counts) != VOTES:
        raise entry.error(f"'label_count' must be {VOTES} votes, but it is {counts}")
    if str(entry.values.get("old_label")) not in part.keys:
        raise entry.error(
            f"'old_label' must be one of {', '.join(part.keys)}, but is {entry.values.get('old_label')!r}"
        )
    if part.given == "premise":
        old = entry.get("old_labels", list)
        if not old or any(vote not in part.classes for vote in old):
            raise entry.error(f"'old_labels' must be votes for {', '.join(map(str, part.classes))}, but is {old!r:.80}")
