"""The table of annotators: who is odd beside the others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dissensus.base.words import many, shown
from dissensus.cli.tables import show_table
from dissensus.cli.telling import out

if TYPE_CHECKING:
    from dissensus.votes.annotators import Beside, WithOthers

SHOWN = 10  # annotators, the odd ones
AGREEMENT = (
    "Agreement: the share of others' votes on the same items that say the same, on average, with a 95 % interval."
)
DISTANCE = (
    "Distance: how many classes lie between what they say and what others say of the same items, on average, with a "
    "95 % interval (0: the same, 1: neighbours); leans: how many classes above the others."
)
BESIDE = (
    "Others: the same between the others, on these items. By chance: the same beside votes of others on any item; who "
    "draws lots, or always says one thing, does no better. First come those who are surely odd; who shares few items "
    "comes later."
)
# by results/soft-labels/studies/least-agreeing.md
NOT_WRONG = (
    "Odd is not wrong: without those who agree least, soft labels predicted people worse than without as many at "
    "random, on all three sets that were tried (by a KL of 0.024, 0.008 and 0.002: docs/soft-labels.md). "
    "--without NAME,NAME leaves some out, to compare."
)


def show_annotators(annotators: Sequence[Beside]) -> None:
    """Those that stand out, and how many others there are."""
    known = [one for one in annotators if one.agreement is not None]
    if not known:
        return
    ordered = known[0].distance is not None
    out.print()
    show_table("Annotators, the odd ones first", *(_by_distance if ordered else _by_agreement)(known[:SHOWN]))
    if len(known) > SHOWN:
        out.print(f"and {many(len(known) - SHOWN, 'other annotator')}, less odd")
    if alone := len(annotators) - len(known):
        out.print(f"{many(alone, 'annotator')} {'shares' if alone == 1 else 'share'} no item with another one.")
    out.print(f"{DISTANCE if ordered else AGREEMENT}\n{BESIDE}\n{NOT_WRONG}")


def _by_agreement(annotators: Sequence[Beside]) -> tuple[list[str], list[list[str]]]:
    head = ["annotator", "votes", "agreement", "others", "by\nchance", "commonest\nlabel", "alpha\nwithout"]
    return head, [[*_first(one), *_share(one.agreement), *_last(one)] for one in annotators]


def _by_distance(annotators: Sequence[Beside]) -> tuple[list[str], list[list[str]]]:
    head = ["annotator", "votes", "distance", "others", "by\nchance", "leans", "commonest\nlabel", "alpha\nwithout"]
    leans = ["-" if one.lean is None else f"{round(one.lean, 2) + 0.0:+.2f}" for one in annotators]
    return head, [
        [*_first(one), *_classes(one.distance), lean, *_last(one)] for one, lean in zip(annotators, leans, strict=True)
    ]


def _first(one: Beside) -> list[str]:
    return [shown(one.annotator), f"{one.votes:,}"]


def _share(told: WithOthers | None) -> list[str]:
    assert told is not None
    others = "-" if told.others is None else f"{told.others:.0%}"
    return [f"{told.mean:.0%} [{100 * told.low:.0f}, {100 * told.high:.0f}]", others, f"{told.by_chance:.0%}"]


def _classes(told: WithOthers | None) -> list[str]:
    assert told is not None
    others = "-" if told.others is None else f"{told.others:.2f}"
    low, high = (f"{end:.2f}".removeprefix("0") for end in (told.low, told.high))  # a line of 80 has no room for both 0
    return [f"{told.mean:.2f} [{low}, {high}]", others, f"{told.by_chance:.2f}"]


def _last(one: Beside) -> list[str]:
    alpha = "-" if one.alpha_without is None else f"{one.alpha_without:.3f}"
    return [f"{shown(one.commonest)} {one.commonest_share:.0%}", alpha]
