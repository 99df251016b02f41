"""Votes of every kind that deliveries have to cope with."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from dissensus import Votes


def uneven(n_items=60, n_classes=4, most=9, seed=0):
    """Items with different numbers of votes, from one up, some of them unanimous."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(n_classes, 0.5), n_items)
    return Votes.from_counts(rng.multinomial(rng.integers(1, most + 1, n_items), p))


def several(n_items=40, n_classes=3, seed=0):
    """Votes that may name several classes, or none but one."""
    rng = np.random.default_rng(seed)
    items = np.repeat(np.arange(n_items), rng.integers(1, 6, n_items))
    labels = [set(rng.choice(n_classes, rng.integers(1, n_classes + 1), replace=False).tolist()) for _ in items]
    return Votes.from_records(items=items, labels=labels, classes=range(n_classes))


KINDS = {
    "uneven": uneven,
    "one vote an item": lambda: uneven(most=1),
    "two classes": lambda: uneven(n_classes=2),
    "a thousand classes": lambda: uneven(n_classes=1000, most=20),
    "several labels a vote": several,
}


@pytest.fixture(scope="session", params=KINDS)
def votes(request):
    return KINDS[request.param]()


LAST = 2**64 - 1


@pytest.fixture(scope="session")
def random_bits():
    """The streams once more, in Python's own integers: SplitMix64 of the position, started from BLAKE2b of the path."""

    def at(position, *path):
        x = int.from_bytes(hashlib.blake2b(repr(path).encode(), digest_size=8).digest(), "little")
        x = (x + (position + 1) * 0x9E3779B97F4A7C15) & LAST
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & LAST
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & LAST
        return x ^ (x >> 31)

    return at
