from __future__ import annotations

import json
import sys
from dataclasses import replace

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import chaosnli, load
from dissensus.votes import entropy

NAMES = {"e": "entailment", "n": "neutral", "c": "contradiction"}


def inference(number, counts, old="n", votes=("n", "n", "n", "e", "c"), source="snli_agree_3", **changed):
    """An entry as published; premises are shared by two items."""
    uid = f"{number}.jpg#0r1{old}"
    example = {
        "uid": uid,
        "premise": f"Premise {number // 2} ",
        "hypothesis": f"Hypothesis {number}.",
        "source": source,
    }
    return {
        "uid": uid,
        "label_counter": {key: count for key, count in zip("enc", counts, strict=True) if count},
        "majority_label": "enc"[int(np.argmax(counts))],
        "label_dist": [count / 100 for count in counts],
        "label_count": list(counts),
        "entropy": 99.0,  # in bits, and not to be read
        "example": example,
        "old_label": old,
        "old_labels": [NAMES[vote] for vote in votes],
    } | changed


def abductive(number, counts):
    example = {"uid": f"a{number}", "obs1": f"First {number}.", "obs2": "Last.", "hyp1": "One.", "hyp2": "Two."}
    return {
        "uid": f"a{number}",
        "label_counter": {"1": counts[0], "2": counts[1]},
        "label_count": list(counts),
        "entropy": 99.0,
        "example": example | {"source": "abdnli_dev"},
        "old_label": 2,
    }


ENTRIES = [inference(0, (30, 70, 0)), inference(1, (5, 5, 90), "c"), inference(2, (98, 1, 1), "e", "eeec")]


@pytest.fixture
def write(folder, monkeypatch):
    """Write entries as the file of a part, which then expects ``items`` of them; the file."""

    def written(entries, name="chaosnli-snli", items=None):
        part = chaosnli.PARTS[name]
        small = replace(part, items=len(entries) if items is None else items)
        monkeypatch.setitem(chaosnli.PARTS, name, small)
        path = folder / part.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(entry) + "\n" for entry in entries), "utf-8")
        return path

    return written


def test_counts_are_in_the_order_of_the_classes(write):
    write(ENTRIES)
    data = load("chaosnli-snli")
    assert data.votes.classes == ("entailment", "neutral", "contradiction")
    assert data.votes.counts().tolist() == [[30, 70, 0], [5, 5, 90], [98, 1, 1]]
    assert data.votes.annotators is None
    assert data.votes.items.tolist() == [entry["uid"] for entry in ENTRIES]
    assert data.labels.tolist() == [1, 2, 0]
    assert data.inputs.first[0] == "Premise 0 "  # nothing is trimmed
    assert data.inputs.second == ("Hypothesis 0.", "Hypothesis 1.", "Hypothesis 2.")
    assert data.groups.tolist() == [0, 0, 1]


def test_all_votes_are_read_without_polars(write, monkeypatch):
    """A borrowed machine lacks it, and it is as large as the encoder that has to be taken there."""
    monkeypatch.setitem(sys.modules, "polars", None)
    monkeypatch.delitem(sys.modules, "dissensus.votes.chaosnli", raising=False)  # the reader, which needs it
    write(ENTRIES)
    assert load("chaosnli-snli").votes.counts().tolist() == [[30, 70, 0], [5, 5, 90], [98, 1, 1]]


def test_the_original_votes_on_the_same_items(write):
    write(ENTRIES)
    data, few = load("chaosnli-snli"), load("chaosnli-snli", votes="original")
    assert few.votes.counts().tolist() == [[1, 3, 1], [1, 3, 1], [3, 0, 1]]  # four votes on the last
    assert few.votes.items.tolist() == data.votes.items.tolist()
    assert few.inputs == data.inputs
    np.testing.assert_array_equal(few.truth, data.votes.frequencies())
    assert data.truth is None
    assert few.digest()["inputs"] == data.digest()["inputs"]
    assert few.digest()["votes"] != data.digest()["votes"]


def test_abductive_items_are_two_stories_without_original_votes(write):
    write([abductive(0, (97, 3)), abductive(1, (40, 60)), abductive(0, (50, 50)) | {"uid": "b0"}], "chaosnli-alpha")
    data = load("chaosnli-alpha")
    assert data.votes.classes == (1, 2)
    assert data.votes.counts().tolist() == [[97, 3], [40, 60], [50, 50]]
    assert data.inputs.first[1] == "First 1. One. Last."
    assert data.inputs.second[1] == "First 1. Two. Last."
    assert data.labels.tolist() == [1, 1, 1]
    assert data.groups.tolist() == [0, 1, 0]
    with pytest.raises(InputError, match="unknown option of chaosnli-alpha 'votes'"):
        load("chaosnli-alpha", votes="original")


