from __future__ import annotations

import numpy as np
import pytest

from dissensus.datasets import Dataset, Texts
from dissensus.experiment import checks
from dissensus.experiment.plan import RecipePart, SplitPart
from dissensus.votes import Votes

LABELS = np.array([0] * 12 + [1] * 3)


def grouped(groups):
    votes = Votes.from_counts(np.eye(2, dtype=int)[LABELS], classes=["no", "yes"])
    return Dataset("own", Texts([f"text {row}" for row in range(15)]), votes, groups=np.array(groups))


@pytest.mark.parametrize(
    ("groups", "told"),
    [
        ([*range(12), 90, 90, 90], "'yes' is the class of 3 items of one group only (as 12), which cannot be both"),
        ([7] * 15, "'no' is the class of 12 items of one group only"),
        ([0] * 7 + [1] * 8, "'yes' is the class of 3 items of one group only"),
        (["p", "q"] * 7 + ["p"], "split: the 2 groups of these 15 items cannot be split in this share"),
        ([*range(13), 12, 13], ""),
    ],
)
def test_groups_that_leave_nothing_to_evaluate(groups, told):
    found = [mistake.sentence for mistake in checks.data_mistakes(grouped(groups), SplitPart())]
    assert bool(found) == bool(told)
    assert told in " ".join(found)


def test_texts_are_no_images():
    found = [mistake.sentence for mistake in checks.recipe_mistakes(grouped(range(15)), RecipePart(crop=4, flip=True))]
    assert found == [f"recipe.{field} is for images, but the inputs are texts." for field in ("crop", "flip")]


def test_a_class_of_one_item_among_others_is_told_and_no_mistake():
    labels = np.array([0] * 12 + [1] * 7 + [2])
    votes = Votes.from_counts(np.eye(3, dtype=int)[labels], classes=["no", "yes", "odd"])
    data = Dataset("own", np.zeros((20, 2), np.float32), votes)
    assert list(checks.data_mistakes(data, SplitPart())) == []
    (told,) = checks.lone_note(data)
    assert told.startswith("'odd' is the class of one item only (19): trained on or evaluated, but not both")
    assert checks.lone_note(grouped([*range(13), 12, 13])) == []


@pytest.mark.parametrize(("lone", "others"), [(2, "1 other class is such, too"), (3, "2 other classes are such, too")])
def test_other_classes_of_one_item_are_counted(lone, others):
    labels = np.array([0] * 12 + [1] * 7 + [2 + i for i in range(lone)])
    data = Dataset("own", np.zeros((len(labels), 2), np.float32), Votes.from_counts(np.eye(5, dtype=int)[labels]))
    (told,) = checks.lone_note(data)
    assert f", and {others}: trained on" in told
