import json
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from dissensus.base.errors import InputError, StoreError
from dissensus.experiment.studies import STUDIES, TRAINED, Given, Made, carry_out, real_sparsity
from dissensus.experiment.studies.study import SEEDS
from dissensus.experiment.studies.trial import Making

# Scores are judged where neither torch nor pydantic is.
BARE = """
import sys
sys.modules["torch"] = sys.modules["pydantic"] = None
from dissensus.experiment.studies import STUDIES
STUDIES["real-sparsity"].read(sys.argv[1]).write(sys.argv[2])
"""


@pytest.fixture(scope="module")
def made(small, scores_of):
    """What a seed makes, on small data; made once, since tests only ask which were."""
    original = small.data.votes.subsample(5, seed=9)
    return {seed: scores_of(real_sparsity.real_sparsity(small.data, original, seed, small.how)) for seed in (0, 1)}


@pytest.fixture
def one_seed(made):
    return lambda seed: [Making((), lambda said: made[seed])]


@pytest.fixture
def study(one_seed):
    return replace(STUDIES["real-sparsity"], make=lambda given: one_seed)


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_a_study_has_a_rule_of_its_own(study):
    head, *lines = study.rule
    assert head.startswith("(each word by finding; ")
    assert lines
    assert not any(mark in line for line in (head, *lines) for mark in ("`", "**", ":mod:"))


@pytest.mark.parametrize("study", TRAINED, ids=lambda study: study.name)
def test_a_study_trains_the_model_and_encoder_that_it_is_given(study, small, monkeypatch):
    heard, module = [], sys.modules[study.make.__module__]
    monkeypatch.setattr(module, "load", lambda name, **how: small.data, raising=False)
    monkeypatch.setattr(module, "experts_and_crowd", lambda: (small.data, small.data), raising=False)
    monkeypatch.setattr(module, "setting", lambda data, *given: heard.append(given))
    study.make(Given("fine-tuned", encoder="owner/bert"))
    assert set(heard) == {("fine-tuned", "owner/bert")}


def test_seeds_are_made_once_and_kept_one_by_one(study, tmp_path):
    said = []
    assert study.left(tmp_path) == list(SEEDS)
    assert carry_out([study], tmp_path, "one", [0], say=said.append) == Made(1, 0)
    assert carry_out([study], tmp_path, "both", [0, 1], say=said.append) == Made(1, 0)
    assert carry_out([study], tmp_path, "again", [0, 1], say=said.append) == Made(0, 0)
    assert said == ["real-sparsity: seed 0 is done, 0 left", "real-sparsity: seed 1 is done, 0 left"]
    made = json.loads((tmp_path / "real-sparsity-made.json").read_text())["made"]
    assert [(one["command"], one["seeds"]) for one in made] == [("one", [0]), ("both", [1])]
    assert study.left(tmp_path) == list(SEEDS)[2:]


def test_killed_while_it_keeps_a_seed_it_makes_it_again(study, tmp_path, monkeypatch):
    def killed(path, rows):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("dissensus.experiment.studies.study.write_scores", killed)
        with pytest.raises(KeyboardInterrupt):
            carry_out([study], tmp_path, "killed", [0])
    assert study.left(tmp_path, [0]) == [0]
    carry_out([study], tmp_path, "again", [0])
    assert [(one["command"], one["seeds"]) for one in study.read(tmp_path).made["made"]] == [("again", [0])]


def test_seeds_in_any_order_give_one_table(study, tmp_path):
    for folder, seeds in (("up", [0, 1]), ("down", [1, 0])):
        for seed in seeds:
            carry_out([study], tmp_path / folder, "command", [seed])
    up, down = ((tmp_path / folder / "real-sparsity-scores.csv").read_bytes() for folder in ("up", "down"))
    assert up == down


def test_a_budget_that_is_over_leaves_the_rest(study, tmp_path):
    assert carry_out([study], tmp_path, "command", [0, 1], end=time.monotonic()) == Made(2, 2)
    assert study.read(tmp_path) is None


def test_studies_are_made_one_after_the_other_each_with_its_model(study, one_seed, tmp_path):
    models = []
    others = [
        replace(study, name=model, model=model, make=lambda given: models.append(given.model) or one_seed)
        for model in ("frozen", "mine")
    ]
    over = carry_out(others, tmp_path, "command", [0, 1], end=time.monotonic())
    assert (over.before, over.left, models) == (4, 4, [])
    carry_out(others[:1], tmp_path, "command", [0])
    done = carry_out(others, tmp_path, "command", [0, 1])
    assert (done.before, done.left, models) == (3, 0, ["frozen", "frozen", "mine"])
    assert [one.seeds_in(tmp_path) for one in others] == [{0, 1}, {0, 1}]


def test_what_is_written_can_be_judged_again_without_torch_and_pydantic(study, tmp_path):
    carry_out([study], tmp_path, "command", [0, 1])
    told = study.read(tmp_path)
    told.write(tmp_path)
    text = (tmp_path / "real-sparsity.md").read_text()
    assert text.startswith(f"# {study.question}\n\nFive real votes tell ")
    assert f"- {told.verdicts[0]}\n" in text
    subprocess.run([sys.executable, "-c", BARE, str(tmp_path), str(tmp_path / "again")], check=True)
    for path in (tmp_path / "again").iterdir():
        assert path.read_bytes() == (tmp_path / path.name).read_bytes()


def test_nothing_is_said_of_a_single_seed(study, tmp_path):
    carry_out([study], tmp_path, "command", [1])
    told = study.read(tmp_path)
    assert (told.seeds, told.findings, told.verdicts, told.plain) == (1, [], [], [])


def test_what_runs_say_is_read_again_each_time(tmp_path):
    study = STUDIES["coverage"]
    assert not study.trains
    assert study.left(tmp_path, [0, 1]) == [0, 1]
    assert carry_out([study], tmp_path, "command", [0, 1]) == Made(2, 0)  # no runs, and so no scores
    assert study.read(tmp_path) is None


def test_a_whole_encoder_needs_a_gpu(tmp_path, monkeypatch):
    monkeypatch.setattr("dissensus.experiment.machine.device", lambda: "cpu")
    with pytest.raises(InputError, match=r"needs a CUDA GPU, .* --only transfer$"):
        carry_out([STUDIES["transfer-fine-tuned"]], tmp_path, "command", [0])


def test_what_takes_a_gpu_is_left_as_it_is_where_nobody_named_it(study, tmp_path, monkeypatch):
    """The others are made, and the page comes, as on a laptop whose results somebody made on a GPU."""
    monkeypatch.setattr("dissensus.experiment.machine.device", lambda: "cpu")
    said = []
    both = [study, STUDIES["transfer-fine-tuned"]]
    assert carry_out(both, tmp_path, "command", [0], say=said.append, skip=True) == Made(1, 0)
    assert said[0] == "Not made here, since whole encoders are trained on a CUDA GPU alone: transfer-fine-tuned."
    assert study.seeds_in(tmp_path) == {0}
    assert STUDIES["transfer-fine-tuned"].seeds_in(tmp_path) == set()


def test_damage_is_told(study, tmp_path):
    carry_out([study], tmp_path, "command", [0])
    (tmp_path / "real-sparsity-made.json").write_text("{")
    with pytest.raises(StoreError, match=r"real-sparsity-made.json is damaged"):
        study.read(tmp_path)
