"""The soft-labels paper as data: data sets times models, five methods, ten seeds, and a sweep over votes."""

from __future__ import annotations

from importlib.resources import files

import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import DATASETS
from dissensus.experiment.papers import Cell, parse_paper, read_paper

PAPER = read_paper("soft-labels")
TEXT = (files("dissensus.experiment.papers") / "soft_labels.toml").read_text("utf-8")


def test_every_data_set_of_texts_with_both_models_and_images_with_two() -> None:
    sets = {(one.data, one.model) for one in PAPER.protocols.values()}
    texts = ("chaosnli-snli", "chaosnli-mnli", "chaosnli-alpha", "popquorn-offensiveness", "md-agreement", "hs-brexit")
    assert sets == {
        *((name, model) for name in texts for model in ("frozen", "fine-tuned")),
        ("cifar10h", "resnet18"),
        ("cifar10h", "small-cnn"),
    }
    assert all(name in DATASETS for name, _ in sets)


def test_the_split_is_audited_everywhere() -> None:
    assert {(one.select, one.draw) for one in PAPER.protocols.values()} == {(0.1, "subsample")}


def test_the_first_experiment_has_five_annotators_an_image() -> None:
    assert {name: one.votes for name, one in PAPER.protocols.items() if one.votes != "all"} == {"cifar10h-small-cnn": 5}


def test_its_trainings() -> None:
    main = [one for one in PAPER.experiments if one.name == "main"]
    assert [one.protocol for one in main] == list(PAPER.protocols)
    methods = {"majority", "soft", "sls", "multipass", "label-smoothing"}
    assert all(set(one.methods) == methods and one.seeds == tuple(range(10)) for one in main)
    swept = [one for one in PAPER.experiments if one.name == "votes"]
    assert {one.votes for one in swept} == {(1, 2, 5, 10, 25, 50, "all")}
    parts = {f"chaosnli-{part}-{model}" for part in ("snli", "mnli", "alpha") for model in ("frozen", "fine-tuned")}
    assert {one.protocol for one in swept} == parts
    assert len(PAPER.cells()) == 14 * 50 + 6 * 3 * 6 * 10  # with all votes the sweep has the runs of the main table
    assert Cell("hs-brexit-frozen", "soft", "all", 1, 9) in PAPER.cells("hs-brexit-frozen")


def test_a_part_of_the_paper() -> None:
    part = PAPER.under(["hs-brexit-frozen"])
    assert list(part.protocols) == ["hs-brexit-frozen"]
    assert part.cells() == PAPER.cells("hs-brexit-frozen")


def test_the_published_numbers_are_those_of_the_abstract() -> None:
    assert {one.metric: told.mean for one, told in PAPER.published.numbers.items()} == {
        "kl_reduction": 0.32,
        "entropy_correlation_gain": 0.61,
    }


WRONG = {
    'data = "hs-brexit"\n': ("", "protocols.hs-brexit-frozen: data is missing: neither the protocol nor the paper"),
    "votes = 5\n": ("votes = 0\n", 'votes must be "all" or a whole number of at least 1, but is 0'),
    'name = "votes"\n': (
        'name = "votes"\nprotocol = "hs-brexit-frozen"\n',
        "votes has a protocol and protocols: say one",
    ),
    'name = "votes"': ('name = "main"', "two experiments are called main"),
}


@pytest.mark.parametrize("right", WRONG)
def test_what_is_wrong_with_the_file_is_said(right: str) -> None:
    wrong, message = WRONG[right]
    with pytest.raises(InputError, match=message):
        parse_paper(TEXT.replace(right, wrong, 1))
