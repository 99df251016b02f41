from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import Dataset, Texts, experts_and_crowd, lewidi, load
from dissensus.votes import Votes, entropy


def tweet(text, votes="0,0,1", annotators="Ann1,Ann2,Ann3", hard="0", split="train", **changed):
    return {
        "text": text,
        "annotation task": "hate speech detection",
        "number of annotations": len(votes.split(",")),
        "annotations": votes,
        "annotators": annotators,
        "lang": "en",
        "hard_label": hard,
        "soft_label": {"0": 0.123, "1": 0.877},  # not to be read
        "split": split,
        "other_info": {},
    } | changed


def pair(context, statement, split="train", **votes):
    return {
        "annotation task": "natural language inference",
        "text": {"context": context, "statement": statement},
        "number of annotators": len(votes),
        "annotators": ",".join(votes),
        "number of annotations": sum(len(said.split(",")) for said in votes.values()),
        "annotations": votes,
        "soft_label": {},
        "split": split,
        "lang": "en",
    }


TWEETS = {
    "train": {"1": tweet("Oh no"), "2": tweet("Leave!", "1,1,0", hard="1")},
    "dev": {"1": tweet("oh, NO <url>", "0,1", "Ann2,Ann9", split="dev")},
    "test": {"1": tweet("Stay", "1,1", "Ann1,Ann1", "1", split="test")},
}
PAIRS = {
    "train": {"7": pair("A premise.", "One.", Ann1="neutral", Ann2="entailment,neutral")},
    "dev": {"7": pair("A premise. ", "Two.", "dev", Ann3="contradiction")},
    "test": {"8": pair("Another.", "Three.", "test", Ann1="neutral", Ann4="neutral")},
}


@pytest.fixture
def write(folder, monkeypatch):
    """Write the parts of a set, which then expects as many items as are given; the folder of its files."""

    def written(parts, name="hs-brexit"):
        shared = lewidi.SETS[name]
        small = replace(shared, parts={part: len(entries) for part, entries in parts.items()})
        monkeypatch.setitem(lewidi.SETS, name, small)
        for part, entries in parts.items():
            path = folder / shared.file.format(part)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(entries), "utf-8")
        return path.parent

    return written


def test_votes_with_their_annotators(write):
    write(TWEETS)
    data = load("hs-brexit")
    assert data.votes.items.tolist() == ["train-1", "train-2", "dev-1", "test-1"]
    assert data.votes.classes == (0, 1)
    assert data.votes.counts().tolist() == [[2, 1], [1, 2], [1, 1], [0, 2]]
    assert data.votes.annotator_names[data.votes.annotators].tolist()[6:8] == ["Ann2", "Ann9"]
    assert data.labels.tolist() == [0, 1, 0, 1]
    assert data.inputs == Texts(["Oh no", "Leave!", "oh, NO <url>", "Stay"])
    assert data.groups.tolist() == [0, 1, 0, 2]
    told = (
        "1 vote is by an annotator who had voted on the item before: 1 says the same again "
        "(first: 'Ann1' on 'test-1'); all are kept."
    )
    assert data.votes.notes == (told,)


def test_several_labels_of_one_annotator(write):
    write(PAIRS, "varierr")
    data, sets = load("varierr"), load("varierr", votes="sets")
    assert data.votes.classes == ("entailment", "neutral", "contradiction")
    assert data.votes.counts().tolist() == [[1, 2, 0], [0, 0, 1], [0, 2, 0]]
    assert not data.votes.multilabel
    assert sets.votes.multilabel
    assert sets.votes.votes_per_item.tolist() == [2, 1, 2]
    assert sets.votes.counts().tolist() == data.votes.counts().tolist()
    assert data.labels is None
    assert data.inputs.second == ("One.", "Two.", "Three.")
    assert data.groups.tolist() == [0, 0, 1]
    with pytest.raises(InputError, match="unknown votes of varierr 'set'; did you mean 'sets'"):
        load("varierr", votes="set")


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (tweet("a", split="dev"), "'split' is 'dev', but 'train' was expected. Another file"),
        (tweet("a", **{"annotation task": "other"}), "'annotation task' is 'other', but 'hate speech detection' was"),
        (tweet("a", "0,1", "Ann1"), "2 annotations by 1 annotators"),
        (tweet("a", "0,2", "Ann1,Ann2"), "'annotations' must be votes for 0, 1, but it is '0,2'"),
        (tweet("a", "0,", "Ann1,Ann2"), "'annotations' must be votes for 0, 1"),
        (tweet("a", **{"number of annotations": 4}), "it holds 3 votes, but its 'number of annotations' is 4"),
        (tweet("a", hard="2"), "'hard_label' must be one of 0, 1, but it is '2'"),
        ({"text": "a"}, "'annotation task' is not there"),
        (tweet({"user": "a"}), "'text' must be a text"),
        ([1], r"it must be an object, but it is \[1\]"),
    ],
)
def test_a_damaged_entry_is_named(write, entry, message):
    where = write(TWEETS | {"train": {"1": tweet("a"), "2": entry}})
    with pytest.raises(InputError, match=message) as told:
        load("hs-brexit")
    assert f"{where / 'HS-Brexit_train.json'}, entry '2'" in str(told.value)


