"""What a votes file holds, at a glance: how many, how divided, and where."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from dissensus.base.errors import InputError
from dissensus.votes.agreement import entropy, krippendorff_alpha, observed_agreement
from dissensus.votes.annotators import Beside, by_annotator
from dissensus.votes.nearness import FEWEST, NUMBERS, Near, nearness
from dissensus.votes.table import Votes


@dataclass(frozen=True)
class Divided:
    """An item and what was said of it."""

    item: str | int
    entropy: float
    counts: dict[str, int]


@dataclass(frozen=True)
class Glance:
    """How many votes there are, and how far they agree. What cannot be said of them is None."""

    items: int
    votes: int
    annotators: int | None
    ordered: bool
    multilabel: bool
    votes_per_item: tuple[int, float, int]  # fewest, mean, most
    sizes: dict[int, int]  # so many votes, and how many items have as many
    items_without_votes: int
    items_with_two: int  # or more votes: those on which people can agree
    unanimous: float | None  # share of the items with two votes or more whose votes all agree
    tied: float | None  # share of the same items on which several classes have most
    entropy: float | None  # mean over the same items, nats: one vote alone would look like agreement
    agreement: float | None  # share of pairs of votes on one item that agree, mean over the same items
    alpha: float | None  # Krippendorff's, ordinal where the classes are ordered

    def fewer_than(self, number: int) -> int:
        """The items that have votes, but not so many.

        >>> glance(Votes.from_counts([[1, 0], [2, 1], [0, 1], [0, 0]])).fewer_than(2)
        2
        """
        return sum(items for votes, items in self.sizes.items() if 0 < votes < number)

    @classmethod
    def read(cls, stored: Mapping[str, Any]) -> Glance | None:
        """What :attr:`as_json` was; None where it lacks something, being of another release.

        >>> told = glance(Votes.from_counts([[2, 1], [0, 1]]))
        >>> Glance.read(told.as_json) == told, Glance.read({"items": 2})
        (True, None)
        """
        try:
            told = {field.name: stored[field.name] for field in fields(cls)}
            sizes = {int(votes): int(items) for votes, items in told["sizes"].items()}
            return cls(**{**told, "votes_per_item": tuple(told["votes_per_item"]), "sizes": sizes})
        except (KeyError, TypeError, ValueError, AttributeError):
            return None

    @property
    def as_json(self) -> dict[str, Any]:
        sizes = {str(votes): items for votes, items in self.sizes.items()}
        return {**vars(self), "votes_per_item": list(self.votes_per_item), "sizes": sizes}

    def in_words(self, classes: int) -> list[tuple[str, str]]:
        """Row by row what a person reads of them, the number of classes being known.

        >>> glance(Votes.from_counts([[4, 0], [2, 2]])).in_words(classes=2)[:3]
        [('items', '2'), ('votes', '8 (4 an item)'), ('annotators', 'not known')]
        """
        few, mean, most = self.votes_per_item
        each = f"{few} an item" if few == most else f"{few} to {most} an item, {mean:.1f} on average"
        without = f" ({self.items_without_votes:,} without votes)" if self.items_without_votes else ""
        kind = "multi-label" if self.multilabel else "ordered" if self.ordered else "single-label"
        return [
            ("items", f"{self.items:,}{without}"),
            ("votes", f"{self.votes:,} ({each})"),
            ("annotators", "not known" if self.annotators is None else f"{self.annotators:,}"),
            ("classes", f"{classes}, {kind}"),
            *self._agreement(classes),
        ]

    def _agreement(self, classes: int) -> list[tuple[str, str]]:
        if self.multilabel:
            return [("agreement", "not told where a vote may name several classes")]
        if self.unanimous is None:
            return [("agreement", "not known: no item has two votes")]
        fewer = self.items_with_two < self.items  # what is told here is of the items on which two people can agree
        of = f" of the {self.items_with_two:,} with two votes or more" if fewer else ""
        on = f" on the same {self.items_with_two:,}" if fewer else ""
        most = f"0: all agree, {math.log(classes):.3f}: evenly divided"
        return [
            ("unanimous items", percent(self.unanimous) + of),
            ("items with a tie for most", percent(self.tied) + of),
            ("agreement of two votes", percent(self.agreement) + on),
            ("mean entropy", "-" if self.entropy is None else f"{self.entropy:.3f} nats{on} ({most})"),
            (
                f"Krippendorff's alpha ({'ordinal' if self.ordered else 'nominal'})",
                "-" if self.alpha is None else f"{self.alpha:.3f}{on} (1: full agreement, 0: as by chance)",
            ),
        ]


@dataclass(frozen=True)
class Summary(Glance):
    """The first look at votes."""

    classes: list[str]
    class_shares: dict[str, float]
    most_divided: list[Divided]
    by_annotator: list[Beside]  # the odd ones first
    nearness: list[Near]  # how near so many votes come to what everybody would say; none from too few items


def glance(votes: Votes) -> Glance:
    """Sizes and agreement.

    >>> told = glance(Votes.from_counts([[4, 0], [2, 2], [3, 1], [1, 0]]))
    >>> told.sizes, told.items_with_two, round(told.unanimous, 2)
    ({1: 1, 4: 3}, 3, 0.33)
    """
    if not votes.n_votes:
        raise InputError(f"there is not one vote on the {votes.n_items} items, so there is nothing to tell of them.")
    sizes = votes.votes_per_item
    pairs = votes.take(np.flatnonzero(sizes > 1))
    single = not votes.multilabel
    spread = entropy(pairs) if single else np.zeros(0)
    number, items = np.unique(sizes, return_counts=True)
    return Glance(
        items=votes.n_items,
        votes=votes.n_votes,
        annotators=votes.n_annotators,
        ordered=votes.ordered,
        multilabel=votes.multilabel,
        votes_per_item=(int(sizes.min()), float(sizes.mean()), int(sizes.max())),
        sizes=dict(zip(number.tolist(), items.tolist(), strict=True)),
        items_without_votes=int((sizes == 0).sum()),
        items_with_two=len(pairs),
        unanimous=float((spread == 0).mean()) if single and len(pairs) else None,
        tied=_tied(pairs) if single and len(pairs) else None,
        entropy=float(spread.mean()) if single and len(pairs) else None,
        agreement=float(observed_agreement(pairs).mean()) if single and len(pairs) else None,
        alpha=_alpha(pairs) if single and len(pairs) else None,
    )


def summary(votes: Votes, most: int = 5) -> Summary:
    """Sizes, agreement, and the ``most`` items that divide the annotators most.

    >>> counts = [[4, 0], [2, 2], [3, 1]]
    >>> told = summary(Votes.from_counts(counts, classes=["cat", "dog"]), most=1)
    >>> told.most_divided[0].item, told.most_divided[0].counts, round(told.unanimous, 2)
    (1, {'cat': 2, 'dog': 2}, 0.33)
    """
    seen = glance(votes)
    names = [str(name) for name in votes.classes]
    voted = votes.take(np.flatnonzero(votes.votes_per_item > 0))
    single = not votes.multilabel
    spread = entropy(voted) if single else np.zeros(0)
    top = np.argsort(-spread, kind="stable")[:most]
    shares = votes.counts().sum(0) / votes.n_votes
    return Summary(
        **vars(seen),
        classes=names,
        class_shares={name: float(share) for name, share in zip(names, shares, strict=True)},
        most_divided=[
            Divided(
                item=voted.items[i].item(),
                entropy=float(spread[i]),
                counts={name: int(n) for name, n in zip(names, voted.take([i]).counts()[0], strict=True) if n},
            )
            for i in top
            if spread[i] > 0
        ],
        by_annotator=by_annotator(votes) if single and votes.annotators is not None else [],
        nearness=_nearness(votes) if single and seen.items_with_two >= FEWEST and votes.n_classes > 1 else [],
    )


def _nearness(votes: Votes) -> list[Near]:
    """What some numbers of votes are worth, among them as many as there are on average."""
    return nearness(votes, sorted({*NUMBERS, about(votes.n_votes / votes.n_items)}))


def about(mean: float) -> int:
    """So many votes on average, as a whole number; halves are not rounded up: what is there is not made more.

    >>> about(2.95), about(1.5), about(0.2)
    (3, 1, 1)
    """
    return max(1, math.ceil(mean - 0.5))


def _tied(votes: Votes) -> float:
    counts = votes.counts()
    return float(((counts == counts.max(1, keepdims=True)).sum(1) > 1).mean())


def _alpha(votes: Votes) -> float | None:
    alpha = krippendorff_alpha(votes, level="ordinal" if votes.ordered else "nominal")
    return alpha if np.isfinite(alpha) else None


def percent(share: float | None) -> str:
    """
    >>> percent(0.2562), percent(None)
    ('25.6%', '-')
    """
    return "-" if share is None else f"{share:.1%}"