def test_other_votes_are_not_known(write):
    write(ENTRIES)
    with pytest.raises(InputError, match="unknown votes of chaosnli-snli 'orignal'; did you mean 'original'"):
        load("chaosnli-snli", votes="orignal")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label_count": [70, 30, 0]}, r"line 2: 'label_count' \[70, 30, 0\] does not fit .* order must be e, n, c"),
        ({"label_count": [30, 70, 0, 0]}, "line 2: 'label_count'"),
        ({"label_count": None}, "line 2: 'label_count' must be a list, but it is None"),
        ({"label_counter": {"e": 30, "n": 70, "x": 3}}, "line 2: 'label_count'"),
        ({"label_count": [30, 60, 0], "label_counter": {"e": 30, "n": 60}}, "must be 100 votes, but it is"),
        ({"label_count": [130, -30, 0], "label_counter": {"e": 130, "n": -30}}, "must be 100 votes"),
        ({"label_count": [30.0, 70, 0]}, "must be 100 votes"),
        ({"uid": 7}, "line 2: 'uid' must be a text, but it is 7"),
        ({"uid": "0.jpg#0r1n"}, "line 2: the uid '0.jpg#0r1n' was there before"),
        ({"old_label": "x"}, "line 2: 'old_label' must be one of e, n, c, but is 'x'"),
        ({"old_labels": ["maybe"]}, "line 2: 'old_labels' must be votes for entailment, neutral, contradiction"),
        ({"old_labels": []}, "line 2: 'old_labels' must be votes"),
        ({"example": {"source": "snli_agree_3", "hypothesis": "h"}}, "line 2, 'example': 'premise' is not there"),
    ],
)
def test_a_damaged_entry_is_named(write, change, message):
    path = write([ENTRIES[0], inference(3, (30, 70, 0), **change)])
    with pytest.raises(InputError, match=message) as told:
        load("chaosnli-snli")
    assert str(path) in str(told.value)


def test_a_file_that_was_cut_off(write):
    path = write(ENTRIES, items=4)
    with pytest.raises(InputError, match=rf"{path} has 3 items, but 4 were published: it is cut off"):
        load("chaosnli-snli")
    path.write_text(path.read_text()[:-20])
    with pytest.raises(InputError, match=rf"line 3 of {path} is damaged or no JSON"):
        load("chaosnli-snli")


def test_a_file_of_another_part_under_that_name(write):
    write([inference(0, (30, 70, 0), source="mnli_agree_3")])
    with pytest.raises(InputError, match="comes from 'mnli_agree_3', but those of this file from 'snli_agree_3'"):
        load("chaosnli-snli")


# -- what is known of the published files

REAL = {  # items, premises or first observations, mean entropy in nats, agreement of old labels with the most votes
    "chaosnli-snli": (1514, 1268, 0.5531, 0.7550),
    "chaosnli-mnli": (1599, 1359, 0.7429, 0.6867),
    "chaosnli-alpha": (1532, 1435, 0.2872, 0.8975),
}


@pytest.fixture(params=REAL)
def published(request, real):
    real(chaosnli.PARTS[request.param].file)
    return load(request.param)


def test_the_published_numbers(published):
    items, premises, mean_entropy, agreement = REAL[published.name]
    counts = published.votes.counts()
    assert len(published) == items
    assert set(published.votes.votes_per_item) == {100}
    assert published.groups.max() + 1 == premises
    assert entropy(published.votes).mean() == pytest.approx(mean_entropy, abs=5e-5)
    chosen = counts[np.arange(items), published.labels] == counts.max(1)
    assert chosen.mean() == pytest.approx(agreement, abs=5e-5)


def test_no_observation_is_in_two_groups(real):
    path = real(chaosnli.PARTS["chaosnli-alpha"].file)
    examples = [json.loads(line)["example"] for line in path.read_text().splitlines()]
    assert len({example["obs2"] for example in examples}) == len(examples)


def test_distances_that_others_measured(published):
    """Root of the Jensen-Shannon divergence in nats: to uniform, and between halves of the annotators."""
    distance = pytest.importorskip("scipy.spatial.distance").jensenshannon
    uniform, halves = dict(zip(REAL, [(0.383, 0.084), (0.302, 0.091), (0.321, 0.057)], strict=True))[published.name]
    human = published.votes.frequencies()
    assert distance(human, np.full_like(human, 1 / human.shape[1]), axis=1).mean() == pytest.approx(uniform, abs=5e-4)
    found = []
    for seed in range(20):
        half = published.votes.subsample(50, seed=seed).counts() / 50
        found.append(distance(half, 2 * human - half, axis=1).mean())
    assert np.mean(found) == pytest.approx(halves, abs=1e-3)


def test_original_votes_as_published(real):
    for name, votes in (("chaosnli-snli", 7563), ("chaosnli-mnli", 7995)):
        real(chaosnli.PARTS[name].file)
        few = load(name, votes="original")
        assert few.votes.n_votes == votes
        majority = few.votes.counts()[np.arange(len(few)), few.labels]
        assert (majority == few.votes.counts().max(1)).all()  # the old label is what most of the five said
