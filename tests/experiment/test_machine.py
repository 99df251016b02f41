from __future__ import annotations

import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.experiment import Plan, carry_out
from dissensus.experiment.machine import one_thread, refuse_other_machine
from dissensus.records import RunStore


def test_training_takes_one_thread_and_gives_the_others_back():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_a_precision_of_other_machines_is_told_with_what_to_do(data, tiny, tmp_path, monkeypatch, precision):
    monkeypatch.setattr("dissensus.experiment.machine.device", lambda: "cpu")
    plans = [
        Plan.from_dict(plan.to_dict() | {"recipe": plan.recipe.model_dump() | {"precision": precision}})
        for plan in tiny.plans(data)
    ]
    with pytest.raises(InputError, match=f"^this run asks for the precision {precision}, made for CUDA GPUs"):
        carry_out(plans[0], data, RunStore(tmp_path / "runs"))
    assert not (tmp_path / "runs").exists()
    with pytest.raises(InputError, match=r"^4 runs ask for .*--recipe precision=fp32 .*about a day"):
        refuse_other_machine(plans)
    refuse_other_machine(tiny.plans(data))
    monkeypatch.setattr("dissensus.experiment.machine.device", lambda: "cuda")
    refuse_other_machine(plans)
