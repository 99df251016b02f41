"""Reading: what is not there is told with what is, and a slip in the file does not pass."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.resources import files
from pathlib import Path

import pytest

from dissensus.base.errors import InputError
from dissensus.experiment.papers import Number, Published, parse_paper, read_paper

ROOT = Path(__file__).parents[3]

SMALL = """
name = "small"
title = "A paper"
arxiv = "0000.00000"
data = "glyphs"

[units]
soft_nll = "nats"
accuracy = "share"

[slices]
all = "all items"

[places.table1]
title = "Two methods"
seeds = 5
test = { against = "soft", side = "two-sided" }
columns = [{ metric = "soft_nll" }, { metric = "accuracy" }]

[[places.table1.rows]]
method = "soft"
mean = [0.5, 0.9]
sd = [0.1, 0.01]

[[places.table1.rows]]
method = "sls"
mean = [0.4, 0.9]
p = [0.0625, ">= 0.5"]

[protocols.published]
about = "as published"
select = 0.0
draw = "resample"

[diagnostics]
dynamics = "how early"

[stand_ins]
far = ["near", "nearer"]

[[experiments]]
name = "one"
protocol = "published"
feeds = ["table1"]
methods = ["soft", "sls"]
votes = ["all"]
seeds = 2
diagnostics = { dynamics = ["all"] }
"""


@pytest.fixture(scope="module")
def published() -> Published:
    return read_paper("basins").published


def test_a_small_paper() -> None:
    paper = parse_paper(SMALL)
    assert [paper.sets_for(name) for name in ("far", "there")] == [("near", "nearer"), ("there",)]
    assert paper.published.value("table1", "soft", "accuracy") == Number(0.9, 0.01, 5, "share")
    assert paper.published.value("table1", "sls", "accuracy").sd is None
    p = paper.published.p_value("table1", "sls", "accuracy")
    assert (p.value, p.at_least, p.against, p.side, p.seeds) == (0.5, True, "soft", "two-sided", 5)
    assert [(cell.method, cell.seed) for cell in paper.cells()] == [("soft", 0), ("sls", 0), ("soft", 1), ("sls", 1)]


@pytest.mark.parametrize(
    ("right", "wrong", "message"),
    [
        ("seeds = 5", "sedes = 5", "places.table1: unknown key 'sedes'; did you mean 'seeds'?"),
        ("mean = [0.5", "maen = [0.5", "row 1 of table1: unknown key 'maen'; did you mean 'mean'?"),
        ("sd = ", "s = ", "row 1 of table1: unknown key 's'"),
        ("{ metric = ", "{ metrics = ", "a column of table1: unknown key 'metrics'; did you mean 'metric'?"),
        ("side = ", "sides = ", "places.table1.test: unknown key 'sides'; did you mean 'side'?"),
        ("two-sided", "two sided", "places.table1.test: unknown side 'two sided'; did you mean 'two-sided'?"),
        ('title = "Two methods"', "", "places.table1: title is missing"),
        ('method = "sls"', 'method = "sl"', "row 2 of table1: unknown method 'sl'; did you mean 'sls'?"),
        ('method = "sls"', "", "row 2 of table1: no method is said"),
        ('method = "sls"', 'method = "soft"', "row 2 of table1: soft_nll of soft stands there twice"),
        (
            'method = "sls"',
            'method = "sls"\nmetric = "ece"',
            "row 2 of table1: metric is said by the row and by a column",
        ),
        (
            'metric = "soft_nll"',
            'metric = "soft_nl"',
            "row 1 of table1: unknown metric 'soft_nl'; did you mean 'soft_nll'?",
        ),
        ('method = "sls"', 'method = "sls"\nslice = "hard"', "row 2 of table1: unknown slice 'hard'"),
        ('= "share"', '= "percent"', "units.accuracy: unknown unit 'percent'"),
        (
            "[0.4, 0.9]",
            "[0.4, 9.0]",
            "row 2 of table1: accuracy of sls is 9.0, but a number of the unit 'share' is 0 to 1",
        ),
        (
            "[0.4, 0.9]",
            "[-0.4, 0.9]",
            "row 2 of table1: soft_nll of sls is -0.4, but a number of the unit 'nats' is 0 to inf",
        ),
        (
            "[0.4, 0.9]",
            "[nan, 0.9]",
            "row 2 of table1: soft_nll of sls must have a finite number under mean, but has nan",
        ),
        ("[0.4, 0.9]", '["4", 0.9]', "must have a finite number under mean, but has '4'"),
        ("[0.4, 0.9]", "[0.4]", "row 2 of table1 has 1 numbers under mean, but there are 2 columns"),
        ("[0.4, 0.9]", "0.4", "row 2 of table1: mean must be a list, but is 0.4"),
        ("mean = [0.4, 0.9]", "", "row 2 of table1 has p but no mean"),
        ("mean = [0.4, 0.9]", "mean = [0.4, 0.9]\nlow = [0.3, 0.9]", "row 2 of table1 has low but no high"),
        (
            "mean = [0.4, 0.9]",
            "mean = [0.4, 0.9]\nlow = [0.5, 0.9]\nhigh = [0.6, 0.9]",
            "row 2 of table1: soft_nll of sls: low, mean and high must rise, but are 0.5, 0.4, 0.6",
        ),
        ("[0.1, 0.01]", "[-0.1, 0.01]", "row 1 of table1: soft_nll of soft has an SD below 0: -0.1"),
        ("[0.0625,", "[1.5,", "a p-value must be above 0 and at most 1"),
        (">= 0.5", "> 0.5", "a p-value must be above 0 and at most 1"),
        (
            'test = { against = "soft", side = "two-sided" }',
            "",
            "has a p-value, but its place does not say of which test",
        ),
        ("[units]", "unit = 1\n[units]", "the paper: unknown key 'unit'; did you mean 'units'?"),
        ('arxiv = "0000.00000"', "", "the paper: arxiv is missing"),
        ("[slices]", "[slices", "the paper is not valid TOML"),
        ("select = 0.0", "select = 1.0", "protocols.published: select must be a share"),
        (
            'draw = "resample"',
            'draw = "sample"',
            "protocols.published: unknown draw 'sample'; did you mean 'resample'?",
        ),
        ('draw = "resample"', "", "protocols.published: draw is missing"),
        ("votes = [", "vote = [", "the experiment one: unknown key 'vote'; did you mean 'votes'?"),
        (
            '["all"]\nseeds',
            "[0]\nseeds",
            'the experiment one: votes must be "all" and whole numbers of at least 1, but are',
        ),
        ("seeds = 2", "seeds = 2\nhold = 5", "the experiment one: hold must be a list, but is 5"),
        ("seeds = 2", "seeds = 2\nhold = [0]", "the experiment one: hold must be whole numbers of at least 1"),
        ("seeds = 2", "seeds = 0", "the experiment one has no seeds"),
        ("seeds = 2", "seeds = 2\npublished_seeds = { mixup = 5 }", "unknown method of the experiment 'mixup'"),
        ('"soft", "sls"]', '"soft", "soft"]', "the experiment one says a method, a number of votes or a hold twice"),
        ('"soft", "sls"]', '"soft", "slss"]', "the experiment one: unknown method 'slss'; did you mean 'sls'?"),
        ('["table1"]', '["table2"]', "the experiment one: unknown table or figure 'table2'; did you mean 'table1'?"),
        ('protocol = "published"', 'protocol = "plain"', "the experiment one: unknown protocol 'plain'"),
        ("{ dynamics", "{ dynamic", "the experiment one: unknown diagnostic 'dynamic'; did you mean 'dynamics'?"),
        ('dynamics = ["all"]', 'dynamics = ["most"]', "the experiment one: unknown slice 'most'"),
    ],
)
def test_a_slip_in_the_file_is_an_error(right: str, wrong: str, message: str) -> None:
    assert right in SMALL
    with pytest.raises(InputError) as error:
        parse_paper(SMALL.replace(right, wrong, 1))
    assert message in str(error.value)


def test_two_experiments_of_one_name() -> None:
    with pytest.raises(InputError, match="two experiments are called one"):
        parse_paper(SMALL + SMALL[SMALL.index("[[experiments]]") :])


@pytest.mark.parametrize(
    ("where", "more", "message"),
    [
        (
            ("table0", "sls", "soft_nll"),
            {},
            "no number has place table0. There are: table1, table2, table3, table4, table6",
        ),
        (
            ("table1", "mixup", "soft_nll"),
            {},
            "no number of table1 has method mixup. There are: soft, sls, multipass, det",
        ),
        (("table1", "sls", "kl"), {}, "no number of table1, sls has metric kl. There are: soft_nll"),
        (
            ("table1", "sls", "soft_nll"),
            {"votes": 7},
            "no number of table1, sls, soft_nll has votes 7. There are: 5, 10, 25, 50",
        ),
        (("table1", "sls", "soft_nll"), {}, "4 numbers are of table1, sls, soft_nll. Say which: votes 5, 10, 25, 50"),
        (
            ("table4", "sls", "trace"),
            {"slice": "disputed"},
            "2 numbers are of table4, sls, trace, slice disputed. Say which: seeds 10, 5",
        ),
        (("table1", "sls", "soft_nll"), {"vote": 5}, "unknown part of an address 'vote'; did you mean 'votes'?"),
    ],
)
def test_what_is_not_there_is_told_with_what_is(published: Published, where: tuple, more: dict, message: str) -> None:
    with pytest.raises(InputError) as error:
        published.value(*where, **more)
    assert message in str(error.value)


def test_ranges_and_p_values_are_looked_up_alike(published: Published) -> None:
    with pytest.raises(InputError, match=r"no range has place table1. There are: figure2, figure7"):
        published.range("table1", "sls", "soft_nll")
    with pytest.raises(InputError, match=r"no p-value of table1 has method soft. There are: sls, multipass"):
        published.p_value("table1", "soft", "soft_nll")


def test_two_tables_in_one_place(published: Published) -> None:
    assert published.value("table5", "soft", "kl") is published.value("table2", "soft", "kl")


def test_unknown_names() -> None:
    paper = read_paper("basins")
    with pytest.raises(InputError, match="unknown paper 'basin'; did you mean 'basins'"):
        read_paper("basin")
    with pytest.raises(InputError, match="unknown protocol 'audit'; did you mean 'audited'"):
        paper.cells("audit")
    with pytest.raises(InputError, match="unknown table or figure 'tabel1'; did you mean 'table1'"):
        paper.of(feeds="tabel1")


def test_neither_torch_nor_pydantic_is_needed() -> None:
    code = (
        "import sys; from dissensus.experiment.papers import read_paper; read_paper('basins').cells();"
        "print(*sorted({'torch', 'pydantic', 'matplotlib', 'scipy', 'pandas', 'polars'} & set(sys.modules)))"
    )
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == ""


def test_the_wheel_has_the_paper(tmp_path: Path) -> None:
    pytest.importorskip("hatchling")
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        packed = archive.read("dissensus/experiment/papers/basins.toml")
    assert packed == (files("dissensus.experiment.papers") / "basins.toml").read_bytes()


def test_an_experiment_knows_its_trainings() -> None:
    basins = read_paper("basins")
    for one in basins.experiments:
        assert [cell for cell in basins.cells() if cell in one] == sorted(one.cells(), key=basins.cells().index)
