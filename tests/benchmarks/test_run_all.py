"""What `make bench` runs, and what it names and leaves out."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.parametrize("gpu", [False, True])
def test_what_needs_a_gpu_is_named_where_there_is_none(gpu: bool, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    import run_all

    ran = []
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpu)
    monkeypatch.setattr(run_all.subprocess, "run", lambda command, check: ran.append(Path(command[1]).name))
    run_all.main()
    out = capsys.readouterr().out
    assert ran[: len(run_all.SCRIPTS)] == list(run_all.SCRIPTS)
    assert ("ladder.py" in ran) is ("peers.py" in ran) is gpu
    assert ("--- ladder.py: left out, it needs a GPU" in out) is not gpu
    assert "gate.py" not in ran
    assert "--- gate.py: left out, it is about runs" in out


def test_every_benchmark_is_known() -> None:
    import run_all

    known = {*run_all.SCRIPTS, *run_all.ON_A_GPU, *run_all.OF_RUNS}
    commands = {path.name for path in BENCHMARKS.glob("*.py") if "__main__" in path.read_text("utf-8")}
    assert commands - {"run_all.py", "kit.py"} == known
    assert all((BENCHMARKS / script).exists() for script in known)


@pytest.mark.parametrize("script", ["demo", "run_all", "sls_epoch", "smooth_ece", "target_cost", "votes_needed"])
def test_help_measures_nothing(script: str, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    """Most take options and so have it anyway; these take none, and would begin."""
    monkeypatch.setattr("sys.argv", [script, "--help"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(BENCHMARKS / f"{script}.py"), run_name="__main__")
    assert ended.value.code == 0
    assert "usage:" in capsys.readouterr().out
