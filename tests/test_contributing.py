"""What CONTRIBUTING promises of a delivery without a fork."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def test_a_delivery_without_a_fork_is_compared_in_several_processes(tmp_path):
    """As it stands, but in the epochs of a test."""
    pytest.importorskip("torch")
    (mine,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    (command,) = re.findall(r"^`python (mine\.py compare .*?)`", PAGE, re.M)
    drawn = np.random.default_rng(0)
    said = [f"{item},{who},{drawn.choice(['cat', 'dog'])}" for item in range(40) for who in "abcde"]
    (tmp_path / "labels.csv").write_text("\n".join(["item,annotator,label", *said]))
    np.save(tmp_path / "features.npy", drawn.normal(size=(40, 3)))

    def compare(begins):
        (tmp_path / "mine.py").write_text(mine.replace("< 15", f"< {begins}"))
        words = [sys.executable, *command.split(), "--epochs", "2", "--seeds", "1", "-j", "2"]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done

    first = compare(1)
    assert "annealed" in first.stdout
    assert "2/2" in first.stderr
    assert "other code" not in first.stderr
    again = " ".join(compare(2).stderr.split())
    assert again.count("done before") == 2
    assert "1 run of annealed is done, by other code than it has now." in again
