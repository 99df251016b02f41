from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dissensus.base.errors import InputError
from dissensus.datasets.folder import data_file, data_files, data_folder


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in ("DISSENSUS_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("platform", "variable", "default"),
    [
        ("linux", "XDG_CACHE_HOME", ".cache"),
        ("freebsd14", "XDG_CACHE_HOME", ".cache"),
        ("darwin", None, "Library/Caches"),
        ("win32", "LOCALAPPDATA", "AppData/Local"),
    ],
)
def test_the_platforms_folder_for_caches(home, monkeypatch, platform, variable, default):
    monkeypatch.setattr(sys, "platform", platform)
    assert data_folder() == home / default / "dissensus"
    if variable:
        monkeypatch.setenv(variable, "")
        assert data_folder() == home / default / "dissensus"
        monkeypatch.setenv(variable, str(home / "elsewhere"))
        assert data_folder() == home / "elsewhere" / "dissensus"


def test_a_relative_xdg_cache_home_is_ignored(home, monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", "caches")
    assert data_folder() == home / ".cache" / "dissensus"


def test_the_variable_comes_first(home, monkeypatch):
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("USERPROFILE", str(home))
    monkeypatch.setenv("DISSENSUS_DATA", "~/sets")
    assert data_folder() == home / "sets"


def test_what_is_missing_is_named(folder):
    (folder / "a").mkdir(parents=True)
    (folder / "a" / "one").write_text("1")
    assert data_files("set", "a/one") == [folder / "a" / "one"]
    with pytest.raises(InputError) as error:
        data_files("set", "a/two", "a/one", "b/three")
    assert str(error.value).startswith(f"set needs a/two, b/three in {folder}, but they are not there.")
    assert "Run: dissensus data get set, which gets them or says from where, or point" in str(error.value)
    with pytest.raises(InputError, match=r"set needs a/two in .*, but it is not there"):
        data_files("set", "a/two")


def test_plain_arrays_stand_in_for_the_pickle_they_were_in(folder):
    official, plain = folder / "cifar-10n" / "CIFAR-10_human.pt", folder / "cifar-10n" / "cifar10n.npz"
    assert data_file("cifar-10n/CIFAR-10_human.pt") == official
    plain.parent.mkdir(parents=True)
    plain.write_text("plain")
    assert data_file("cifar-10n/CIFAR-10_human.pt") == plain
    official.write_text("official")
    assert data_file("cifar-10n/CIFAR-10_human.pt") == official
