import hashlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dissensus.base.errors import InputError
from dissensus.records.canonical import canonical_json, content_name, readable_json, without_defaults

numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
scalars = st.none() | st.booleans() | numbers | st.text(max_size=8)
contents = st.dictionaries(
    st.text(max_size=5),
    st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)

PLAN = {
    "data": {"name": "glyphs", "version": 1, "votes": "ab" * 32, "classes": ["a", "ä"]},
    "split": {"test": 0.2, "select": 0.1},
    "votes": "all",
    "method": "multipass",
    "recipe": {"epochs": 30, "lr": 0.05, "weight_decay": 5e-4, "mixup": 0.0, "nesterov": False, "mean": None},
    "seeds": {"split": 3, "init": 3, "order": 3, "delivery": 3},
}


def test_the_text_is_the_one_written_out_here():
    assert canonical_json(PLAN) == (
        '{"data":{"classes":["a","\\u00e4"],"name":"glyphs","version":1,"votes":"' + "ab" * 32 + '"},'
        '"method":"multipass",'
        '"recipe":{"epochs":30,"lr":0.05,"mean":null,"mixup":0,"nesterov":false,"weight_decay":0.0005},'
        '"seeds":{"delivery":3,"init":3,"order":3,"split":3},"split":{"select":0.1,"test":0.2},"votes":"all"}'
    )


def test_golden_names():
    """These name runs on people's disks. They must never change."""
    assert content_name({}) == hashlib.sha256(b"{}").hexdigest()[:16] == "44136fa355b3678a"
    assert content_name({"method": "soft", "recipe": {"lr": 0.1}}) == "c59cc8f38b2c128f"
    assert content_name(PLAN) == "f2285a670cbcb16a"
    assert content_name(PLAN, {"recipe": {"nesterov": False, "mixup": 0.0, "mean": None}}) == "f68d82207a5f30db"


@given(contents)
def test_the_order_of_keys_does_not_matter(content):
    assert content_name(dict(reversed(content.items()))) == content_name(content)


@given(contents)
def test_a_name_survives_the_disk(content):
    assert content_name(json.loads(canonical_json(content))) == content_name(content)
    assert content_name(json.loads(readable_json(content))) == content_name(content)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_exact(value):
    assert json.loads(canonical_json(value)) == value


@pytest.mark.parametrize(("one", "other"), [(1, 1.0), (0, -0.0), (0.0, -0.0), ((1, 2), [1, 2]), (np.float64(0.1), 0.1)])
def test_equal_values_have_one_name(one, other):
    assert content_name({"x": one}) == content_name({"x": other})


@pytest.mark.parametrize(
    ("one", "other"), [(1, True), (0, False), (0, None), ("1", 1), (0.1, 0.1 + 1e-17 + 2e-17), ([], {})]
)
def test_different_values_have_different_names(one, other):
    assert content_name({"x": one}) != content_name({"x": other})


@given(contents, st.text(max_size=5), scalars)
def test_a_new_field_at_its_default_moves_no_name(content, name, default):
    content.pop(name, None)
    assert content_name(content | {name: default}, {name: default}) == content_name(content)


@given(contents, contents)
def test_the_default_of_a_new_table_moves_no_name(content, table):
    content.pop("new", None)
    assert content_name(content | {"new": table}, {"new": table}) == content_name(content, {"new": table})


def test_defaults_are_left_out_field_by_field():
    defaults = {"hold": 1, "recipe": {"lr": 0.1, "epochs": 200}}
    assert without_defaults({"hold": 1, "recipe": {"lr": 0.1, "epochs": 30}}, defaults) == {"recipe": {"epochs": 30}}
    assert without_defaults({"hold": 2, "recipe": {"lr": 0.1, "epochs": 200}}, defaults) == {"hold": 2}
    assert without_defaults({"hold": True}, defaults) == {"hold": True}
    assert without_defaults({"recipe": None}, defaults) == {"recipe": None}


def test_nothing_given_is_changed():
    plan = {"recipe": {"lr": 1.0, "mean": (1.0, 2.0)}}
    content_name(plan, {"recipe": {"lr": 1.0}})
    assert plan == {"recipe": {"lr": 1.0, "mean": (1.0, 2.0)}}


@pytest.mark.parametrize("write", [canonical_json, readable_json, content_name])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"recipe": {"lr": float("nan")}}, "content.recipe.lr is nan"),
        ({"a": [1, -float("inf")]}, r"content.a\[1\] is -inf"),
        ({"a": {1: 2}}, "content.a has the key 1, but keys must be strings"),
        ({"a": np.ones(2)}, r"content.a is of the type ndarray.*array.tolist"),
        ({"a": np.float32(1)}, "content.a is of the type float32"),
        ({"a": {1, 2}}, "content.a is of the type set"),
    ],
)
def test_what_json_cannot_hold_is_named(write, content, message):
    with pytest.raises(InputError, match=message):
        write(content)


def test_readable_json_keeps_order_and_types():
    assert readable_json({"b": 1.0, "a": [True]}) == '{\n  "b": 1.0,\n  "a": [\n    true\n  ]\n}\n'
