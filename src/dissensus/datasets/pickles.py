r"""Published pickles, read without running them: nothing comes out but arrays, lists, texts and numbers.

A pickle is a program, and what it names it may call. Here a name finds a harmless stand-in or nothing: the stand-ins
note down what an array is made of, and the array is built from that afterwards, so that not even NumPy's own code is
called by the file. Five names suffice for what Python writes for an array of numbers; every other one is refused.
"""

from __future__ import annotations

import pickle
import re
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.base.files import existing_file

_NUMBERS = re.compile(r"b1|[iu][1248]|f[248]")
_TORCH_HEADS = 3  # before 1.6, torch.save wrote three small pickles (a magic number, ...) ahead of the object's own


def read_pickle(path: Path) -> dict[str, Any]:
    """The dictionary in a pickle, its keys as texts.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "batch"
    >>> _ = path.write_bytes(pickle.dumps({"data": np.arange(3), "labels": [0, 1, 2]}, protocol=2))
    >>> read_pickle(path)
    {'data': array([0, 1, 2]), 'labels': [0, 1, 2]}
    >>> _ = path.write_bytes(pickle.dumps({"labels": print}))
    >>> read_pickle(path)
    Traceback (most recent call last):
    dissensus.base.errors.InputError: .../batch was refused: it asks for builtins.print, ...
    """
    with existing_file(path, "pickle").open("rb") as file:
        return _dictionary(file, path)


def read_torch_pickle(path: Path) -> dict[str, Any]:
    """The dictionary that ``torch.save`` wrote, if its values are NumPy arrays; torch is not needed."""
    with existing_file(path, "file of torch.save").open("rb") as file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            return _dictionary(file, path, heads=_TORCH_HEADS)
        try:
            with zipfile.ZipFile(file) as archive:
                inner = [name for name in archive.namelist() if name.endswith("/data.pkl")]
                if len(inner) != 1:
                    raise InputError(f"{path} is a zip file with {len(inner)} data.pkl in it; torch.save writes one.")
                with archive.open(inner[0]) as stream:
                    return _dictionary(stream, path)
        except (zipfile.BadZipFile, NotImplementedError, RuntimeError) as why:
            raise _damaged(path, why) from None


def _dictionary(file: IO[bytes], path: Path, heads: int = 0) -> dict[str, Any]:
    try:
        for _ in range(heads):
            _Reader(file, path).load()
        found = _Reader(file, path).load()
        if not isinstance(found, dict):
            raise InputError(f"{path} must hold a dictionary, but holds a {type(found).__name__}.")
        return {_text(key): _value(value) for key, value in found.items()}
    except InputError:
        raise
    except Exception as why:  # damaged bytes are a program, too, and can go wrong in any way
        raise _damaged(path, why) from None


def _value(value: Any) -> Any:
    """What comes out: an array where its stand-in was, and no other stand-in."""
    if isinstance(value, _Array):
        return value.array()
    if isinstance(value, (_StandIn, type)) or (isinstance(value, list) and any(isinstance(x, _StandIn) for x in value)):
        raise ValueError("a part of an array where none belongs")
    return value


class _Reader(pickle.Unpickler):
    def __init__(self, file: IO[bytes], path: Path) -> None:
        super().__init__(file, encoding="bytes")
        self._path = path

    def find_class(self, module: str, name: str) -> type[_StandIn]:
        if (module, name) not in _STAND_INS:
            raise InputError(
                f"{self._path} was refused: it asks for {module}.{name}, and a file of this kind holds nothing but "
                "arrays of numbers, lists, texts and numbers. Whoever made it may mean harm; remove it and get the "
                "published one."
            )
        return _STAND_INS[module, name]


class _StandIn:
    """What a name in a pickle finds. Without ``__setstate__``, a pickle could set attributes of the class itself."""

    __slots__ = ()

    def __setstate__(self, state: Any) -> None:
        raise TypeError("a state where none belongs")


class _Bytes(_StandIn):
    """For ``_codecs.encode(text, "latin1")``, by which Python 3 writes bytes into a pickle of protocol 2."""

    def __new__(cls, text: str, encoding: str) -> bytes:  # type: ignore[misc]
        if _text(encoding) != "latin1":
            raise ValueError(f"bytes written as {encoding!r}")
        return text.encode("latin-1")


class _Dtype(_StandIn):
    """For ``numpy.dtype("u1", False, True)``, whose state says the byte order."""

    __slots__ = ("code", "order")

    def __init__(self, code: Any, *flags: Any) -> None:
        self.code, self.order = _text(code), "|"
        if not _NUMBERS.fullmatch(self.code):
            raise ValueError(f"an array of {self.code!r}, which is no type of numbers")

    def __setstate__(self, state: Any) -> None:
        self.order = _text(state[1])
        if self.order not in ("<", ">", "|", "="):
            raise ValueError(f"an array with the byte order {self.order[:20]!r}")


class _Array(_StandIn):
    """For ``numpy.ndarray`` and the function that makes one; the state is version, shape, dtype, order and bytes."""

    __slots__ = ("state",)

    def __init__(self, *of: Any) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def array(self) -> NDArray[Any]:
        _, shape, dtype, by_columns, raw = self.state
        flat = np.frombuffer(raw, np.dtype(dtype.order + dtype.code))
        if min(shape, default=0) < 0:
            raise ValueError(f"an array of the shape {shape}")
        array = flat.reshape(shape, order="F" if by_columns else "C")
        return array.astype(array.dtype.newbyteorder("="), order="C")  # a copy: the bytes cannot be written to


_STAND_INS: dict[tuple[str, str], type[_StandIn]] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,  # as NumPy 2 spells it
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("_codecs", "encode"): _Bytes,
}


def _text(value: Any) -> str:
    """Texts of Python 2 arrive as bytes."""
    return value.decode("ascii") if isinstance(value, bytes) else str(value)


def _damaged(path: Path, why: Exception) -> InputError:
    return InputError(
        f"{path} is damaged or cut off: it cannot be read as a pickle ({str(why) or type(why).__name__}). "
        "Remove it and get it again."
    )
