from __future__ import annotations

from dissensus import DELIVERIES, METHODS
from dissensus.delivery import PUBLISHED, Method


def test_the_published_deliveries_are_there():
    assert " ".join(PUBLISHED) == (
        "soft sls multipass deterministic-control shuffled-sls majority label-smoothing mixup"
    )
    assert set(PUBLISHED) <= set(METHODS)
    assert all(name == delivery.name for name, delivery in DELIVERIES.items())


def test_every_delivery_is_a_method_that_leaves_the_recipe_alone():
    assert all(METHODS[name] == Method(name, name, {}) for name in DELIVERIES)


def test_mixup_is_majority_with_a_changed_recipe():
    assert METHODS["mixup"] == Method("mixup", "majority", {"mixup": 1.0})
    assert set(METHODS) == {*DELIVERIES, "mixup"}
