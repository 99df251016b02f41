from __future__ import annotations

import pytest

from dissensus.base.errors import InputError
from dissensus.datasets.json_files import json_entries, json_lines


def test_lines_with_their_numbers(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('\ufeff{"a": "\u2028x"}\n\n{"a": 2}\n', "utf-8")  # U+2028 ends a line in some readers
    assert [(entry.values["a"], entry.where[-6:]) for entry in json_lines(path)] == [
        ("\u2028x", "line 1"),
        (2, "line 3"),
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"a": 1', "line 1 of .* is damaged or no JSON"),
        (b"[1]", r"line 1 of .* must be an object {...}, but it is \[1\]"),
        (b'{"a": 1, "a": 2}', "the key 'a' stands there more than once"),
        (b'{"a": {"b": 1, "b": 2}}', "the key 'b' stands there more than once"),
        (b'{"a": "\xff"}', "is damaged: it is not text in UTF-8"),
        (b"[" * 100_000, "is damaged or no JSON"),
        (b'{"a": ' + b"1" * 5000 + b"}", "is damaged or no JSON"),
    ],
)
def test_what_is_no_object_a_line(tmp_path, content, message):
    (tmp_path / "a.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=message):
        list(json_lines(tmp_path / "a.jsonl"))


def test_a_truth_value_is_no_number(tmp_path):
    (tmp_path / "a.json").write_text('{"x": {"n": true}}')
    ((_, entry),) = json_entries(tmp_path / "a.json")
    with pytest.raises(InputError, match=r"a\.json, entry 'x': 'n' must be a whole number, but it is True"):
        entry.get("n", int)
