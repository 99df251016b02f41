"""``dissensus doctor``: what it says of a machine that lacks something."""

import json
import types

import pytest

from dissensus.cli import doctor


def test_a_machine_with_everything_is_ready(run):
    code, out, _ = run("doctor", "--json")
    told = json.loads(out)
    assert code == 0
    ready = {part["what"]: part for part in told["parts"]}
    assert ready["votes, metrics, statistics"]["missing"] == []
    assert "torch" in ready["training"]["versions"]
    assert "glyphs" in told["data"]["here"]
    code, out, _ = run("doctor")
    assert code == 0
    assert out.startswith("dissensus ")


def test_what_is_not_installed_is_said_with_what_brings_it(run, monkeypatch):
    there = doctor.find_spec
    monkeypatch.setattr(doctor, "find_spec", lambda name: None if name in ("ray", "jinja2", "polars") else there(name))
    code, out, _ = run("doctor")
    assert code == 0  # nothing is wrong
    assert 'needs ray: pip install "dissensus[ray]"' in out
    assert 'needs jinja2: pip install "dissensus[report]"' in out
    assert "needs polars: pip install dissensus" in " ".join(out.split())
    assert "dissensus[]" not in out


def test_what_is_installed_and_cannot_be_imported_is_an_error(run, monkeypatch):
    def fails(name):
        if name.startswith("transformers"):
            raise RuntimeError("operator torchvision::nms does not exist\nand more")
        return types.ModuleType(name)

    monkeypatch.setattr(doctor, "import_module", fails)
    code, out, _ = run("doctor")
    assert code == 1
    assert "broken: transformers: RuntimeError: operator torchvision::nms does not exist" in " ".join(out.split())
    assert "and more" not in out


@pytest.mark.parametrize(
    ("driver", "cuda", "words"),
    [
        (None, None, "none that torch can use; runs are made on the CPU, in 32 bits.\n"),
        ("/bin/nvidia-smi", None, "is built for CPUs: install a CUDA build of it."),
        ("/bin/nvidia-smi", "13.0", "(CUDA 13.0) finds no GPU by it."),
    ],
)
def test_a_gpu_that_cannot_be_used_is_explained(run, monkeypatch, driver, cuda, words):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.version, "cuda", cuda)
    monkeypatch.setattr(doctor.shutil, "which", lambda name: driver)
    assert words in run("doctor")[1]


def test_a_gpu_is_named_with_the_kernels_that_it_gets(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Imagined 9000")
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda at: types.SimpleNamespace(total_memory=48 * 2**30))
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (8, 0))
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda: True)
    found = doctor._gpu([doctor.Part("training", "train", {"torch": "2.13.0"}, [], {})])
    assert found.name == "Imagined 9000"
    assert found.told.startswith("Imagined 9000, 48 GiB, 2 of them, of which runs use one; ")
    assert "Hopper" not in found.told
