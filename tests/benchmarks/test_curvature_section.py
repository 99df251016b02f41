"""The README's part on curvature is made from the file of the measurement."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def section(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(DOCS))
    import curvature_section

    return curvature_section


def way(seconds: float, same_probes: float | None = 0.0004) -> dict[str, Any]:
    errors = {"top_error": 0.002, "trace_error": 0.06, "trace_error_same_probes": same_probes}
    return {"median_s": seconds, "memory_gb": 45.2, **errors}


def test_nothing_measured_nothing_said(section: ModuleType, tmp_path: Path) -> None:
    assert section.curvature(tmp_path) == ""


def test_a_row_for_what_ran_and_a_word_for_what_failed(section: ModuleType, tmp_path: Path) -> None:
    growth = {"items": {"2000": {"seconds": 6.2}, "500": {"seconds": 2.4}}, "probes": {"10": {"seconds": 2.5}}}
    told = {
        "environment": {"machine": {"gpu": "NVIDIA H200"}},
        "result": {
            "items": 2000,
            "probes": 50,
            "growth": growth,
            "tf32": {
                "ours": way(6.66),
                "pyhessian": way(19.8, same_probes=None),
                "curvlinops": {"failed": "OutOfMemoryError"},
            },
            "fp32": {"ours": way(24.6), "double": {"seconds": []}},  # the time was over before it was repeated
        },
    }
    (tmp_path / "curvature.json").write_text(json.dumps(told))
    text = section.curvature(tmp_path)
    assert "| dissensus | TF32 | **6.7** | **0.20%** | **0.04%** | **45 GB** |" in text
    assert "| PyHessian's algorithm | TF32 | 19.8 | 0.20% | 6.00% | 45 GB |" in text
    assert "| dissensus | fp32 | **24.6** |" in text
    assert "| items | s, 50 probes | probes | s, 2,000 items |\n|---|---:|---:|---:|\n" in text
    assert text.endswith("| 500 | 2.4 | 10 | 2.5 |\n| 2,000 | 6.2 |  |  |\n")
    assert "Did not run there: curvlinops in TF32." in text

    later = {"environment": {}, "result": {"tf32": {"ours": way(6.1), "curvlinops": way(26.05, same_probes=None)}}}
    (tmp_path / "curvature_curvlinops.json").write_text(json.dumps(later))
    said = " ".join(section.curvature(tmp_path).split())
    assert "curvlinops 26.1 s in TF32 (eigenvalue off by 0.20%, trace by 6.00%, 45 GB), ours 6.1 s." in said
    assert "Did not run" not in said


def test_a_file_that_was_broken_off_before_the_growth_will_do(section: ModuleType, tmp_path: Path) -> None:
    result = {"items": 2000, "probes": 50, "tf32": {"ours": way(6.66)}}
    told = {"environment": {"machine": {"gpu": "NVIDIA H200"}}, "result": result}
    (tmp_path / "curvature.json").write_text(json.dumps(told))
    assert section.curvature(tmp_path).endswith("**45 GB** |\n")
