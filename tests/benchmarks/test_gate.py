"""The gate judges by its rule: passed, failed, undecided, and nothing where runs are missing."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from scipy import stats as scipy_stats

from dissensus.records import RunStore, pack

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
NOISE = np.array([-0.006, 0.005, -0.002, 0.004, -0.003, 0.002])  # its mean is 0


@pytest.fixture
def gate() -> ModuleType:
    import gate

    return gate


def scores(gate: ModuleType, scale: float = 1.0, seeds: tuple[int, ...] = ()) -> dict:
    """What runs scored, as ``judge`` takes it: bf16 is TF32 and noise, multipass is .03 below soft."""
    found = {}
    for method in gate.METHODS:
        for votes in gate.VOTES:
            for i, seed in enumerate(seeds or gate.SEEDS):
                for precision in ("tf32", "bf16"):
                    value = 0.5 + 0.01 * i - 0.03 * (method == "multipass") + scale * NOISE[i] * (precision == "bf16")
                    row = dict.fromkeys(gate.MARGINS, value) | {"accuracy": 0.87 + value / 10}
                    found[method, votes, seed, precision] = {"best": dict(row), "last": dict(row)}
    return found


def test_the_rule_is_the_one_of_the_plan_file_and_the_protocol(gate: ModuleType) -> None:
    plan = tomllib.loads((BENCHMARKS / gate.PLAN).read_text("utf-8"))
    assert tuple(plan["seeds"]) == gate.SEEDS
    assert min(gate.SEEDS) >= 100
    assert gate.seeds_of(1) == gate.SEEDS
    assert (tuple(plan["methods"]), tuple(plan["votes"])) == (gate.METHODS, gate.VOTES)
    assert (plan["draw"], plan["split"]["select"]) == ("resample", 0.0)
    assert gate.MARGINS == {
        "soft_nll": 0.025,
        "kl": 0.025,
        "accuracy": 0.01,
        "soft_brier": 0.01,
        "entropy_correlation": 0.02,
    }


def test_a_cell_is_judged_by_the_interval_of_a_paired_t_test(gate: ModuleType) -> None:
    tf32 = 0.5 + 0.01 * np.arange(6)
    cell = gate.judge_cell(tf32, tf32 + NOISE + 0.01, 0.025)
    interval = scipy_stats.ttest_rel(tf32 + NOISE + 0.01, tf32).confidence_interval(0.90)
    np.testing.assert_allclose([cell["low"], cell["high"]], interval)
    assert cell["verdict"] == "within"
    assert gate.judge_cell(tf32, tf32 + NOISE + 0.024, 0.025)["verdict"] == "undecided (more seeds)"
    assert gate.judge_cell(tf32, tf32 + NOISE - 0.026, 0.025)["verdict"] == "outside"
    assert gate.judge_cell(tf32, [*tf32[:5], np.nan], 0.025) == {"verdict": "outside", "diverged": True}


@pytest.mark.parametrize(
    ("tf32", "bf16", "holds"),
    [
        (0.03, 0.03, True),
        (0.03, 0.001, False),  # the same sign, another size
        (0.03, -0.03, False),
        (0.0005, -0.0005, True),  # clear in neither: nothing that a precision could change
    ],
)
def test_a_clear_contrast_keeps_its_sign_and_size(gate: ModuleType, tf32: float, bf16: float, holds: bool) -> None:
    told = gate.judge_contrast(tf32 + NOISE, bf16 + NOISE[::-1])
    assert told["holds"] is holds
    np.testing.assert_allclose(told["tf32"]["se"], scipy_stats.sem(NOISE))


def test_small_differences_pass(gate: ModuleType) -> None:
    told = gate.judge(scores(gate), gate.SEEDS)
    assert told["verdict"] == "passed"
    assert len(told["cells"]) == 4 * 2 * 5
    assert {cell["verdict"] for cell in told["cells"]} == {"within"}


def test_one_cell_outside_fails_even_where_it_need_not_be_within(gate: ModuleType) -> None:
    found = scores(gate)
    for seed in gate.SEEDS:
        found["soft", 5, seed, "bf16"]["last"]["entropy_correlation"] += 0.03
    assert gate.judge(found, gate.SEEDS)["verdict"] == "failed"


def test_scatter_is_undecided(gate: ModuleType) -> None:
    assert gate.judge(scores(gate, scale=8.0), gate.SEEDS)["verdict"] == "undecided (more seeds)"


def test_what_need_not_be_within_may_be_undecided(gate: ModuleType) -> None:
    found = scores(gate)
    for i, seed in enumerate(gate.SEEDS):
        found["soft", 5, seed, "bf16"]["last"]["soft_nll"] += 8 * NOISE[i]
    told = gate.judge(found, gate.SEEDS)
    assert told["verdict"] == "passed"
    assert any(cell["verdict"] == "undecided (more seeds)" for cell in told["cells"])


def test_a_contrast_that_does_not_hold_leaves_the_gate_undecided(gate: ModuleType) -> None:
    found = scores(gate)
    for method, shift in (("soft", -0.014), ("multipass", 0.014)):  # each within, their difference almost gone
        for seed in gate.SEEDS:
            found[method, "all", seed, "bf16"]["best"]["soft_nll"] += shift
    told = gate.judge(found, gate.SEEDS)
    assert [c["holds"] for c in told["contrasts"] if c["votes"] == "all" and c["counts"]] == [False]
    assert told["verdict"] == "undecided (more seeds)"


# --- from stores to the file


def fill(store: RunStore, add: Callable, seeds: tuple[int, ...], scale: float = 1.0, **changes: np.ndarray) -> None:
    for method in ("soft", "multipass"):
        for votes in (5, "all"):
            for i, seed in enumerate(seeds):
                for precision in ("tf32", "bf16"):
                    nll = 0.5 + 0.01 * i - 0.03 * (method == "multipass") + scale * NOISE[i] * (precision == "bf16")
                    add(store, method, votes, seed, precision, nll, **changes)


def test_from_two_sources_to_the_file(gate: ModuleType, add: Callable, tmp_path: Path, capsys) -> None:
    here, there = RunStore(tmp_path / "runs"), RunStore(tmp_path / "gpu")
    fill(here, add, gate.SEEDS[:3])
    fill(there, add, gate.SEEDS)
    add(here, "sls", "all", 100, "bf16", 0.5)  # what belongs to other questions is left alone
    add(here, "soft", "all", 100, "bf16", 0.9, select=0.1)
    pack(there, tmp_path / "handover")
    gate.main([str(here.path), str(tmp_path / "handover"), "--out", str(tmp_path / "gate.json")])
    told = json.loads((tmp_path / "gate.json").read_text())
    assert told["result"]["verdict"] == "passed"
    assert "The gate, seeds 100 to 105: passed" in capsys.readouterr().out
    assert told["runs_made_on"]["device"] == ["NVIDIA H200"]
    assert told["runs_made_by"][1].startswith("python benchmarks/make_runs.py gate --precision bf16")
    assert len(told["result"]["runs"]) == 48
    (soft,) = [
        run
        for run in told["result"]["runs"]
        if (run["method"], run["votes"]) == ("soft", "all") and (run["seed"], run["precision"]) == (102, "bf16")
    ]
    (cell,) = [
        cell
        for cell in told["result"]["cells"]
        if (cell["method"], cell["votes"]) == ("soft", "all")
        and (cell["checkpoint"], cell["metric"]) == ("best", "accuracy")
    ]
    assert soft["best"]["accuracy"] == cell["tf32"] == 1.0
    assert str(tmp_path) not in (tmp_path / "gate.json").read_text()


def test_missing_runs_are_named_and_nothing_is_written(gate: ModuleType, add: Callable, tmp_path: Path) -> None:
    store = RunStore(tmp_path / "runs")
    fill(store, add, gate.SEEDS[:5])
    with pytest.raises(SystemExit, match=r"8 of 48 runs are missing:\n  soft, 5 votes, seed 105, tf32") as stop:
        gate.main([str(store.path), "--out", str(tmp_path / "gate.json")])
    assert isinstance(stop.value.code, str)  # a message, which makes the exit code 1
    assert not (tmp_path / "gate.json").exists()


def test_how_convolutions_begin_is_told_by_the_version_or_the_option(gate: ModuleType, add: Callable, tmp_path: Path):
    old, asked = RunStore(tmp_path / "old"), RunStore(tmp_path / "asked")
    fill(old, partial(add, version=1), gate.SEEDS)  # of a release in which PyTorch's way was the default
    fill(asked, partial(add, version=1, options={"init": "he"}), gate.SEEDS)
    out = ["--out", str(tmp_path / "gate.json")]
    with pytest.raises(SystemExit, match="48 of 48 runs are missing"):
        gate.main([str(old.path), *out])
    gate.main(["--init", "torch", str(old.path), *out])
    assert json.loads((tmp_path / "gate.json").read_text())["command"].endswith("gate.py --init torch SCORES")
    gate.main([str(asked.path), *out])


def test_a_diverged_run_fails_the_gate(gate: ModuleType, add: Callable, tmp_path: Path, capsys) -> None:
    store = RunStore(tmp_path / "runs")
    add(store, "soft", 5, 100, "bf16", 0.5, last_logits=np.full((40, 2), np.nan, np.float32))
    fill(store, lambda *a: None if a[1:5] == ("soft", 5, 100, "bf16") else add(*a), gate.SEEDS)
    gate.main([str(store.path), "--out", str(tmp_path / "gate.json")])
    assert json.loads((tmp_path / "gate.json").read_text())["result"]["verdict"] == "failed"
    assert "a run diverged" in capsys.readouterr().out


def test_a_look_comes_only_after_those_that_decided_nothing(gate: ModuleType) -> None:
    second, third = gate.seeds_of(2)[6:], gate.seeds_of(3)[12:]
    with pytest.raises(SystemExit, match="look 1 has decided: passed"):
        gate.look(scores(gate) | scores(gate, 0.5, second), 2)
    told = gate.look(scores(gate, scale=8.0) | scores(gate, 0.5, second), 2)
    assert (told["look"], told["verdict"], len(told["seeds"])) == (2, "passed", 12)
    scattered = scores(gate, scale=12.0) | scores(gate, 12.0, second)
    assert gate.look(scattered, 2)["verdict"] == "undecided (more seeds)"
    told = gate.look(scattered | scores(gate, 0.1, third), 3)
    assert (told["look"], told["verdict"], len(told["seeds"])) == (3, "passed", 18)
    with pytest.raises(SystemExit, match="look 2 has decided: passed"):
        gate.look(scores(gate, scale=8.0) | scores(gate, 0.5, second) | scores(gate, 0.5, third), 3)


def test_a_look_asks_for_all_its_seeds(gate: ModuleType, add: Callable, tmp_path: Path) -> None:
    fill(RunStore(tmp_path / "runs"), add, gate.SEEDS)
    with pytest.raises(SystemExit, match=r"48 of 96 runs are missing:\n  soft, 5 votes, seed 106, tf32"):
        gate.main(["--look", "2", str(tmp_path / "runs")])
    made = gate.commands(3)
    assert len(made) == 6
    assert made[2].endswith("--seeds 106,107,108,109,110,111")
    assert made[-1].endswith("--precision bf16 --store STORE --seeds 112,113,114,115,116,117")


def test_two_sets_of_numbers_for_one_run_are_refused(gate: ModuleType, add: Callable, tmp_path: Path) -> None:
    for folder, nll in (("a", 0.5), ("b", 0.6)):
        add(RunStore(tmp_path / folder), "soft", 5, 100, "tf32", nll)
    with pytest.raises(SystemExit, match="in two sources with other numbers"):
        gate.main([str(tmp_path / "a"), str(tmp_path / "b")])


def test_a_source_that_holds_no_runs_is_told(gate: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="holds neither runs nor archives"):
        gate.main([str(tmp_path)])
