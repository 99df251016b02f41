"""Readings of what a paper leaves open: each is measured right, and the rule that was written first decides."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from torch import nn

from dissensus.diagnostics.cam_stability import cam_stability
from dissensus.diagnostics.gradcam import gradcam
from dissensus.diagnostics.gradient_variance import gradient_variance, sampled_gradient_variance
from dissensus.diagnostics.hvp import Hessian
from dissensus.diagnostics.neighbours import knn_on
from dissensus.models import ResNet18


@pytest.fixture
def readings() -> ModuleType:
    import readings

    return readings


@pytest.fixture
def look() -> ModuleType:
    import readings_look

    return readings_look


@pytest.fixture
def votes() -> np.ndarray:
    return np.random.default_rng(0).dirichlet([0.2] * 3, size=40)


@pytest.fixture
def net() -> nn.Module:
    torch.manual_seed(0)
    return ResNet18((1, 16, 16), 3, width=4).eval()


def question(readings: ModuleType, **ours: str):
    return readings.Question(ours, (readings.Aim("soft", "n", 10.0, sd=1.0), readings.Aim("sls", "n", 5.0, margin=0.5)))


def decided(readings: ModuleType, asked, **by_reading: tuple[float, float]) -> dict:
    """Of readings that are written ``k_1_bank_all``: the number of soft labels and that of SLS."""
    values = {}
    for key, (soft, sls) in by_reading.items():
        words = key.split("_")
        text = "; ".join(f"{a}: {b}" for a, b in zip(words[::2], words[1::2], strict=True))
        values[text] = {("soft", "n"): {"100": soft, "101": soft}, ("sls", "n"): {"100": sls, "101": sls}}
    return readings.decide(asked, readings.judge(asked, values))


def test_the_rule(readings: ModuleType) -> None:
    asked = question(readings, k="50", bank="all")
    far, near = (20.0, 9.0), (10.5, 5.2)
    assert decided(readings, asked, k_1_bank_all=near)["verdict"] == "not measured"
    assert decided(readings, asked, k_50_bank_all=near, k_1_bank_all=near)["verdict"] == "agrees"
    assert decided(readings, asked, k_50_bank_all=far, k_1_bank_all=far)["verdict"] == "not explained"
    told = decided(readings, asked, k_50_bank_all=far, k_1_bank_all=near, k_5_bank_5000=near, k_9_bank_all=far)
    assert told["verdict"] == "explained"
    assert (told["choice"], told["ours"], told["values"]) == ("k", "50", ["1", "5"])
    either = decided(readings, asked, k_50_bank_all=far, k_1_bank_all=near, k_50_bank_5000=near)
    assert either["verdict"] == "undecided"
    assert decided(readings, asked, k_50_bank_all=far, k_1_bank_5000=near)["verdict"] == "undecided"  # not alone


def test_both_methods_must_fit_and_missing_numbers_are_no_verdict(readings: ModuleType) -> None:
    asked = question(readings, k="50")
    assert decided(readings, asked, k_50=(20.0, 9.0), k_1=(10.0, 9.0))["verdict"] == "not explained"
    assert decided(readings, asked, k_50=(float("nan"), 5.0))["verdict"] == "not explained"
    (row,) = readings.judge(asked, {"k: 1": {("soft", "n"): {"100": 10.0}}})
    assert row["fits"] is None
    # two standard errors with the published SD for both: 2 sqrt(1/10 + 1/2) = 1.549
    assert readings.judge(asked, {"k: 1": {("soft", "n"): {"100": 11.5, "101": 11.5}, ("sls", "n"): {"100": 5.0}}})[0][
        "fits"
    ]
    assert decided(readings, asked, k_50=(11.6, 5.0))["verdict"] != "agrees"


def test_what_is_asked_is_what_the_paper_has(readings: ModuleType) -> None:
    asked = readings.questions()
    aims = {(name, aim.method, aim.number): aim for name, told in asked.items() for aim in told.aims}
    assert aims["curvature", "soft", "top_eigenvalue"].published == 780.6
    assert aims["all-items", "sls", "trace"].sd == 50.6
    assert aims["gradients", "sls", "correlation"].sd == pytest.approx(0.011, abs=1e-4)
    assert aims["neighbours", "soft", "knn_less_msp"].published == pytest.approx(0.0037)
    assert aims["maps", "soft", "stability_disputed"].published == 0.756


def test_a_slice_that_is_filled_up_has_the_same_hessian(look: ModuleType, votes: np.ndarray) -> None:
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 3)), torch.randn(40, 4)
    hessian, index = Hessian(model, x, votes), np.array([3, 8, 9, 20, 30])
    part, times = look.filled_up(hessian, index, 4)
    assert len(part.inputs) == 8
    v = torch.randn(2, hessian.size)
    torch.testing.assert_close(times * part(v), Hessian(model, x[index], votes[index])(v))
    assert hessian.targets.sum() == pytest.approx(40, abs=1e-4)  # those of all items are as they were
    assert look.filled_up(hessian, index[:4], 4)[1] == 1


def test_slices(look: ModuleType) -> None:
    human = np.full((200, 2), [1.0, 0.0])
    human[:20, 1] = np.linspace(0.5, 0.1, 20)
    human[:, 0] = 1 - human[:, 1]
    found = look.slices(human)
    np.testing.assert_array_equal(found["highest entropy 5.0%"], np.arange(10))
    np.testing.assert_array_equal(found["lowest majority 5.0%"], np.arange(10))
    assert set(found["half of the highest entropy 10.0%"]) < set(range(20))
    assert len(found["half of the highest entropy 10.0%"]) == 10
    np.testing.assert_array_equal(found["majority below 0.8"], np.flatnonzero(human[:, 1] > 0.2))
    assert "entropy above 1" not in found  # two classes have at most .69
    assert len(found["128 of the highest entropy 25.0%"]) == 50  # there are no more


def test_the_variance_of_a_linear_model_in_all_parameters_is_the_formula(look: ModuleType, votes: np.ndarray) -> None:
    votes[::4] = np.eye(3)[0]
    model, x = nn.Linear(6, 3), torch.randn(40, 6)
    found = look.of_all_parameters(model, x, votes)
    np.testing.assert_allclose(found, gradient_variance(x, votes), rtol=1e-4, atol=1e-5)


def test_shares_of_draws_stand_for_draws(look: ModuleType, votes: np.ndarray) -> None:
    """The formula of drawn shares, times S / (S - 1), is unbiased like the variance of drawn gradients."""
    features, draws = np.ones((40, 2)), 20
    exact = gradient_variance(features, votes)
    np.testing.assert_allclose(gradient_variance(features, look.drawn(votes, 20_000)), exact, atol=0.05)
    few = gradient_variance(features, look.drawn(votes, draws)) * draws / (draws - 1)
    sampled = sampled_gradient_variance(features, votes, votes, draws=draws)
    assert few.mean() == pytest.approx(exact.mean(), rel=0.1)
    assert sampled.mean() == pytest.approx(exact.mean(), rel=0.1)


def test_our_reading_of_neighbours_is_the_librarys(look: ModuleType) -> None:
    chance = np.random.default_rng(0)
    features, bank = (chance.normal(size=(n, 5)).astype(np.float32) for n in (9, 60))
    cpu = torch.device("cpu")
    near = look.nearest(cpu, features, bank, 20, scaled=True)
    np.testing.assert_allclose(look.DISTANCES["k-th"](near, 20), -knn_on(cpu, features, bank, 20), rtol=1e-6)
    plain = np.sort(np.linalg.norm(features[:, None] - bank, axis=2), 1)
    found = look.nearest(cpu, features, bank, 20, scaled=False)
    np.testing.assert_allclose(look.DISTANCES["mean of k"](found, 7), plain[:, :7].mean(1), rtol=1e-5)


def test_maps_before_the_relu(look: ModuleType, net: nn.Module) -> None:
    x, labels = torch.randn(6, 1, 16, 16), np.arange(6) % 3
    layer = net.stages[5]
    signed = gradcam(net, layer, x, labels) - gradcam(look.Turned(net), layer, x, labels)
    np.testing.assert_allclose(np.maximum(signed, 0), gradcam(net, layer, x, labels), rtol=1e-5, atol=1e-7)
    assert (signed < 0).any()
    assert not net.training


def test_our_reading_of_stability_is_the_librarys() -> None:
    import readings_maps

    chance = np.random.default_rng(0)
    one, other = ({"last": chance.normal(size=(3, 50, 4, 4))} for _ in range(2))
    one["last"][0, 7] = -1.0  # nothing speaks for the class
    human, unseen = chance.dirichlet([0.3] * 4, size=50), np.arange(50) % 3 > 0
    found = {tuple(c.values()): (a, d) for c, a, d in readings_maps.stabilities(one, other, human, unseen, 8)}
    assert len(found) == 3 * 2 * 2 * 4 * 2
    a, b = (np.maximum(maps["last"][0][unseen], 0) for maps in (one, other))
    ours = found["majority", "last", "Pearson", "yes", "of the layer", "unseen by both"]
    assert ours[0] == pytest.approx(cam_stability(a, b).mean, abs=1e-6)
    same = {tuple(c.values()): v for c, *v in readings_maps.stabilities(one, one, human, unseen, 8)}
    assert np.allclose(list(same.values()), 1)


def test_from_trainings_to_the_file_and_on_again(readings: ModuleType, tmp_path: Path, capsys) -> None:
    words = ["--tiny", "--store", str(tmp_path / "runs"), "--out", str(tmp_path / "one.json")]
    assert readings.main(words) == 0
    assert "4 made, 0 known, 0 left" in capsys.readouterr().out
    text = (tmp_path / "one.json").read_text()
    told = json.loads(text)
    assert told["command"] == "python benchmarks/readings.py --tiny --store STORE --out FILE.json"
    assert str(tmp_path) not in text
    result = told["result"]
    assert result["failures"] == []
    assert [(run["method"], run["seed"]) for run in result["runs"]] == [
        (method, seed) for seed in (100, 101) for method in ("soft", "sls")
    ]
    for name, found in result["questions"].items():
        assert found["verdict"]["verdict"] != "not measured", name
        ours = next(row for row in found["readings"] if row["reading"] == found["ours"])
        assert {"soft", "sls"} == {number.split()[0] for number in ours["numbers"]}
    assert readings.main([*words[:-1], str(tmp_path / "two.json")]) == 0
    assert "0 made, 4 known, 0 left" in capsys.readouterr().out
    assert json.loads((tmp_path / "two.json").read_text())["result"] == result


def test_a_question_that_fails_leaves_the_others(
    readings: ModuleType, look: ModuleType, tmp_path: Path, monkeypatch, capsys
) -> None:
    def nothing(*_: object) -> None:
        raise RuntimeError("no memory is left")

    monkeypatch.setattr(look, "curvature", nothing)
    out = tmp_path / "readings.json"
    assert readings.main(["--tiny", "--out", str(out)]) == readings.LEFT
    result = json.loads(out.read_text())["result"]
    assert "no memory is left" in result["failures"][0]["why"]
    assert result["questions"]["curvature"]["verdict"] == {"verdict": "not measured"}
    assert result["questions"]["gradients"]["verdict"]["verdict"] != "not measured"
    assert "curvature failed" in capsys.readouterr().out


def test_one_seed_is_refused(readings: ModuleType, capsys) -> None:
    with pytest.raises(SystemExit):
        readings.main(["--tiny", "--seeds", "100"])
    assert "so two are needed" in capsys.readouterr().err
