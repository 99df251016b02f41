"""Where a page belongs: made again or grown it is renewed, and no other one's page is lost."""

from __future__ import annotations

import pytest

from dissensus.report import collect, own_place, page_at, write_page


@pytest.fixture
def runs(make_run):
    return [make_run(method, seed) for seed in (0, 1) for method in ("soft", "sls")]


def names(runs):
    return [run.name for run in runs]


def test_a_comparison_that_is_made_again_or_has_grown_renews_its_page(runs, make_run, tmp_path):
    folder = tmp_path / "report"
    assert own_place(names(runs), folder) == folder
    write_page(runs, folder)
    assert own_place(names(runs), folder) == folder
    assert own_place(names([*runs, make_run("majority")]), folder) == folder


def test_another_comparison_has_a_page_of_its_own_and_finds_it_again(runs, make_run, tmp_path):
    folder, others = tmp_path / "report", [make_run("soft", recipe={"epochs": 7})]
    write_page(runs, folder)
    assert own_place(names(others), folder) == tmp_path / "report-2"
    write_page(others, tmp_path / "report-2")
    assert own_place(names(others), folder) == tmp_path / "report-2"
    assert own_place(names(runs), folder) == folder
    assert own_place(names(runs[:2]), folder) == tmp_path / "report-3"


def test_a_page_of_somebody_else_is_never_renewed(runs, tmp_path):
    folder = tmp_path / "report"
    folder.mkdir()
    assert own_place(names(runs), folder) == folder
    (folder / "index.html").write_text("mine")
    assert own_place(names(runs), folder) == tmp_path / "report-2"
    assert page_at(folder).beside(collect(runs)) == "not of a comparison"
    (folder / "tables").mkdir()
    for broken in ("", "[]", '{"setting": {}, "panels": [3]}', '{"setting": {}, "panels": []}'):
        (folder / "tables" / "comparison.json").write_text(broken)
        assert own_place(names(runs), folder) == tmp_path / "report-2"


def test_what_the_other_page_shows_is_told(runs, make_run, tmp_path):
    write_page([*runs, *(make_run(method, 2) for method in ("soft", "sls"))], tmp_path)
    there = page_at(tmp_path)
    assert there.beside(collect(runs)) == "there with seed 2 as well"
    assert there.beside(collect(runs[::2])) == "there with sls and seed 2 as well"
    few = [make_run(method, seed, votes=5) for seed in (0, 1, 2) for method in ("soft", "sls")]
    assert there.beside(collect(few)) == "there with all votes as well"
    other = [make_run("soft", recipe={"epochs": 7})]
    assert there.beside(collect(other)) == "recipe.epochs 6 there, 7 here"
    held = [make_run(method, seed, hold=2) for seed in (0, 1, 2) for method in ("soft", "sls")]
    assert there.beside(collect(held)) == "of other runs"


def test_other_data_are_told_by_their_files_and_not_by_digests(make_run, tmp_path):
    def of(file, **changes):
        run = make_run("soft", **changes)
        run.about["source"] = {"votes": f"/home/ann/{file}", "inputs": "x.npy"}
        return run

    write_page([of("labels.csv")], tmp_path)
    there = page_at(tmp_path)
    others = {"votes": "c" * 64, "inputs": "d" * 64}
    assert there.beside(collect([of("new.csv", data=others)])) == "labels.csv there, new.csv here"
    assert there.beside(collect([of("labels.csv", data=others)])) == "labels.csv had other votes and inputs"
    assert there.beside(collect([of("labels.csv", data={"inputs": "d" * 64})])) == "labels.csv had other inputs"
    longer = collect([of("new.csv", data=others, recipe={"epochs": 7})])
    assert there.beside(longer) == "labels.csv there, new.csv here, recipe.epochs 6 there, 7 here"
    tables = tmp_path / "tables" / "comparison.json"
    tables.write_text(tables.read_text().replace('"title": "labels.csv",', ""))  # as pages were written before
    assert page_at(tmp_path).beside(collect([of("new.csv", data=others)])) == "of other votes and inputs"


def test_another_encoder_is_told_by_its_name(make_run, tmp_path):
    def with_encoder(name, digest):
        return make_run("soft", model={"name": "frozen", "encoder": name, "options": {"encoder": digest * 64}})

    write_page([with_encoder("mini", "a")], tmp_path)
    there = page_at(tmp_path)
    assert there.beside(collect([with_encoder("large", "b")])) == "model.encoder mini there, large here"
    assert "model.options.encoder aaaaaaaaaaaa there" in there.beside(collect([with_encoder("mini", "b")]))
