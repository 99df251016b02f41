from __future__ import annotations

import builtins
import contextlib
import os
import pickle
import struct
import subprocess
import zipfile

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import pickles
from dissensus.datasets.pickles import read_pickle, read_torch_pickle

ARRAYS = {
    "bytes": np.arange(12, dtype=np.uint8).reshape(3, 4),
    "long": np.array([-(2**40), 2**40]),
    "swapped": np.arange(5, dtype=">i4"),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "half": np.array([0.5, -2], np.float16),
    "truth": np.array([True, False]),
    "one": np.array(7),
}


class Gadget:
    """Asks the reader to call something."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


class Own:
    pass


def dumped(path, value, protocol=2):
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    return path


# -- what comes out


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
def test_arrays(tmp_path, name, protocol):
    found = read_pickle(dumped(tmp_path / "x", {name: ARRAYS[name]}, protocol))[name]
    np.testing.assert_array_equal(found, ARRAYS[name])
    assert found.dtype == ARRAYS[name].dtype.newbyteorder("=")
    assert found.flags.writeable
    assert found.flags.c_contiguous


def test_lists_texts_and_numbers(tmp_path):
    value = {"labels": [3, -1, 2.5, True, None], "name": "müsli", b"raw": [b"\xff", "x"], 7: 10**30}
    expected = {"labels": [3, -1, 2.5, True, None], "name": "müsli", "raw": [b"\xff", "x"], "7": 10**30}
    assert read_pickle(dumped(tmp_path / "x", value)) == expected


def test_what_python_2_wrote(tmp_path, python2_pickle):
    value = {"data": ARRAYS["bytes"], "labels": [1, 2, 300], "batch_label": "testing batch 1 of 1"}
    (tmp_path / "x").write_bytes(python2_pickle(value))
    found = read_pickle(tmp_path / "x")
    np.testing.assert_array_equal(found["data"], value["data"])
    assert (found["labels"], found["batch_label"]) == ([1, 2, 300], b"testing batch 1 of 1")


@pytest.mark.parametrize("zipped", [True, False])
def test_what_torch_saved(tmp_path, zipped):
    torch = pytest.importorskip("torch")
    torch.save(ARRAYS, tmp_path / "x.pt", _use_new_zipfile_serialization=zipped)
    assert zipfile.is_zipfile(tmp_path / "x.pt") == zipped
    for name, found in read_torch_pickle(tmp_path / "x.pt").items():
        np.testing.assert_array_equal(found, ARRAYS[name])


# -- what does not


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Gadget(os.system, "touch harm"), f"{os.system.__module__}.system"),
        (Gadget(eval, "1"), "builtins.eval"),
        (Gadget(exec, "1"), "builtins.exec"),
        (Gadget(getattr, "x", "y"), "builtins.getattr"),
        (Gadget(subprocess.check_output, "ls"), "subprocess.check_output"),
        (Gadget(builtins.open, "harm", "w"), "open"),
        (Gadget(np.load, "x.npy"), "numpy.load"),
        (Gadget(np.fromfile, "/etc/passwd"), "numpy.fromfile"),
        (Gadget(np.frompyfunc, len, 1, 1), "numpy.frompyfunc"),
        (np.float64(1), "scalar"),
        (np.array("text", dtype=object), "array of 'O8'"),
        (np.array(["text"]), "array of 'U4'"),
        (np.zeros(1, [("a", "i4")]), "array of 'V4'"),
        (np.ma.masked_array([1]), "numpy.ma"),
        (np.recarray(1, [("a", "i4")]), "numpy.rec"),
        (Own(), "Own"),
        (Own, "Own"),
        (1j, "builtins.complex"),
    ],
)
@pytest.mark.parametrize("deep", [False, True])
def test_anything_else_is_refused_by_name(tmp_path, monkeypatch, value, name, deep):
    monkeypatch.chdir(tmp_path)
    path = dumped(tmp_path / "evil", {"data": [[value]] if deep else value}, protocol=4)
    with pytest.raises(InputError) as error:
        read_pickle(path)
    assert str(path) in str(error.value)
    assert name in str(error.value)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["evil"]


def test_the_refusal_says_what_to_do(tmp_path):
    with pytest.raises(InputError, match=r"was refused: it asks for builtins.eval, .* get the published one"):
        read_pickle(dumped(tmp_path / "evil", {"data": Gadget(eval, "1")}, protocol=4))


@pytest.mark.parametrize("name", ["numpy.ndarray.__class__", "numpy.core.multiarray.sys", "_codecs.decode"])
def test_names_are_not_followed_with_dots(tmp_path, name):
    module, _, attribute = name.partition(".") if not name.startswith("numpy.core") else name.rpartition(".")
    code = b"\x80\x04\x8c" + bytes([len(module)]) + module.encode() + b"\x8c" + bytes([len(attribute)])
    (tmp_path / "evil").write_bytes(code + attribute.encode() + b"\x93.")
    with pytest.raises(InputError, match=f"asks for {name}"):
        read_pickle(tmp_path / "evil")


def test_other_codecs_are_refused(tmp_path):
    import _codecs

    with pytest.raises(InputError, match="bytes written as 'rot13'"):
        read_pickle(dumped(tmp_path / "evil", {"data": Gadget(_codecs.encode, "x", "rot13")}))


@pytest.mark.parametrize("stand_in", [b"cnumpy\ndtype\n", b"cnumpy\nndarray\n", b"c_codecs\nencode\n"])
def test_a_pickle_cannot_change_the_reader(tmp_path, stand_in):
    """BUILD on a class, with a state that sets its attributes, would poison every later reading."""
    state = b"(N}U\x07__new__K\x01st"
    before = {one: dict(vars(one)) for one in pickles._STAND_INS.values()}
    (tmp_path / "evil").write_bytes(b"\x80\x02" + stand_in + state + b"b.")
    with pytest.raises(InputError, match="damaged"):
        read_pickle(tmp_path / "evil")
    assert {one: dict(vars(one)) for one in pickles._STAND_INS.values()} == before


def test_numpys_own_types_cannot_be_changed(tmp_path):
    """dtype("i8") is one object for the whole process; a state given to it would turn every array's bytes around."""
    code = b"\x80\x02}U\x01xcnumpy\ndtype\n(U\x02i8tR(K\x03U\x01>NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tbs."
    (tmp_path / "evil").write_bytes(code)
    with pytest.raises(InputError, match="a part of an array where none belongs"):
        read_pickle(tmp_path / "evil")
    assert np.dtype("i8").byteorder == "="
    assert np.array([1]).tobytes() == struct.pack("=q", 1)


