"""What is looked for in a model, and what is kept of it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from dissensus.diagnostics.barrier import barrier
from dissensus.diagnostics.gradcam import gradcam
from dissensus.evaluation.predict import predict
from dissensus.experiment.papers import Cell
from dissensus.experiment.reproduce import Reproduction
from dissensus.experiment.reproduce.lines import Models
from dissensus.experiment.reproduce.look import Ends, Look, _at_once
from dissensus.experiment.reproduce.setting import Effort, outside_images
from dissensus.experiment.subject import Kept, Subject
from dissensus.models import make

RNG = np.random.default_rng(0)
QUICK = Effort(probes=2, tolerance=0.5, curved=10, statistics=8, points=3, precision="fp32", made_up=True)
IMAGES = RNG.integers(0, 256, (30, 3, 16, 16), np.uint8)
HUMAN = RNG.dirichlet(np.ones(4), 30)


def a_model(seed: int) -> torch.nn.Module:
    torch.manual_seed(seed)
    return make("small-cnn", (3, 16, 16), 4)().eval()


def floats(x: torch.Tensor) -> torch.Tensor:
    return x.float() / 255


@pytest.fixture
def subject() -> Subject:
    return Subject(a_model(0), floats, IMAGES, HUMAN, IMAGES[::-1].copy(), HUMAN.argmax(1))


def kept(found: list) -> dict[str, np.ndarray]:
    return {one.name: one.array for one in found if isinstance(one, Kept)}


def test_nothing_is_looked_for_where_nothing_is_asked(small: Reproduction) -> None:
    assert not Look("small-cnn", QUICK)
    assert small.plans[Cell("published", "majority", "all", 1, 0)].name not in small.looks


def test_what_the_paper_asks_of_each_training(small: Reproduction) -> None:
    def look(*cell: object) -> Look:
        return small.looks[small.plans[Cell(*cell)].name]

    sls = look("published", "sls", "all", 1, 0)
    assert (sls.curvature, sls.trace) == (("all", "disputed"), True)
    assert sls.outside == ("streetview", "dtd", "cifar100")
    assert (sls.features, sls.maps, sls.gradient_variance, sls.train_logits, sls.lines) == (True, True, True, False, 2)
    few = look("published", "multipass", 5, 1, 0)
    assert (few.curvature, few.train_logits, few.outside, few.features) == ((), True, (), False)
    sweep = look("published", "sls", 5, 1, 0)
    assert (sweep.curvature, sweep.trace) == (("all", "disputed"), False)  # of these the paper has no trace
    assert look("published", "soft", "all", 1, 0, 500).lines == 1
    assert look("audited", "soft", 5, 1, 0).train_logits


def test_two_seeds_take_as_long(small: Reproduction) -> None:
    one, two = (small.looks[small.plans[Cell("published", "sls", "all", 1, seed)].name] for seed in (0, 1))
    assert one == two
    assert hash(one) == hash(two)
    assert one.ends != two.ends


def test_arrays_are_those_of_the_model(subject: Subject) -> None:
    look = Look("small-cnn", QUICK, features=True, maps=True, train_logits=True)
    arrays = kept(list(look(subject)))
    x = floats(torch.from_numpy(IMAGES))
    features = subject.model.features(x).detach().numpy()
    np.testing.assert_allclose(arrays["features"], features, rtol=2e-3, atol=1e-3)
    logits = predict(subject.model, subject.train, floats)
    np.testing.assert_allclose(arrays["train_logits"], logits, rtol=2e-3, atol=1e-3)
    maps = gradcam(subject.model, subject.model.trunk[-1], x, subject.labels)
    assert {array.dtype for array in arrays.values()} == {np.dtype(np.float16)}
    for ours, theirs in zip(arrays["maps"], maps, strict=True):
        np.testing.assert_allclose(ours, theirs / max(theirs.max(), 1e-30), atol=2e-3)


def test_lines_are_drawn_by_whoever_comes_second(subject: Subject, tmp_path: Path) -> None:
    first, second = "a" * 16, "b" * 16
    models = Models(tmp_path)
    one = Look("small-cnn", QUICK, lines=1, ends=Ends(first, ((second, True),), models))
    assert list(one(subject)) == []
    assert models.load(first, "best") is not None
    other = replace(subject, model=a_model(1), weights=("best", "last"))
    two = Look("small-cnn", QUICK, lines=1, ends=Ends(second, ((first, True),), models))
    found = list(two(other))
    assert [one.name for one in found if not isinstance(one, Kept)] == ["barrier", "barrier_reset", "barrier_aligned"]
    assert {(one.weights, one.other) for one in found if not isinstance(one, Kept)} == {("best", first)}
    line = barrier(other.model, subject.model, floats(torch.from_numpy(IMAGES)), HUMAN, points=3)
    np.testing.assert_allclose(kept(found)[f"barrier_{first}"], line.losses, rtol=1e-5)
    assert models.has(second)  # its best epoch is its last one, and both wait there


@pytest.mark.parametrize(("free", "held", "items"), [(130e9, 0, 2500), (20e9, 0, 500), (84e9, 46e9, 2500)])
def test_items_in_a_pass_of_curvature_fill_half_of_what_is_free(free, held, items, monkeypatch) -> None:
    """However much of it torch holds from the look before."""
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (int(free), int(141e9)))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: int(held + 9e9))
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: int(9e9))
    assert _at_once(torch.device("cuda"), 500) == items
    assert _at_once(torch.device("cpu"), 500) == 500


def test_made_up_sets() -> None:
    for name in ("streetview", "dtd", "cifar100"):
        made = outside_images(name, IMAGES, QUICK)
        assert made.shape == IMAGES.shape
        assert not np.array_equal(made, IMAGES)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_gpu_finds_the_same(tmp_path: Path) -> None:
    """All that is looked for at once, the line to a second model too."""

    def found(device: str) -> dict:
        models = Models(tmp_path / device)
        models.save("b" * 16, "best", a_model(1).to(device))
        ends = Ends("a" * 16, (("b" * 16, True),), models)
        look = Look(
            "small-cnn", QUICK, ("all", "disputed"), True, ("dtd", "cifar100"), True, True, True, lines=1, ends=ends
        )
        model = a_model(0).to(device)
        subject = Subject(model, floats, IMAGES, HUMAN, IMAGES[::-1].copy(), HUMAN.argmax(1))
        return {
            (one.name,) if isinstance(one, Kept) else one.subject: one.array if isinstance(one, Kept) else one.value
            for one in look(subject)
        }

    here, there = found("cpu"), found("cuda")
    assert here.keys() == there.keys()
    for about, value in here.items():
        np.testing.assert_allclose(there[about], value, rtol=0.02, atol=0.02, err_msg=str(about))
