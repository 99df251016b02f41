"""The README's part on training is made from the files of the measurements, and only from those that are there."""

from __future__ import annotations

import json
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def section(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    import training_section

    return training_section


def ladder() -> dict[str, Any]:
    rungs = {
        "kernels": {"says": "our kernels", "ms_a_step": 1.6, "s_a_run": 20.2, "share_of_peak": 0.34, "memory_gb": 2.5},
        "4": {"says": "four side by side", "ms_a_step": 1.19, "s_a_run": 15.0, "share_of_peak": 0.45, "memory_gb": 9.1},
        "host": {"says": "our loop", "ms_a_step": 9.0, "s_a_run": 113.4, "share_of_peak": 0.06, "memory_gb": 1.0},
        "8": {"says": "eight side by side", "error": "OutOfMemoryError"},
    }
    for rung in rungs.values():
        rung["cold_start_s"] = 12.4
    environment = {"machine": {"gpu": "NVIDIA H200"}}
    return {"environment": environment, "result": {"rungs": rungs, "matrix_peak_tflops": 788}}


def peers() -> dict[str, Any]:
    """As ``peers.conclude`` gives it for epochs of these seconds; a process is up after 10 s."""
    import peers

    seconds = {"plain": 0.8, "plain-tuned": 0.25, "hf": 1.0, "dissensus": 0.1, "dissensus-4": 0.075}
    measured: dict[str, Any] = {}
    for name, epoch in seconds.items():
        runs = 4 if name == "dissensus-4" else 1
        ends = [10 + runs * epoch * (i + 1) for i in range(4)]
        rows = [{"ended_s": end, "train_loss": 1.5 if name != "hf" else 2.0, "soft_nll": 1.8} for end in ends]
        measured[name] = [{"runs": runs, "epochs": rows, "device": "NVIDIA H200"}]
    measured["lightning"] = [{"error": "no module"}]
    return {"result": {"peers": peers.conclude(measured, tiny=False), "measured": measured}}


def gate(shift: float = 0.0) -> dict[str, Any]:
    import gate

    noise = 0.003 * np.array([-2, 2, -1, 1, -1, 1])
    found = {
        (method, votes, seed, precision): {
            checkpoint: dict.fromkeys(gate.MARGINS, 0.5 - 0.03 * (method == "multipass") + change)
            for checkpoint in ("best", "last")
        }
        for method in gate.METHODS
        for votes in gate.VOTES
        for i, seed in enumerate(gate.SEEDS)
        for precision, change in (("tf32", noise[i] / 9), ("bf16", noise[i] / 3 + shift))
    }
    return {"result": gate.judge(found, gate.SEEDS)}


def spread(change: float) -> dict[str, Any]:
    row = {"checkpoint": "best", "sd_alone": 0.0061, "beside_minus_alone": change, "se_from_spread": 0.002}
    rows = [row | {"metric": metric} for metric in ("soft_nll", "accuracy")]
    return {"result": {"rows": rows, "plans": 4, "widths": [1, 8], "same_bits": {"pairs": 12, "identical": 0}}}


def sanity() -> dict[str, Any]:
    import sanity

    shift = {"sls": 0.001, "mixup": 0.2}
    rows = []
    for method, told in sanity.published().items():
        for metric in (metric for metric in sanity.METRICS if metric in told):
            middle = told[metric]["mean"] + shift.get(method, 0.0) * (metric == "accuracy")
            values = [middle + step * told[metric]["sd"] for step in (-1, 1, -0.5, 0.5)]
            rows.append({"method": method, "metric": metric} | sanity.judge(values, told[metric], told["seeds"]))
    (wrong,) = (row for row in rows if row["verdict"] == "differs")
    return {"result": {"rows": [row if row is not wrong else row | {"note": "Made up."} for row in rows]}}


def cpu_loop() -> dict[str, Any]:
    threads = [{"threads": 2, "plain": {"times": 1.5}, "tuned": {"times": 0.9}}]
    return {"result": {"items": 2400, "threads": threads}}


def made(section: ModuleType, folder: Path, **files: dict[str, Any]) -> str:
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return section.training(folder)


def cells(text: str, first: str) -> list[str]:
    """The cells of the row that begins so."""
    (row,) = [line for line in text.splitlines() if line.startswith(f"| {first} |")]
    return [cell.strip().strip("*") for cell in row.strip("|").split("|")][1:]


def test_nothing_measured_nothing_said(section: ModuleType, tmp_path: Path) -> None:
    assert section.training(tmp_path) == ""


def test_all_of_it(section: ModuleType, tmp_path: Path) -> None:
    text = made(
        section,
        tmp_path,
        ladder=ladder(),
        peers=peers(),
        gate=gate(),
        spread=spread(0.001),
        sanity=sanity(),
        cpu_loop=cpu_loop(),
    )
    assert text.startswith("One run is")
    assert text.endswith("(`benchmarks/plain_loop.py`).\n")
    assert "\n\n\n" not in text
    assert max(len(line) for line in text.splitlines() if line[:1] not in "|-") <= 120


def test_the_ladder_is_in_its_order_and_stands_on_the_plain_loop(section: ModuleType, tmp_path: Path) -> None:
    text = made(section, tmp_path, ladder=ladder())
    heads = [line.split("|")[1].strip() for line in text.splitlines() if line.startswith("| ")][1:]
    assert heads == ["our loop", "our kernels", "four side by side"]
    assert cells(text, "four side by side") == ["1.19", "15.0", "45%", "9.1 GB"]
    assert "| **15.0** |" in text
    assert "On one H200" in text
    assert "Did not run: eight side by side." in text
    both = made(section, tmp_path, peers=peers())
    assert cells(both, "plain PyTorch, images from a `DataLoader`")[:2] == [f"{800 / 63:.2f}", "160.0"]


def test_peers_are_told_in_multiples_of_our_best(section: ModuleType, tmp_path: Path) -> None:
    text = made(section, tmp_path, peers=peers())
    assert cells(text, "dissensus, four side by side") == ["15.0 (15.0 to 15.0)", "240", "1.0", "10 s"]
    assert cells(text, "plain PyTorch, as documented")[1:3] == ["22", "10.7"]
    assert cells(text, "plain PyTorch, tuned")[2] == "3.3"
    assert "| Hugging Face Trainer, as documented ¹ |" in text  # its training loss is far from the others'
    assert "¹ Fails the check" in text
    assert "Not measured: Lightning, as documented." in text


def test_the_gate_tells_its_verdict_and_what_had_to_be_within(section: ModuleType, tmp_path: Path) -> None:
    text = made(section, tmp_path, gate=gate())
    assert "May bf16 stand for TF32? **Passed**" in text
    assert len([line for line in text.splitlines() if line.startswith(("| soft |", "| multipass |"))]) == 4
    assert "Of all 40 comparisons (five metrics, best and last epoch), 40 within." in text.replace("\n", " ")
    assert "+0.030 in TF32, +0.030 in bf16 with 5 votes" in text.replace("\n", " ")
    text = made(section, tmp_path, gate=gate(shift=0.0245))
    assert "**Failed**" in text
    assert "], undecided |" in text
    assert "], outside |" in text


def test_the_spread_says_whether_company_is_seen(section: ModuleType, tmp_path: Path) -> None:
    assert "no more than its scatter explains" in made(section, tmp_path, spread=spread(0.003)).replace("\n", " ")
    assert ", more than its scatter explains" in made(section, tmp_path, spread=spread(0.005)).replace("\n", " ")
    same = spread(0.0)
    same["result"]["same_bits"]["identical"] = 12
    assert "the same to the last bit." in made(section, tmp_path, spread=same)


def test_what_differs_from_the_paper_is_marked_with_its_reason(section: ModuleType, tmp_path: Path) -> None:
    text = made(section, tmp_path, sanity=sanity())
    assert "33 of 34 comparisons" in text
    assert cells(text, "mixup")[1] == "1.082 (0.882) ≠"
    assert "- mixup, accuracy: 1.082 against 0.882. Made up." in text
    assert len(cells(text, "multipass")) == 4
    assert text.count("≠") == 1


def test_a_cpu_that_loses_is_told_as_well(section: ModuleType, tmp_path: Path) -> None:
    text = made(section, tmp_path, cpu_loop=cpu_loop()).replace("\n", " ")
    assert "it is 1.5 and 0.9 times as fast with 2 threads" in text


def test_every_rung_and_every_peer_has_its_place(section: ModuleType) -> None:
    import ladder
    import peers

    assert list(section.LADDER) == [ladder.LOADER, *ladder.RUNGS]
    assert list(section.PEERS) == list(peers.MODULES)
    assert (section.STEPS, section.EPOCHS) == (ladder.STEPS, ladder.EPOCHS)
    assert math.ceil(8000 / 128) == section.STEPS
