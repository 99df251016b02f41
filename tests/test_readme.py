"""The README's code runs as it stands, and its numbers are those that were measured."""

import inspect
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
PAGES = {path: path.read_text("utf-8") for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))}
EVERYTHING = "\n".join(PAGES.values())


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


def test_the_step_for_lightning_has_the_labels_of_the_epoch():
    torch = pytest.importorskip("torch")
    from dissensus import Multipass, Votes

    (step,) = re.findall(r"^```python\n(def training_step.*?)^```", README, re.M | re.S)
    names = {"torch": torch, "F": torch.nn.functional}
    exec(step, names)
    deliver = Multipass(Votes.from_counts([[2, 1], [1, 1], [0, 3]]), seed=0)

    class Module:
        def __call__(self, x):
            return x

    module = Module()
    module.deliver, module.current_epoch = deliver, 4
    x, i = torch.randn(2, 2), torch.tensor([2, 0])
    expected = torch.nn.functional.cross_entropy(x, torch.as_tensor(deliver(4)[[2, 0]]))
    assert names["training_step"](module, (x, i), 0) == expected


@pytest.mark.parametrize("section", re.findall(r"<!-- /(.*?) -->", EVERYTHING))
def test_the_numbers_are_those_of_the_files(section):
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        import sections
    finally:
        sys.path.pop(0)
    assert sorted(re.findall(r"<!-- /(.*?) -->", EVERYTHING)) == sorted(sections.SECTIONS)
    (shown,) = re.findall(rf"<!-- {section} -->\n(.*?)<!-- /{section} -->", EVERYTHING, re.S)
    assert shown == sections.SECTIONS[section](), "run: python docs/sections.py"


def test_numbers_that_nobody_measured_are_those_of_the_code():
    from dissensus import stats
    from dissensus.cli.compare import compare
    from dissensus.cli.exits import LEFT
    from dissensus.experiment import DEMO

    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert f"Python {project['requires-python'].removeprefix('>=')}+" in README
    assert f"trains {len(DEMO.methods) * len(DEMO.seeds)} small models" in README
    assert f"exit code {LEFT}\n" in EVERYTHING
    assert f"stats.fewest_seeds(tests=6))  # {stats.fewest_seeds(tests=6)}: fewer" in README
    assert "Runs train four side by side (`--width`)" in EVERYTHING
    assert inspect.signature(compare).parameters["width"].default == 4


def test_sizes_that_sections_write_as_words_are_those_that_were_measured():
    read, epoch, smooth = (
        json.loads((ROOT / f"benchmarks/results/{name}.json").read_text("utf-8"))["result"]
        for name in ("read_votes", "sls_epoch", "smooth_ece")
    )
    assert "reading 10^7 votes into `Votes` (four files)" in EVERYTHING
    assert (read["votes"], len(read["files"])) == (10**7, 4)
    assert "an epoch of SLS, 10^6 items" in README
    for case in epoch["peers"]:  # what an item takes, and what all of them take
        assert case["seconds"]["sls from votes"]["median"] / case["ns_an_item"] * 1e9 == pytest.approx(10**6, rel=0.01)
    assert "`smooth_ece` of 10^5 predictions" in EVERYTHING
    assert smooth["items"] == 10**5
    assert "Eight paired seeds, four methods" in README
    rows = (ROOT / "results/demo/scores.csv").read_text("utf-8").splitlines()
    head = rows[0].split(",")
    told = [dict(zip(head, row.split(","), strict=True)) for row in rows[1:]]
    assert (len({row["method"] for row in told}), {row["seeds"] for row in told}) == (4, {"8"})


def test_every_delivery_is_listed_with_its_class():
    import dissensus

    listed = re.findall(r"^\| `([\w-]+)` \| `(\w+)` \| ", README, re.M)
    assert dict(listed) == {name: delivery.__name__ for name, delivery in dissensus.DELIVERIES.items()}
    assert all(getattr(dissensus, name) is dissensus.DELIVERIES[method] for method, name in listed)


def test_every_command_of_the_readme_exists(capsys):
    from dissensus.cli import main

    for command in set(re.findall(r"^dissensus (\w+)", EVERYTHING, re.M)):
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])
        assert stop.value.code == 0


def test_the_commands_for_a_votes_file_run_one_after_the_other(tmp_path, monkeypatch):
    """As they stand, but for fewer epochs and seeds."""
    pytest.importorskip("torch")
    from PIL import Image

    from dissensus.cli import main

    (block,) = re.findall(r"^```\n(dissensus votes labels.csv.*?)^```", README, re.M | re.S)
    monkeypatch.chdir(tmp_path)
    drawn = _votes_and_features()
    Path("images").mkdir()
    for item in range(40):
        Image.fromarray(drawn.integers(0, 256, (8, 8, 3), np.uint8)).save(f"images/{item}.png")
    quick = {"compare": ["--epochs", "1", "--seeds", "1", "--methods", "soft,sls", "--jobs", "1", "--quiet"]}
    for line in block.splitlines():
        words = shlex.split(line, comments=True)[1:]
        with pytest.raises(SystemExit) as stop:
            main([*words, *quick.get(words[0], [])])
        assert stop.value.code == 0, line


def test_a_model_is_kept_and_taken_to_new_items(tmp_path, monkeypatch):
    """As it stands, but for fewer epochs, and with the name of the run for RUN."""
    pytest.importorskip("torch")
    from dissensus.cli import main
    from dissensus.experiment import predict_with

    (block,) = re.findall(r"^```\n(dissensus train .*?)^```", README, re.M | re.S)
    monkeypatch.chdir(tmp_path)
    drawn = _votes_and_features()
    new = drawn.normal(size=(7, 3)).astype(np.float32)
    np.save("new.npy", new)
    for line in block.splitlines():
        words = shlex.split(line, comments=True)[1:]
        names = [path.parent.name for path in Path("runs").glob("*/plan.json")]
        quick = ["--epochs", "1"] if words[0] == "train" else []
        with pytest.raises(SystemExit) as stop:
            main([*(names[0] if word == "RUN" else word for word in words), *quick, "--quiet"])
        assert stop.value.code == 0, line
    table = Path("predictions.csv").read_text().splitlines()
    assert table[0] == "item,predicted,entropy,p_cat,p_dog"
    probs = [[float(cell) for cell in row.split(",")[3:]] for row in table[1:]]
    assert "`dissensus.experiment.predict_with(folder, inputs).probs`" in EVERYTHING
    np.testing.assert_allclose(predict_with(f"runs/{names[0]}", new).probs, probs)
    assert Path("tempered.csv").read_text() != Path("predictions.csv").read_text()


def _votes_and_features():
    """The files that the README's commands name, in the current folder; and what else is to be drawn, draws from it."""
    drawn = np.random.default_rng(0)
    said = [f"{item},{who},{drawn.choice(['cat', 'dog'])}" for item in range(40) for who in "abcde"]
    Path("labels.csv").write_text("\n".join(["item,annotator,label", *said]))
    np.save("features.npy", drawn.normal(size=(40, 3)))
    return drawn


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_names_are_there(page):
    for link in re.findall(r"\]\((?!https:)([^)#]+)\)", PAGES[page]):
        assert (page.parent / link).exists(), link


def test_the_readme_leads_to_every_page():
    for page in PAGES:
        assert page.name == "README.md" or f"](docs/{page.name})" in README
