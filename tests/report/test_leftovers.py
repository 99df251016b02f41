"""Beside a page lie the files that it wrote, those of others, and none that it wrote before and no longer has."""

from __future__ import annotations

import json
import math
from functools import partial

import pytest

from dissensus.records import Diagnosis
from dissensus.report import page, write_page
from dissensus.report.gallery import gallery
from dissensus.report.leftovers import LIST


@pytest.fixture
def of(make_run, monkeypatch):
    """Runs of two methods with these numbers of votes; a short gallery is enough."""
    monkeypatch.setattr(page, "gallery", partial(gallery, size=1))
    return lambda *votes, **changes: [make_run(m, votes=k, **changes) for k in votes for m in ("soft", "sls")]


def beside(folder):
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def look_inside(runs):
    for run in runs:
        run.write_diagnostics([Diagnosis("trace", 9.0, math.nan, math.nan, 60, weights="best")])


@pytest.mark.parametrize(("before", "now"), [((5,), (5, 10)), ((5, "all"), (5,)), ((1, 5), (5, "all"))])
def test_a_page_with_other_numbers_of_votes_has_its_own_files_only(of, tmp_path, before, now):
    look_inside(of(*before))
    write_page(of(*before), tmp_path / "page")
    write_page(of(*now), tmp_path / "page")
    write_page(of(*now), tmp_path / "fresh")
    assert beside(tmp_path / "page") == beside(tmp_path / "fresh")


def test_votes_that_are_drawn_in_two_ways(of, tmp_path):
    first = of(5, draw="subsample")
    write_page([*first, *of(5, draw="resample")], tmp_path / "page")
    write_page(first, tmp_path / "page")
    write_page(first, tmp_path / "fresh")
    assert beside(tmp_path / "page") == beside(tmp_path / "fresh")


def test_a_shorter_gallery_leaves_no_bars_of_the_longer_one(of, tmp_path, monkeypatch):
    monkeypatch.setattr(page, "gallery", partial(gallery, size=2))
    write_page(of("all"), tmp_path)
    longer = beside(tmp_path)
    monkeypatch.setattr(page, "gallery", partial(gallery, size=1))
    write_page(of("all"), tmp_path)
    gone = longer - beside(tmp_path)
    assert gone
    assert all(name.startswith("figures/gallery-") for name in gone)


def test_files_of_somebody_else_stay(of, tmp_path):
    write_page(of(5, 10), tmp_path)
    others = {
        "tables/mine.md",
        "figures/methods.png",
        "tables/methods-of-mine.md",
        "notes.md",
        "tables/old/methods.md",
        "figures/gallery-20.png",
    }
    others |= {"figures/learning-5-votes-an-item-annotated.png", "tables/methods-10-votes-an-item-old.md"}
    for name in others:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("mine")
    write_page(of(5), tmp_path)
    assert others <= beside(tmp_path)


def test_the_files_of_another_page_in_the_folder_stay(of, tmp_path):
    write_page(of(5, 10), tmp_path / "one.html")
    one = beside(tmp_path)
    write_page(of(5), tmp_path / "two.html")
    assert one <= beside(tmp_path)


def test_nothing_is_removed_behind_a_link(of, tmp_path):
    for folder in ("shared", "page"):
        (tmp_path / folder).mkdir()
    (tmp_path / "page" / "figures").symlink_to(tmp_path / "shared", target_is_directory=True)
    write_page(of(5, 10), tmp_path / "page")
    drawn = beside(tmp_path / "shared")
    write_page(of(5), tmp_path / "page")
    assert drawn <= beside(tmp_path / "shared")


def test_tables_that_are_not_of_a_comparison_stay(of, tmp_path):
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "basin.md").write_text("mine")
    write_page(of(5), tmp_path)
    assert (tmp_path / "tables" / "basin.md").read_text() == "mine"


def test_a_name_that_leads_elsewhere_is_not_followed(of, tmp_path):
    write_page(of(5), tmp_path / "page")
    (tmp_path / "mine.md").write_text("mine")
    names = ["../mine.md", "tables/../../mine.md", str(tmp_path / "mine.md"), "index.html", "figures/..", "tables"]
    told = {"page": "index.html", "files": names}
    (tmp_path / "page" / LIST).write_text(json.dumps(told))
    write_page(of(5), tmp_path / "page")
    assert (tmp_path / "mine.md").read_text() == "mine"
    assert (tmp_path / "page" / "index.html").exists()


@pytest.mark.parametrize("broken", ["", "[]", "{}", '{"page": "index.html", "files": [3]}', '{"page": "index.html"}'])
def test_a_list_that_is_none_removes_nothing(of, tmp_path, broken):
    write_page(of(5, 10), tmp_path)
    before = beside(tmp_path)
    (tmp_path / LIST).write_text(broken)
    write_page(of(5), tmp_path)
    assert before <= beside(tmp_path)
