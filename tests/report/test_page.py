"""The page: one file, whole and offline, whatever the runs and their names are."""

from __future__ import annotations

import errno
import json
import re
from functools import partial
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from dissensus.base.errors import MissingExtra, StoreError
from dissensus.datasets import Dataset, load, own_data
from dissensus.delivery import METHODS
from dissensus.report import RULES, collect, figures, glossary, output, page, summary, write_page
from dissensus.report.gallery import gallery
from dissensus.votes import Votes, read_votes


@pytest.fixture(scope="module")
def written(comparison, tmp_path_factory) -> Path:
    return write_page(comparison, tmp_path_factory.mktemp("page") / "out")


@pytest.fixture(scope="module")
def outline(written, outline_of):
    return outline_of(written.read_text("utf-8"))


def test_it_needs_nothing_from_outside(written, outline):
    for tag, attributes in outline.tags:
        assert tag not in ("script", "link", "iframe", "object", "base")
        for name in ("src", "href", "srcset", "data", "action", "poster"):
            assert attributes.get(name) is None or attributes[name].startswith(("data:", "#")), (tag, name)
        assert not any(name.startswith("on") for name in attributes)
    css = written.read_text("utf-8").partition("<style>")[2].partition("</style>")[0]
    assert "url(" not in css
    assert "@import" not in css


def test_the_verdict_comes_first(comparison, outline):
    text = outline.text
    positions = [text.index(judgement.words) for judgement in comparison.panels[0].judgements[:3]]
    assert positions == sorted(positions)
    heads = ["The verdict", "Methods and metrics", "Pair by pair", "Seed by seed", "Is it as sure", "Does it doubt"]
    heads += ["Learning curves", "Where people disagree most", "How it was made"]
    order = [text.index(head) for head in heads]
    assert order == sorted(order)
    assert positions[-1] < order[1]


def test_where_nobody_has_looked_inside_there_is_no_basin(written):
    assert 'id="basin"' not in written.read_text("utf-8")


def test_rules_plan_and_runs_are_told(comparison, outline):
    text = outline.text
    assert "two-sided exact Wilcoxon over paired seeds, Holm over all pairs of methods, 5 %." in text
    assert "recipe.epochs 6" in text
    for run in comparison.runs:
        assert run.name in text


def test_everyone_can_read_it(outline):
    assert all(attributes.get("alt") for attributes in outline.all("img"))
    assert all(attributes.get("scope") for attributes in outline.all("th"))
    assert outline.all("html")[0]["lang"] == "en"
    assert len(outline.all("h1")) == 1


def test_figures_and_tables_stand_beside_it(written):
    names = {path.name for path in (written.parent / "figures").iterdir()}
    for figure in ("differences", "reliability", "entropy", "learning", "gallery-1"):
        assert {f"{figure}.png", f"{figure}.svg"} <= names
    tables = {path.name for path in (written.parent / "tables").iterdir()}
    assert tables == {
        "scores.csv",
        "seeds.csv",
        "verdicts.csv",
        "comparison.json",
        "methods.md",
        "verdicts.md",
        "files.json",
    }
    assert not list(written.parent.rglob(".part-*"))


HOSTILE = "<script>alert(1)</script>\"'&"


def test_names_of_users_are_only_text_and_pages_are_alike(make_run, outline_of, tmp_path, monkeypatch):
    def renamed(predictions):
        predictions["ids"] = np.array([f"{HOSTILE}{i}" for i in range(len(predictions["ids"]))])

    monkeypatch.setattr(page, "gallery", partial(gallery, size=1))  # two pages: one item is enough
    names = {"name": HOSTILE, "classes": [HOSTILE + c for c in "abcd"]}
    runs = [make_run(method, data=names, edit=renamed) for method in ("soft", HOSTILE)]
    one, two = (write_page(runs, tmp_path / folder).read_text("utf-8") for folder in ("one", "two"))
    assert one == two
    assert "<script" not in one
    text = outline_of(one).text
    assert f"{HOSTILE}: soft and {HOSTILE}" in text
    assert "one seed decides nothing" in text


