import pickle

import pytest

from dissensus.base.errors import DissensusError, InputError, MissingExtra, PlanError, StoreError, require, unknown


@pytest.mark.parametrize(
    ("error", "builtin"),
    [(InputError, ValueError), (PlanError, ValueError), (StoreError, OSError), (MissingExtra, ImportError)],
)
def test_errors_are_both_ours_and_the_kind_that_python_code_catches(error, builtin):
    assert issubclass(error, DissensusError)
    assert issubclass(error, builtin)


def test_a_store_error_reads_as_its_sentence():
    assert (
        str(StoreError("cannot write runs: No space left on device.")) == "cannot write runs: No space left on device."
    )


@pytest.mark.parametrize("kind", [InputError, PlanError])
def test_what_to_give_is_kept_apart_from_the_words_also_by_another_process(kind):
    error = pickle.loads(pickle.dumps(kind("{odd}.csv: name its columns", give=["item", "label"])))
    assert isinstance(error, kind)
    assert str(error) == "{odd}.csv: name its columns with item=... and label=..."
    assert error.told("--{} ...") == "{odd}.csv: name its columns with --item ... and --label ..."
    switched = pickle.loads(pickle.dumps(kind("leave them out", switch_on=["anonymous"])))
    assert str(switched) == "leave them out with anonymous=True"
    assert switched.told("--{} ...", "--{}") == "leave them out with --anonymous"
    plain = kind("write it with savez(ids=...)")
    assert str(plain) == plain.told("--{} ...") == "write it with savez(ids=...)"


def test_require_imports():
    assert require("math", extra="train").sqrt(4) == 2


def test_require_names_the_extra_and_the_command_that_brings_it():
    with pytest.raises(MissingExtra, match=r'no_such_package is needed.*pip install "dissensus\[report\]"'):
        require("no_such_package.part", extra="report")


def test_require_tells_why_a_package_that_is_there_failed(tmp_path, monkeypatch):
    (tmp_path / "half_installed.py").write_text("import a_part_that_is_missing")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(MissingExtra, match="a_part_that_is_missing"):
        require("half_installed", extra="train")


def test_unknown_suggests_a_near_name_only():
    assert "did you mean 'multipass'?" in unknown("delivery", "multi-pass", ["soft", "multipass"])
    assert unknown("delivery", "xyz", ["soft", "sls"]) == "unknown delivery 'xyz'. Choose one of: soft, sls"
    assert "unknown epoch 3" in unknown("epoch", 3, [])