@pytest.mark.parametrize("value", [b"cnumpy\nndarray\n", b"](cnumpy\nndarray\n(tRe", b"cnumpy\ndtype\n(U\x02i8tR"])
def test_no_stand_in_comes_out(tmp_path, value):
    (tmp_path / "evil").write_bytes(b"\x80\x02}U\x01x" + value + b"s.")
    with pytest.raises(InputError, match="a part of an array where none belongs"):
        read_pickle(tmp_path / "evil")


@pytest.mark.parametrize("order", [b"3,", b"O,", b"(2,)"])
def test_a_byte_order_is_no_place_for_another_type(tmp_path, order, python2_pickle):
    whole = python2_pickle({"data": np.arange(6, dtype=np.uint8)})
    assert b"(K\x03U\x01|" in whole
    (tmp_path / "evil").write_bytes(whole.replace(b"(K\x03U\x01|", b"(K\x03U" + bytes([len(order)]) + order))
    with pytest.raises(InputError, match="an array with the byte order"):
        read_pickle(tmp_path / "evil")


def test_tensors_are_refused(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save({"labels": torch.zeros(3)}, tmp_path / "x.pt")
    with pytest.raises(InputError, match=r"x.pt was refused: it asks for torch._utils"):
        read_torch_pickle(tmp_path / "x.pt")
    (tmp_path / "id").write_bytes(b"\x80\x02K\x01Q.")
    with pytest.raises(InputError, match="id is damaged"):
        read_pickle(tmp_path / "id")


# -- damage


@pytest.mark.parametrize("share", [0.01, 0.2, 0.5, 0.9, 0.999])
def test_a_cut_off_pickle_is_named(tmp_path, share, python2_pickle):
    whole = python2_pickle({"labels": list(range(50)), "data": np.zeros((50, 30), np.uint8)})
    (tmp_path / "batch").write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(InputError, match=r"batch is damaged or cut off: .* Remove it and get it again"):
        read_pickle(tmp_path / "batch")


def test_flipped_bytes_give_an_error_or_a_dictionary(tmp_path, rng, python2_pickle):
    whole = np.frombuffer(python2_pickle({"labels": list(range(9)), "data": np.zeros((9, 3), np.uint8)}), np.uint8)
    path = tmp_path / "batch"
    for _ in range(400):
        bad = whole.copy()
        bad[rng.integers(0, len(bad), 2)] = rng.integers(0, 256, 2)
        path.write_bytes(bad.tobytes())
        with contextlib.suppress(InputError):  # and no other error
            assert isinstance(read_pickle(path), dict)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"no pickle at all", "damaged or cut off"),
        (pickle.dumps([1, 2], protocol=2), "must hold a dictionary, but holds a list"),
        (b"\x80\x02" + b"(" * 10000 + b".", "damaged or cut off"),
    ],
)
def test_no_pickle(tmp_path, content, message):
    (tmp_path / "batch").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_pickle(tmp_path / "batch")


def test_arrays_that_lie_about_their_shape(tmp_path, python2_pickle):
    whole = python2_pickle({"data": np.zeros((3, 4), np.uint8)})
    shape = b"(J\x03\x00\x00\x00J\x04\x00\x00\x00t"
    assert shape in whole
    for lie in (b"(J\x03\x00\x00\x00J\x05\x00\x00\x00t", b"(J\x03\x00\x00\x00J\xff\xff\xff\xfft"):
        (tmp_path / "batch").write_bytes(whole.replace(shape, lie))
        with pytest.raises(InputError, match="batch is damaged"):
            read_pickle(tmp_path / "batch")


def test_damaged_files_of_torch(tmp_path):
    torch = pytest.importorskip("torch")
    torch.save(ARRAYS, tmp_path / "x.pt")
    whole = (tmp_path / "x.pt").read_bytes()
    for bad in (whole[:-30], whole[:100], whole[:200] + b"\0" * 200 + whole[400:]):
        (tmp_path / "x.pt").write_bytes(bad)
        with pytest.raises(InputError, match=r"x.pt is damaged"):
            read_torch_pickle(tmp_path / "x.pt")


def test_a_zip_file_of_something_else(tmp_path):
    np.savez(tmp_path / "x.npz", a=1)
    with pytest.raises(InputError, match=r"x.npz is a zip file with 0 data.pkl in it"):
        read_torch_pickle(tmp_path / "x.npz")


def test_no_file(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        read_pickle(tmp_path / "batch")
