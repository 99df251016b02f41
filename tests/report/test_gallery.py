"""The most disputed items: which, what is shown of them, and their pictures."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image

from dissensus.datasets import Dataset, Texts
from dissensus.report import collect
from dissensus.report.gallery import PICTURE_SIDE, gallery, png
from dissensus.votes import Votes


def pictures_of(run) -> Dataset:
    ids, counts = run.predictions["ids"], run.predictions["counts"]
    images = np.arange(len(ids) * 3 * 5 * 4).reshape(len(ids), 3, 5, 4) % 251
    return Dataset("pets", images.astype(np.uint8), Votes.from_counts(counts, items=list(ids)))


def test_the_most_disputed_come_first_and_more_votes_break_ties(make_run):
    def edit(predictions):
        predictions["counts"][:] = [20, 0, 0, 0]
        predictions["counts"][7] = [5, 5, 0, 0]
        predictions["counts"][3] = [9, 9, 0, 0]
        predictions["counts"][9] = [4, 4, 4, 0]

    items = gallery(collect([make_run("soft", edit=edit)]), size=3)
    assert [item.id for item in items] == ["item-0-9", "item-0-3", "item-0-7"]
    assert [item.votes for item in items] == [12, 18, 10]
    assert round(items[0].entropy, 6) == round(np.log(3), 6)


def test_bars_are_those_of_the_first_seed(comparison):
    item = gallery(comparison)[0]
    assert list(item.bars) == ["humans", "truth", "soft", "sls", "multipass", "majority"]
    run = comparison.panels[0].runs["soft"][0]
    row = run.predictions["ids"].tolist().index(item.id)
    classes = run.plan["data"]["classes"]
    logits = run.predictions["best_logits"][row].astype(np.float64)
    probs = np.exp(logits) / np.exp(logits).sum()
    expected = [probs[classes.index(name)] for name in item.classes]
    np.testing.assert_allclose(item.bars["soft"], expected, rtol=1e-6)
    assert (np.diff(item.bars["humans"]) <= 0).all()


def test_classes_of_a_scale_keep_its_order(make_run):
    run = make_run("soft", data={"ordered": True})
    for item in gallery(collect([run])):
        places = [run.plan["data"]["classes"].index(name) for name in item.classes]
        assert places == sorted(places)


def test_hundreds_of_classes_show_ten(make_run):
    items = gallery(collect([make_run("soft", items=20, classes=120)]))
    for item in items:
        assert len(item.classes) <= 10
        assert item.classes[-1] == "other"
        for shares in item.bars.values():
            assert abs(shares.sum() - 1) < 1e-6


def test_without_truth(make_run):
    assert list(gallery(collect([make_run("soft", truth=False)]))[0].bars) == ["humans", "soft"]


def test_pictures(make_run):
    run = make_run("soft")
    data = pictures_of(run)
    item = gallery(collect([run]), data)[0]
    row = run.predictions["ids"].tolist().index(item.id)
    picture = np.asarray(Image.open(io.BytesIO(item.picture)))
    step = PICTURE_SIDE // 5
    assert picture.shape == (5 * step, 4 * step, 3)
    np.testing.assert_array_equal(picture[::step, ::step], np.moveaxis(data.inputs[row], 0, 2))


def test_missing_pictures(make_run):
    run = make_run("soft")
    data = pictures_of(run)
    found = collect([run])
    some = Dataset("pets", data.inputs[:1], data.votes.take(np.array([0])))
    assert {item.picture for item in gallery(found, some) if item.id != "item-0-0"} == {None}
    features = Dataset("pets", np.zeros((len(data), 2), np.float32), data.votes)
    assert gallery(found, features)[0].picture is None


def test_grey_pictures():
    picture = np.asarray(Image.open(io.BytesIO(png(np.full((1, 2, 2), 7, np.uint8), side=4))))
    assert picture.tolist() == [[7] * 4] * 4


def test_large_pictures_are_reduced_and_keep_their_shape():
    picture = np.zeros((3, 600, 300), np.uint8)
    picture[0] = 200  # red stays red: the channels are in their order
    drawn = np.asarray(Image.open(io.BytesIO(png(picture, side=100))))
    assert drawn.shape == (100, 50, 3)
    np.testing.assert_array_equal(drawn[50, 25], [200, 0, 0])


def test_texts_are_shown_as_they_are_and_long_ones_are_cut(make_run):
    run = make_run("soft")
    ids, counts = run.predictions["ids"], run.predictions["counts"]
    first = [f"premise of {name} " + "and on " * 80 for name in ids]
    texts = Texts(first, [f"hypothesis <b> of {name}" for name in ids])
    data = Dataset("pairs", texts, Votes.from_counts(counts, items=list(ids)))
    for item in gallery(collect([run]), data):
        premise, hypothesis = item.texts
        assert premise.startswith(f"premise of {item.id} and on")
        assert len(premise) == 400
        assert premise.endswith("…")
        assert hypothesis == f"hypothesis <b> of {item.id}"
        assert item.picture is None


def test_without_texts_there_are_none(make_run):
    run = make_run("soft")
    assert all(item.texts == () for item in gallery(collect([run]), pictures_of(run)))
