import numpy as np
import pytest

from dissensus.experiment.studies.claims import claims_told, holds, s1_in_words
from dissensus.experiment.studies.finding import Contrast, decide

NOISE = np.random.default_rng(0).normal(0, 0.001, 10)


def found(kl=0.0, tempered=0.0, correlation=0.0, accuracy=0.0):
    table = {}
    for metric, warm, shift in (
        ("kl", False, kl), ("kl", True, tempered), ("entropy_correlation", False, correlation),
        ("accuracy", False, accuracy),
    ):  # fmt: skip
        (one,) = decide([Contrast("d", "q", "soft", "majority", shift + NOISE - NOISE.mean(), 0 * NOISE)], metric, warm)
        table["q", "soft", "majority", metric, warm] = one
    return table


@pytest.mark.parametrize(
    ("shifts", "claims"),
    [
        ({"kl": -0.2, "tempered": -0.1, "correlation": 0.2}, {"S1": "holds", "S2": "holds", "S3": "holds"}),
        (
            {"kl": 0.2, "tempered": 0.1, "correlation": -0.2, "accuracy": -0.1},
            dict.fromkeys(("S1", "S2", "S3"), "fails"),
        ),
        ({"kl": -0.2}, {"S1": "open", "S2": "open", "S3": "holds"}),  # a temperature does as much
        ({"kl": -0.2, "tempered": 0.1}, {"S1": "open", "S2": "open", "S3": "holds"}),
    ],
)
def test_claims_follow_from_findings(shifts, claims):
    assert holds(found(**shifts), "q") == claims


def test_claims_in_words():
    assert claims_told(found(kl=-0.2, tempered=-0.2), "q") == "S1 holds, S2 is open, S3 holds"
    without = {place: one for place, one in found().items() if place[3] != "entropy_correlation"}
    assert claims_told(without, "q") == "S1 is open, S3 holds"


@pytest.mark.parametrize(
    ("kl", "tempered", "told"),
    [
        (-0.2, -0.1, "come nearer to people than majority labels on d"),
        (0.2, 0.1, "stay farther from people than majority labels on d"),
        (0.2, 0.0, "stay farther from people than majority labels, though not once both have a temperature, on d"),
        (0.0, 0.0, "are as near to people as majority labels on d"),
        (0.0, 0.2, "are not told from majority labels on d"),
    ],
)
def test_a_difference_that_a_temperature_undoes_says_so(kl, tempered, told):
    assert s1_in_words(list(found(kl, tempered).values()), "q").startswith(f"soft labels {told} (")
