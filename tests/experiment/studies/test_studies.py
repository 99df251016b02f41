import json
import subprocess
import sys
from dataclasses import replace

import pytest

from dissensus.base.errors import InputError
from dissensus.experiment.studies import STUDIES, real_sparsity
from dissensus.experiment.studies.__main__ import main


@pytest.fixture(scope="module")
def rows(small):
    return real_sparsity.real_sparsity(small.data, small.data.votes.subsample(5, seed=9), [0, 1], small.how)


def test_a_study_has_a_rule_of_its_own():
    for study in STUDIES.values():
        module = sys.modules[study.judge.__module__]
        assert "**Rule**" in module.__doc__


def test_what_is_written_can_be_judged_again_without_training(rows, tmp_path):
    study = STUDIES["real-sparsity"]
    told = study.write(rows, tmp_path, "the command")
    assert json.loads((tmp_path / "real-sparsity-made.json").read_text())["command"] == "the command"
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert study.rebuild(tmp_path) == told
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert f"- {told[0]}\n" in (tmp_path / "real-sparsity.md").read_text()


def test_the_command_judges_again(rows, tmp_path, capsys):
    told = STUDIES["real-sparsity"].write(rows, tmp_path, "the command")
    main(["real-sparsity", "--rebuild", "--out", str(tmp_path)])
    assert capsys.readouterr().out.splitlines() == told


def test_coverage_needs_runs(tmp_path):
    with pytest.raises(InputError, match="say where, by --store FOLDER"):
        main(["coverage", "--out", str(tmp_path)])


def test_the_command_trains_the_model_that_is_asked_for(rows, tmp_path, monkeypatch, capsys):
    asked = []

    def make(seeds, say, model, encoder):
        asked.append((list(seeds), model, encoder))
        say("a seed is done")
        return rows

    monkeypatch.setitem(STUDIES, "real-sparsity", replace(STUDIES["real-sparsity"], make=make))
    words = ["real-sparsity", "--seeds", "2", "--model", "fine-tuned", "--encoder", "mine", "--out", str(tmp_path)]
    main(words)
    assert asked == [([0, 1], "fine-tuned", "mine")]
    assert "a seed is done" in capsys.readouterr().err
    made = json.loads((tmp_path / "real-sparsity-fine-tuned-made.json").read_text())
    assert made["command"] == " ".join(["python -m dissensus.experiment.studies", *words])


def test_judging_needs_no_torch():
    code = "import sys; import dissensus.experiment.studies; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