def test_several_numbers_of_votes_and_pictures(make_run, outline_of, tmp_path):
    runs = [make_run(method, votes=k, truth=False, select=False) for k in (5, "all") for method in ("soft", "sls")]
    first = runs[0].predictions
    data = Dataset(
        "pets", np.zeros((60, 3, 4, 4), np.uint8), Votes.from_counts(first["counts"], items=list(first["ids"]))
    )
    out = write_page(runs, tmp_path / "deep" / "compare.html", data=data)
    assert out == tmp_path / "deep" / "compare.html"
    names = {path.name for path in (out.parent / "figures").iterdir()}
    assert {"by-votes.svg", "learning-5-votes-an-item.png", "learning-all-votes.png"} <= names
    html = out.read_text("utf-8")
    outline = outline_of(html)
    assert len([a for a in outline.all("img") if a["src"].startswith("data:image/png")]) == 8
    assert "cross-fitted over two halves" in html
    assert "How many votes" in html
    assert "One seed, by the number of votes" in html  # no interval is drawn
    more = [make_run(method, votes=k, seed=1) for k in (5, "all") for method in ("soft", "sls")]
    html = write_page([*runs, *more], tmp_path / "more").read_text("utf-8")
    assert "Means over seeds with 95 % intervals, by the number of votes" in html


def test_how_votes_were_drawn_is_told_wherever_their_number_is(make_run, outline_of, tmp_path):
    runs = [
        make_run(method, votes=number, draw="resample" if number == 2 else "subsample")
        for method in ("soft", "sls")
        for number in (2, "all")
    ]
    votes = Votes.from_counts([[1, 0, 0, 0], [0, 2, 0, 1]])
    html = write_page(collect(runs, votes=votes), tmp_path).read_text("utf-8")
    title = "2 votes an item, drawn with replacement; 1 of 2 items has only one"
    assert html.count(f"<h3>{title}</h3>") == html.count("<h3>All votes</h3>") > 3
    text = outline_of(html).text
    assert "2 votes an item, drawn with replacement: 1 seed" in text
    shared, differ = text.partition("The plan that all runs share")[2].split("What differs between them")
    assert "hold 1 target shares" in shared
    assert "draw" not in shared
    assert differ.startswith(
        " method soft, sls votes 2 votes an item, drawn with replacement; all votes draw resample (with replacement: "
        "an item's votes may come twice, and do where it has fewer) seed 0 Where it ran"
    )
    (terminal, _) = summary(collect(runs, votes=votes))
    assert terminal.title == "pets, 2 votes an item, drawn with replacement, best epoch (1 of 2 items has only one)"
    told = json.loads((tmp_path / "tables" / "comparison.json").read_text())
    assert (told["panels"][0]["title"], told["varying"]["draw"]) == (title, ["resample"])
    assert figures.by_votes_figure(collect(runs)).axes[0].get_xlabel() == "votes an item, *: with replacement"


def test_every_draw_is_explained():
    pytest.importorskip("pydantic")
    from dissensus.experiment.plan import Draw

    assert list(glossary.DRAWS) == list(get_args(get_args(Draw)[0]))


def test_one_method_that_diverged(make_run, outline_of, tmp_path):
    def diverged(predictions):
        predictions["best_logits"][:] = np.nan
        predictions["last_logits"][:] = np.nan

    html = write_page([make_run("soft", edit=diverged)], tmp_path).read_text("utf-8")
    text = outline_of(html).text
    assert "not every seed has a finite score" in text
    assert not re.search(r"\bnan\b", text)


def test_how_runs_were_made_is_told_without_folders_and_the_seconds_of_each(make_run, outline_of, tmp_path):
    run = make_run("soft")
    run.about.update(engine={"graph": True}, seconds=31.517, looking=7.219, source={"votes": "/home/ann/labels.csv"})
    text = outline_of(write_page([run], tmp_path).read_text("utf-8")).text
    assert "engine.graph True" in text
    assert "31.517" not in text
    assert "7.219" not in text
    assert "/home/ann" not in text


def test_what_methods_of_one_s_own_are_made_of_is_not_told_of_all_runs(make_run, outline_of, tmp_path):
    runs = [make_run(method) for method in ("soft", "mine")]
    runs[1].about["method"] = {"delivery": "mine", "code": "0123456789abcdef", "recipe": "{}"}
    assert "0123456789abcdef" not in outline_of(write_page(runs, tmp_path).read_text("utf-8")).text


def test_names_of_classes_that_end_in_spaces_are_told_so(make_run, tmp_path):
    html = write_page([make_run("soft", data={"classes": ["cat", "cat ", "dog", "fox"]})], tmp_path).read_text("utf-8")
    assert "<dt>data.classes</dt><dd>cat, &#39;cat &#39;, dog, fox</dd>" in html


