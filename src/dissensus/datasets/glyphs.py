r"""Glyphs: small drawn images of ten shapes, many of them between two shapes, labelled by annotators that are known.

It ships as code and is drawn in a second, the same to the byte on every machine. It is the one set here whose *true*
annotator distribution is known, so a method can be measured against the truth and not only against more votes.

**The items.** Every item is a shape :math:`a`. In 45 % of them one of its four look-alikes :math:`b` is mixed in by a
weight :math:`w` between .2 and .8: not one image over another, but a shape between the two (a rounded square, a ring
that closes to a disc). Apart from that, 35 % lie behind haze :math:`z` between .1 and 1, which blurs them, takes their
contrast and roughens them. The two strike independently, so 36 % of the items are plain.

**What an item looks like.** The evidence for :math:`b` follows Luce's choice rule with exponent 2, and haze makes
people take what they see for one of its look-alikes, each as likely (:math:`L` is that matrix, rows of four quarters):

.. math:: m_i = (1 - v_i)\,e_a + v_i\,e_b, \quad v_i = \frac{w_i^2}{w_i^2 + (1 - w_i)^2}, \qquad
          \text{look}_i = (1 - d_i)\,m_i + d_i\,m_i L, \quad d_i = .6\,z_i^2

**The annotators.** A hundred: 85 careful, 12 hasty, 3 careless. Annotator :math:`j` says what the item looks like to
them with probability :math:`r_j` (.995, .95, .7), else one of the nine other classes, each as likely:

.. math:: p_j(k \mid i) = r_j\,\text{look}_i(k) + (1 - r_j)\,\frac{1 - \text{look}_i(k)}{9}

**The truth** is the average of :math:`p_j(k \mid i)` over all hundred, which is the same with the mean :math:`\bar r`
= .98075 for :math:`r_j`. The votes of an item come from different annotators, drawn evenly from the hundred.

These numbers were set before any model was trained on the set, to have items as real sets have them, and are not
changed by what a method makes of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.base.streams import uniform
from dissensus.datasets.dataset import Dataset
from dissensus.datasets.painting import Scene, paint
from dissensus.datasets.shapes import SHAPES
from dissensus.votes.synthetic import Annotator, annotate, reliable

CLASSES = tuple(SHAPES)
LOOKALIKES = {
    "circle": ("ring", "square", "moon", "heart"),
    "ring": ("circle", "cross", "moon", "wave"),
    "square": ("circle", "triangle", "star", "cross"),
    "triangle": ("square", "star", "moon", "arrow"),
    "star": ("square", "triangle", "cross", "heart"),
    "cross": ("ring", "square", "star", "arrow"),
    "moon": ("circle", "ring", "triangle", "wave"),
    "heart": ("circle", "star", "arrow", "wave"),
    "arrow": ("triangle", "cross", "heart", "wave"),
    "wave": ("ring", "moon", "heart", "arrow"),
}
POOL = {"careful": (85, 995), "hasty": (12, 950), "careless": (3, 700)}  # how many, and right in how many of 1000 votes

_LOOKALIKE = np.array([[CLASSES.index(other) for other in LOOKALIKES[name]] for name in CLASSES])


def load_glyphs(items: int = 3000, seed: int = 0, votes: int = 15) -> Dataset:
    """The first ``items`` glyphs of ``seed``, with ``votes`` votes an item, a third more or less (10 to 20).

    A larger set begins with the smaller one. ``labels`` is the shape that weighs more in the drawing.

    >>> data = load_glyphs(items=50)
    >>> data.inputs.shape, data.votes.classes[:3], str(data.votes.items[42])
    ((50, 3, 20, 20), ('circle', 'ring', 'square'), 'glyph-00042')
    """
    _check("items", items, most=10**6)
    _check("seed", seed)
    _check("votes", votes, most=75)  # a third more is all of the pool
    scene = _scene(seed, items)
    look = _look(scene)
    ids = [f"glyph-{number:05d}" for number in range(items)]
    return Dataset(
        name="glyphs",
        inputs=paint(scene, seed),
        votes=annotate(look, _pool(), _votes_per_item(seed, items, votes), seed, classes=CLASSES, items=ids),
        labels=np.where(scene.weight > 0.5, scene.second, scene.first),
        truth=_truth(look),
    )


def _scene(seed: int, items: int) -> Scene:
    def u(name: str) -> NDArray[np.float64]:
        return uniform(seed, "glyphs", name, at=items)

    first = (u("first") * len(CLASSES)).astype(np.int64)
    return Scene(
        items=np.arange(items),
        first=first,
        second=_LOOKALIKE[first, (u("second") * 4).astype(np.int64)],
        weight=np.where(u("blended") < 0.45, 0.2 + 0.6 * u("weight"), 0.0),
        haze=np.where(u("hazy") < 0.35, 0.1 + 0.9 * u("haze"), 0.0),
    )


def _look(scene: Scene) -> NDArray[np.float64]:
    """(items, classes): what an attentive annotator says the item is."""
    with_second, with_first = scene.weight * scene.weight, (1 - scene.weight) * (1 - scene.weight)
    blend = with_second / (with_second + with_first)
    doubt = 0.6 * scene.haze * scene.haze
    look = np.zeros((len(scene.items), len(CLASSES)))
    for shape, share in ((scene.first, 1 - blend), (scene.second, blend)):
        look[scene.items, shape] += (1 - doubt) * share
        for other in _LOOKALIKE[shape].T:
            look[scene.items, other] += doubt * share / 4
    return look


def _truth(look: NDArray[np.float64]) -> NDArray[np.float64]:
    # synthetic.expected says the same, but by a matrix product, whose last bits differ between machines
    right = sum(size * rate for size, rate in POOL.values()) / (1000 * sum(size for size, _ in POOL.values()))
    return right * look + (1 - right) * (1 - look) / (len(CLASSES) - 1)


def _pool() -> list[Annotator]:
    return [
        reliable(f"{kind}-{number:02d}", len(CLASSES), accuracy=rate / 1000)
        for kind, (size, rate) in POOL.items()
        for number in range(size)
    ]


def _votes_per_item(seed: int, items: int, votes: int) -> NDArray[np.int64]:
    spread = votes // 3
    return votes - spread + (uniform(seed, "glyphs", "votes", at=items) * (2 * spread + 1)).astype(np.int64)


def _check(name: str, value: int, most: int | None = None) -> None:
    whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not whole or (most is not None and not 1 <= value <= most):
        told = "" if most is None else f" from 1 to {most}"
        raise InputError(f"{name} of glyphs must be a whole number{told}, but is {value!r}.")
