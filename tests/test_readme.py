"""The README's code runs as it stands, and its numbers are those that were measured."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")


def test_the_code_of_the_readme_runs_from_top_to_bottom(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)
    assert len(blocks) >= 3
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "\n".join(blocks)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_own_loop_changes_two_lines_and_fits_ten():
    (loop,) = re.findall(r"^```python\n(import numpy.*?)^```", README, re.M | re.S)
    assert loop.count("# changed line") == 2
    assert len(loop.split("deliver = ")[1].splitlines()) <= 10


@pytest.mark.parametrize("section", ["demo", "basins", "soft-labels", "training", "speed"])
def test_the_numbers_are_those_of_the_files(section):
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import readme_sections
    finally:
        sys.path.pop(0)
    (shown,) = re.findall(rf"<!-- {section} -->\n(.*?)<!-- /{section} -->", README, re.S)
    assert shown == readme_sections.SECTIONS[section](), "run: python docs/readme_sections.py"


def test_every_command_of_the_readme_exists(capsys):
    from dissensus.cli import main

    for command in set(re.findall(r"^dissensus (\w+)", README, re.M)):
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0


def test_files_that_the_readme_names_are_there():
    for link in re.findall(r"\]\((?!https:)([^)#]+)\)", README):
        assert (ROOT / link).exists(), link
