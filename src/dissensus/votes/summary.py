"""What a votes file holds, at a glance: how many, how divided, and where."""

from __future__ import annotations

import math
from dataclasses import dataclass

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
class Summary:
    """The first look at votes. What cannot be said of them is None."""

    items: int
    votes: int
    annotators: int | None
    classes: list[str]
    ordered: bool
    multilabel: bool
    votes_per_item: tuple[int, float, int]  # fewest, mean, most
    items_without_votes: int
    items_with_two: int  # or more votes: those on which people can agree
    class_shares: dict[str, float]
    unanimous: float | None  # share of the items with two votes or more whose votes all agree
    tied: float | None  # share of the same items on which several classes have most
    entropy: float | None  # mean over the same items, nats: one vote alone would look like agreement
    agreement: float | None  # share of pairs of votes on one item that agree, mean over the same items
    alpha: float | None  # Krippendorff's, ordinal where the classes are ordered
    most_divided: list[Divided]
    by_annotator: list[Beside]  # the odd ones first
    nearness: list[Near]  # how near so many votes come to what everybody would say; none from too few items


def summary(votes: Votes, most: int = 5) -> Summary:
    """Sizes, agreement, and the ``most`` items that divide the annotators most.

    >>> counts = [[4, 0], [2, 2], [3, 1]]
    >>> told = summary(Votes.from_counts(counts, classes=["cat", "dog"]), most=1)
    >>> told.most_divided[0].item, told.most_divided[0].counts, round(told.unanimous, 2)
    (1, {'cat': 2, 'dog': 2}, 0.33)
    """
    if not votes.n_votes:
        raise InputError(f"there is not one vote on the {votes.n_items} items, so there is nothing to tell of them.")
    sizes = votes.votes_per_item
    counts = votes.counts()
    names = [str(name) for name in votes.classes]
    voted = votes.take(np.flatnonzero(sizes > 0))
    pairs = votes.take(np.flatnonzero(sizes > 1))
    single = not votes.multilabel
    spread = entropy(voted) if single else np.zeros(0)
    top = np.argsort(-spread, kind="stable")[:most]
    return Summary(
        items=votes.n_items,
        votes=votes.n_votes,
        annotators=votes.n_annotators,
        classes=names,
        ordered=votes.ordered,
        multilabel=votes.multilabel,
        votes_per_item=(int(sizes.min()), float(sizes.mean()), int(sizes.max())),
        items_without_votes=int((sizes == 0).sum()),
        items_with_two=len(pairs),
        class_shares={name: float(share) for name, share in zip(names, counts.sum(0) / votes.n_votes, strict=True)},
        unanimous=float((entropy(pairs) == 0).mean()) if single and len(pairs) else None,
        tied=_tied(pairs) if single and len(pairs) else None,
        entropy=float(entropy(pairs).mean()) if single and len(pairs) else None,
        agreement=float(observed_agreement(pairs).mean()) if single and len(pairs) else None,
        alpha=_alpha(pairs) if single and len(pairs) else None,
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
        nearness=_nearness(votes) if single and len(pairs) >= FEWEST and votes.n_classes > 1 else [],
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
