"""The table of annotators in ``dissensus votes``."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from dissensus.cli.odd import NOT_WRONG

STUDY = Path(__file__).parents[2] / "results" / "soft-labels" / "studies" / "least-agreeing.md"


@pytest.fixture
def crowd(tmp_path):
    """Thirteen people who mostly agree, of whom one always says the same, and one who is alone with her items."""
    rng = np.random.default_rng(0)
    lines = ["item,annotator,label"]
    for item in range(130):
        truth = rng.integers(1, 4)
        for who in rng.choice(13, 3, replace=False):
            label = 1 if who == 5 else truth if rng.random() < 0.8 else rng.integers(1, 4)
            lines.append(f"i{item},p{who},{label}")
    lines += ["mine,alone,1", "hers,alone,2"]
    (tmp_path / "labels.csv").write_text("\n".join(lines) + "\n")
    return "labels.csv"


def test_the_odd_ones_come_first_and_others_are_counted(run, crowd):
    code, out, err = run("votes", crowd)
    assert code == 0, err
    told = {one["annotator"]: one for one in json.loads(run("votes", crowd, "--json")[1])["by_annotator"]}
    assert len(told) == 14
    first = told["p5"]
    assert next(iter(told)) == "p5"
    _, _, table = out.partition("Annotators, the odd ones first\n")
    line = next(line for line in table.splitlines() if line.startswith("p5"))
    agreement = first["agreement"]
    assert line.split() == [
        "p5",
        str(first["votes"]),
        f"{agreement['mean']:.0%}",
        f"[{100 * agreement['low']:.0f},",
        f"{100 * agreement['high']:.0f}]",
        f"{agreement['others']:.0%}",
        f"{agreement['by_chance']:.0%}",
        "1",
        "100%",
        f"{first['alpha_without']:.3f}",
    ]
    assert len(re.findall(r"^p[0-9]+ ", table, re.M)) == 10
    assert "and 3 other annotators, less odd" in table
    assert "1 annotator shares no item with another one." in table
    assert "Agreement: the share of others' votes" in " ".join(table.split())
    assert told["alone"]["agreement"] is first["distance"] is None


def test_ratings_are_told_by_distance(run, crowd):
    _, _, table = run("votes", crowd, "--ordered")[1].partition("Annotators, the odd ones first\n")
    told = json.loads(run("votes", crowd, "--ordered", "--json")[1])["by_annotator"]
    line = next(line for line in table.splitlines() if line.startswith("p5"))
    one = next(one for one in told if one["annotator"] == "p5")
    mean, low, high = (f"{one['distance'][part]:.2f}" for part in ("mean", "low", "high"))
    assert f"{mean} [{low.removeprefix('0')}, {high.removeprefix('0')}]" in line
    assert f" {one['lean']:+.2f} " in line
    assert "leans: how many classes above the others" in " ".join(table.split())


def test_nothing_is_told_where_nobody_is_known_or_meets_another(run, tmp_path):
    (tmp_path / "labels.csv").write_text("item,label\na,1\na,2\nb,2\n")
    assert "Annotators, " not in run("votes", "labels.csv")[1]
    (tmp_path / "labels.csv").write_text("item,annotator,label\na,p,1\nb,q,2\n")
    assert "Annotators, " not in run("votes", "labels.csv")[1]


def test_what_removing_people_did_is_what_was_measured():
    study = STUDY.read_text().splitlines()[2]
    assert study.startswith(
        "To remove the annotators who agree least, instead of as many at random: it hurts soft labels"
    )
    sizes = re.findall(r"\(\+(0\.\d+) ", study)
    assert f"by a KL of {sizes[0]}, {sizes[1]} and {sizes[2]}:" in NOT_WRONG
    assert len(sizes) == 3


def test_who_is_odd_can_be_left_out(run, crowd):
    before = json.loads(run("votes", crowd, "--json")[1])
    code, out, err = run("votes", crowd, "--without", "p5,alone", "--json")
    assert code == 0, err
    after = json.loads(out)
    gone = {one["annotator"]: one["votes"] for one in before["by_annotator"]}
    assert f"Note: {gone['p5'] + 2} votes are left out: {gone['p5']} by 'p5', 2 by 'alone'." in err
    assert after["votes"] == before["votes"] - gone["p5"] - 2
    assert after["alpha"] == pytest.approx(before["by_annotator"][0]["alpha_without"])
    assert """--option 'without=["p5", "alone"]'""" in run("votes", crowd, "--without", "p5,alone")[1]


def test_compare_leaves_them_out_too(run, own_data):
    given = ("--votes", "labels.csv", "--inputs", "features.npy", "--epochs", 1, "--option", 'without=["a1"]')
    code, _, err = run("train", *given)
    assert code == 0, err
    assert "Note: 60 votes are left out: 60 by 'a1'." in err
