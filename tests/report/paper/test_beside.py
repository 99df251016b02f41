"""What stands beside the numbers: every choice of the protocol, and what can be reached."""

from __future__ import annotations

import numpy as np
import pytest

from dissensus.base.errors import DissensusError
from dissensus.metrics import ceiling, floor
from dissensus.metrics.ceilings import corrected_ceiling
from dissensus.report.paper.beside import KINDS, reach_table, read_beside, sentences


@pytest.fixture(scope="module")
def told():
    return read_beside("basins")


def test_every_deviation_says_what_is_done_and_of_which_kind(told):
    assert {one.kind for one in told.deviations} == set(KINDS)
    assert len({one.what for one in told.deviations}) == len(told.deviations)
    for one in told.deviations:
        assert one.ours
        assert one.paper or one.kind == "audited"
        if one.kind in ("instead", "more", "audited"):
            assert one.why, one.what


@pytest.mark.parametrize(
    "word",
    [
        *(
            "street-view characters",
            "2,033 of its images",
            "seeds 0 to 4",
            "4 pixels of zeros",
            "batch of 64",
            "ε = 0.1",
        ),
        *("the tenth with the highest annotator entropy", "21 points", "T = 1000", "nested subsamples", "15 bins"),
        *("bfloat16", "a tenth of the training items", "soft-fitted temperature", "converged to 1 %", "200 draws"),
    ],
)
def test_choices_of_the_protocol_are_listed(told, word):
    assert any(word in one.ours or word in one.why for one in told.deviations)


def test_what_can_be_reached_is_what_the_votes_say(told):
    from dissensus import load

    try:
        data = load("cifar10h")
    except DissensusError as missing:
        pytest.skip(f"needs CIFAR-10H: {missing}")
    _, items = data.votes.split(0.2, seed=0, by=data.labels)
    counts = data.votes.counts()[items]
    votes = counts.sum(1)
    for metric, reach in told.reach.items():
        for kind, found in (
            ("ceiling", ceiling(metric, counts, draws=4)),
            ("corrected", corrected_ceiling(metric, counts, draws=4)),
            ("floor", floor(metric, counts / votes[:, None], votes, draws=4)),
        ):
            stated = getattr(reach, kind)
            if metric == "ece" or stated is None:
                continue
            # one split instead of ten
            assert found.mean == pytest.approx(stated.mean, abs=6 * stated.sd, rel=0.02), (metric, kind)


def test_the_noise_floor_of_ece_is_that_of_a_calibrated_model(told):
    """Of a model about as sure as these, right as often as it says."""
    random = np.random.default_rng(0)
    sure = random.beta(4.0, 0.62, 2000)
    probs = np.column_stack([sure, np.repeat((1 - sure)[:, None] / 9, 9, 1)])
    assert sure.mean() == pytest.approx(0.87, abs=0.01)
    found = floor("ece", probs, 1, draws=40)
    stated = told.reach["ece"].floor
    assert found.mean == pytest.approx(stated.mean, abs=stated.sd / 2)


def test_the_table_sets_what_was_reached_beside_what_can_be(told, whole):
    table = reach_table(whole, told)
    assert [line.group for line in table.lines][-4:] == ["soft", "sls", "multipass", "majority"]
    assert {len(line.boxes) for line in table.lines} == {len(told.reach)}
    assert any("cannot" in note or "ranks nothing" in note for note in table.notes)
    assert sentences(told)[1].endswith("two full sets would at 0.70.")
