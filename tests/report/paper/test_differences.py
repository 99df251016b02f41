"""Where a measured number is not the published one."""

from __future__ import annotations

import pytest

from dissensus.base.errors import InputError
from dissensus.report.paper.differences import compared, in_words, read_notes


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
