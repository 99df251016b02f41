from __future__ import annotations

import pytest

from dissensus.base.errors import InputError
from dissensus.experiment.chosen import choose
from dissensus.experiment.papers import read_paper

PAPER = read_paper("soft-labels")


def test_without_a_name_everything_is_meant() -> None:
    told = choose(PAPER)
    assert (told.runs, told.places) == (True, ())
    assert {study.model for study in told.studies} == {"", "frozen", "fine-tuned"}


@pytest.mark.parametrize(
    ("protocol", "models"), [("frozen", {"", "frozen"}), ("fine-tuned", {"", "fine-tuned"}), ("hs-brexit", {""})]
)
def test_studies_are_of_the_model_that_a_protocol_names(protocol: str, models: set[str]) -> None:
    assert {study.model for study in choose(PAPER, protocol=protocol).studies} == models


def test_a_study_alone_needs_no_runs() -> None:
    told = choose(PAPER, ["transfer-fine-tuned"])
    assert not told.runs
    assert [study.model for study in told.studies] == ["fine-tuned"]


def test_a_paper_without_studies_does_not_speak_of_them() -> None:
    basins = read_paper("basins")
    assert choose(basins).studies == ()
    with pytest.raises(InputError, match="unknown table, figure or experiment 'transfer'"):
        choose(basins, ["transfer"])


def test_a_small_test_leaves_out_what_trains_models_of_texts() -> None:
    told = choose(PAPER, small=True)
    assert told.runs
    assert [study.name for study in told.studies] == ["coverage"]
    assert told == choose(PAPER).without_training()
    with pytest.raises(InputError, match="transfer trains models of texts, which --smoke does not have"):
        choose(PAPER, ["table1", "transfer"], small=True)
    assert choose(PAPER, ["coverage"], small=True) == choose(PAPER, ["coverage"])


def test_studies_that_train_and_those_that_read() -> None:
    told = choose(PAPER, ["coverage", "transfer"])
    assert [study.name for study in told.training_alone().studies] == ["transfer"]
    assert [study.name for study in told.without_training().studies] == ["coverage"]


@pytest.mark.parametrize(
    ("only", "needed"), [([], True), (["table1"], True), (["coverage"], True), (["transfer"], False)]
)
def test_runs_are_needed_for_tables_and_by_studies_that_read_them(only: list[str], needed: bool) -> None:
    assert choose(PAPER, only).needs_runs == needed