def test_parts_that_were_swapped(write):
    where = write(TWEETS)
    (where / "HS-Brexit_test.json").write_bytes((where / "HS-Brexit_dev.json").read_bytes())
    with pytest.raises(InputError, match=r"HS-Brexit_test.json, entry '1': 'split' is 'dev', but 'test' was expected"):
        load("hs-brexit")


def test_a_file_that_was_cut_off(write):
    path = write(TWEETS) / "HS-Brexit_train.json"
    whole = path.read_text()
    path.write_text(whole[:-9])
    with pytest.raises(InputError, match=rf"{path} is damaged or no JSON"):
        load("hs-brexit")
    path.write_text(json.dumps({"1": tweet("a")}))
    with pytest.raises(InputError, match=rf"{path} has 1 items, but 2 were published"):
        load("hs-brexit")


def test_a_number_that_stands_twice_loses_no_votes_in_silence(write):
    path = write(TWEETS) / "HS-Brexit_train.json"
    path.write_text('{"1": {}, "1": {}}')
    with pytest.raises(InputError, match="the key '1' stands there more than once"):
        load("hs-brexit")


def chaos(ids, first, second):
    votes = Votes.from_counts([[50, 25, 25]] * len(ids), items=ids)
    return Dataset("chaosnli-mnli", Texts(first, second), votes)


def test_the_same_items_in_chaosnli(write):
    write(PAIRS, "varierr")
    crowd = chaos(["8n", "7e", "7c"], ["Another. ", "A premise.", "A premise."], ["Three.", "Two. ", "One."])
    assert lewidi.chaosnli_ids(load("varierr"), crowd) == ["7c", "7e", "8n"]
    crowd = chaos(["8n", "7e", "7c"], ["Another. ", "A premise.", "A premise."], ["Three.", "Two. ", "Five."])
    with pytest.raises(InputError, match=r"1 of 3 items of varierr are not in chaosnli-mnli \(first: 'train-7'\)"):
        lewidi.chaosnli_ids(load("varierr"), crowd)


# -- what is known of the published files


@pytest.mark.parametrize(
    ("name", "items", "votes", "annotators", "nats", "agreement"),
    [
        ("hs-brexit", 1120, 6720, 6, 0.1796, 1.0),
        ("md-agreement", 10753, 53765, 819, 0.3385, 1.0),
        ("varierr", 488, 1891, 4, 0.4486, None),
    ],
)
def test_the_published_numbers(real, name, items, votes, annotators, nats, agreement):
    for file in lewidi.SETS[name].files.values():
        real(file)
    data = load(name)
    assert (len(data), data.votes.n_votes, data.votes.n_annotators) == (items, votes, annotators)
    assert entropy(data.votes).mean() == pytest.approx(nats, abs=5e-5)
    if agreement is not None:
        counts = data.votes.counts()
        assert (counts[np.arange(items), data.labels] == counts.max(1)).mean() == agreement


def test_soft_labels_of_the_organisers_are_the_shares(real):
    for name in ("hs-brexit", "md-agreement"):
        told = []
        for file in lewidi.SETS[name].files.values():
            told += [entry["soft_label"]["1"] for entry in json.loads(real(file).read_text()).values()]
        np.testing.assert_allclose(load(name).votes.frequencies()[:, 1], told, atol=0.0051)  # to two digits


def test_every_item_of_varierr_is_one_of_chaosnli(real):
    for file in (*lewidi.SETS["varierr"].files.values(), "chaosNLI_v1.0/chaosNLI_mnli_m.jsonl"):
        real(file)
    few, many = load("varierr"), load("chaosnli-mnli")
    ids = lewidi.chaosnli_ids(few, many)
    assert len(set(ids)) == len(few) == 488


def test_experts_and_crowd_differ_in_their_votes_alone(real):
    for file in (*lewidi.SETS["varierr"].files.values(), "chaosNLI_v1.0/chaosNLI_mnli_m.jsonl"):
        real(file)
    experts, crowd = experts_and_crowd()
    assert experts.votes.counts().tolist() == load("varierr").votes.counts().tolist()
    assert set(crowd.votes.votes_per_item) == {100}
    np.testing.assert_array_equal(experts.votes.items, crowd.votes.items)
    np.testing.assert_array_equal(experts.truth, crowd.votes.frequencies())
    np.testing.assert_array_equal(experts.labels, crowd.labels)
    np.testing.assert_array_equal(experts.groups, crowd.groups)
    assert experts.inputs == crowd.inputs
    assert (experts.name, crowd.name) == ("varierr", "varierr-crowd")
    shares = experts.votes.frequencies()[:, 0], crowd.votes.frequencies()[:, 0]
    assert np.corrcoef(*shares)[0, 1] > 0.7  # the same items, and not only as many
