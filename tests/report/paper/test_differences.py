"""Where a measured number is not the published one."""

from __future__ import annotations

import pytest

from dissensus.base.errors import InputError
from dissensus.report.paper.differences import compared, counted, in_words, read_notes


def test_differences_are_listed_with_what_explains_them(whole, basins, tmp_path):
    (tmp_path / "notes.toml").write_text(
        '[[notes]]\nplace = "table4"\nmetric = "trace"\nexplains = "other probes"\n', "utf-8"
    )
    told = compared(whole, basins, read_notes(tmp_path))
    places = {one.address.place for one in told}
    assert "table7" not in places  # SVHN was not measured
    trace = [one for one in told if one.address.place == "table4" and one.address.metric == "trace"]
    assert {one.explained for one in trace} == {"other probes"}
    assert any(one.differs and not one.explained for one in told)
    one = next(one for one in told if one.differs)
    assert "standard errors" in one.numbers
    assert one.numbers.endswith(("higher", "lower"))


def test_of_a_number_that_the_paper_has_twice_the_row_is_told(whole, basins):
    told = [one.what for one in compared(whole, basins) if one.address.place == "table4"]
    assert "sls, trace (its row of 10 seeds)" in told
    assert "sls, trace (its row of 5 seeds)" in told
    assert "multipass, trace" in told
    assert len(told) == len(set(told))


def test_how_many_differ_is_told_once_there_are_five_seeds(whole, make, basins):
    told = compared(whole, basins)
    differ = sum(one.differs for one in told)
    assert counted(told).startswith(f"Of {len(told)} numbers that were compared, {differ} differ; by chance alone")
    cells = basins.cells("published", feeds="table1")
    few = compared(make([cell for cell in cells if cell.seed < 4], diagnostics=False), basins)
    assert counted(few) == "16 were measured on fewer than 5 seeds, too few to compare."
    more = [cell for cell in cells if cell.seed < 4 or cell.votes == 5]
    assert counted(compared(make(more, diagnostics=False), basins)).endswith(
        "would. 12 others were measured on fewer than 5 seeds, too few to compare."
    )
    assert counted([]) == "Nothing was measured yet."


def test_numbers_are_named_in_words(basins):
    words = [in_words(address) for address in basins.published.numbers]
    assert "sls, soft NLL, labels held for 5 epochs" in words
    assert "sls, λmax, 5 votes, most disputed items" in words
    assert "sls and soft, barrier" in words
    assert "soft, KNN, SVHN" in words


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[notes]\n", "is not valid TOML"),
        ('[[notes]]\ntable = "table1"\nexplains = "x"\n', "note 1 of .* has 'table'; choose of place, method"),
        ('[[notes]]\nexplains = "x"\n', "note 1 of .* must say what it explains"),
        ('[[notes]]\nplace = "table1"\n', "note 1 of .* must say what it explains"),
    ],
)
def test_wrong_notes_are_told(tmp_path, text, message):
    (tmp_path / "notes.toml").write_text(text, "utf-8")
    with pytest.raises(InputError, match=message):
        read_notes(tmp_path)


def test_no_notes_are_none(tmp_path):
    assert read_notes(tmp_path) == []