def test_data_are_found_again_and_checked(make_run):
    data = load("glyphs", items=30)
    made = {"name": "glyphs", **data.digest()}
    run = make_run("soft", data=made)
    run.about["source"] = {"name": "glyphs", "options": {"items": 30}}
    assert page.at_hand(collect([run])).digest() == data.digest()
    other = make_run("soft", 1, data=made)
    other.about["source"] = {"name": "glyphs", "options": {"items": 31}}
    assert page.at_hand(collect([other])) is None
    lost = make_run("soft", 2, data=made)
    lost.about["source"] = {"votes": "nowhere.csv", "inputs": "nowhere.npy"}
    assert page.at_hand(collect([lost])) is None


def test_files_of_a_user_are_found_again_with_their_options(make_run, tmp_path):
    votes, inputs = tmp_path / "votes.csv", tmp_path / "inputs.npz"
    votes.write_text("task,answer\na,2\na,1\nb,1\nc,2\n")
    np.savez(inputs, ids=["c", "b", "a"], inputs=np.zeros((3, 2), np.float32))
    options = {"item": "task", "label": "answer", "ordered": True}
    data = own_data(read_votes(votes, **options), inputs)
    run = make_run("soft", data={"name": "own", **data.digest()})
    run.about["source"] = {"votes": str(votes), "inputs": str(inputs), "options": options}
    assert page.at_hand(collect([run])).votes == data.votes
    moved = {**run.source, "votes": str(votes.rename(tmp_path / "moved.csv"))}
    assert page.at_hand(collect([run])) is None
    assert page.at_hand(collect([run], source=moved)).votes == data.votes
    del moved["options"]
    assert page.at_hand(collect([run], source=moved)) is None


def test_texts_of_ones_own_are_found_again(make_run, tmp_path):
    file = tmp_path / "labels.csv"
    file.write_text("task,text,label\na,one,x\na,one,y\nb,two,y\nc,three,x\n")
    data = own_data(file, texts=file, item="task")
    digest = data.digest()
    run = make_run("soft", data={"name": "own", "votes": digest["votes"], "inputs": digest["inputs"]})
    run.about["source"] = {"votes": str(file), "texts": str(file), "options": {"item": "task"}}
    assert page.at_hand(collect([run])).digest() == digest


def test_every_method_and_judged_measure_is_explained_to_newcomers(outline):
    assert set(glossary.METHODS) == set(METHODS)
    assert set(glossary.CONTROLS) < set(METHODS)
    assert set(glossary.MEASURES) == {(rule.metric, rule.tempered) for rule in RULES}
    text = outline.text
    for words in [
        *map(glossary.method_in_words, ("majority", "soft", "sls", "multipass")),
        *glossary.MEASURES.values(),
    ]:
        assert words in text


def test_a_place_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match=r"cannot write the page to .*: Not a directory\."):
        output.write_files({"index.html": b"told"}, tmp_path / "file" / "page")
    with pytest.raises(StoreError, match=r"cannot write the page to .*: Not a directory\."):
        output.check_folder(tmp_path / "file" / "page")
    output.check_folder(tmp_path / "a" / "page")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_disk_that_fills_up_leaves_nothing_half_written(tmp_path, monkeypatch):
    def full(path, content):
        if path.name == "index.html":
            raise OSError(errno.ENOSPC, "No space left on device")
        with path.open("wb") as file:
            file.write(content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(StoreError, match="No space left on device"):
        output.write_files({"figures/learning.png": b"drawn", "index.html": b"told"}, tmp_path / "new")
    assert not list(tmp_path.iterdir())
    (tmp_path / "index.html").write_text("what stood there before")
    with pytest.raises(StoreError, match="No space left on device"):
        output.write_files({"figures/learning.png": b"drawn", "index.html": b"told"}, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["index.html"]
    assert (tmp_path / "index.html").read_text() == "what stood there before"


def test_a_missing_extra_is_named(comparison, tmp_path, monkeypatch):
    def missing(module, extra):
        raise MissingExtra(f"{module} {extra}")

    monkeypatch.setattr("dissensus.report.figures.require", missing)
    with pytest.raises(MissingExtra, match="matplotlib report"):
        write_page(comparison, tmp_path)
    assert not list(tmp_path.iterdir())
