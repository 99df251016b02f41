from __future__ import annotations

import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.training.engine import Engine
from dissensus.training.precision import arithmetic, autocast

CPU = torch.device("cpu")


def test_bf16_is_for_the_forward_pass_and_fp32_is_left_alone() -> None:
    a = torch.ones(2, 2)
    with arithmetic("bf16", CPU, Engine()), autocast("bf16", CPU):
        assert (a @ a).dtype == torch.bfloat16
    with arithmetic("fp32", CPU, Engine()), autocast("fp32", CPU):
        assert (a @ a).dtype == torch.float32


def test_tf32_needs_a_gpu() -> None:
    with (
        pytest.raises(InputError, match="tf32 is for CUDA devices, but the model is on the CPU"),
        arithmetic("tf32", CPU, Engine()),
    ):
        pass


@pytest.mark.parametrize("precision", ["fp32", "tf32", "bf16"])
@pytest.mark.parametrize("graph", [True, False])
def test_the_settings_for_a_gpu_and_the_caller_s_afterwards(precision: str, graph: bool) -> None:
    def settings() -> tuple[bool, ...]:
        cudnn = torch.backends.cudnn
        return cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32

    before, rounds = settings(), precision != "fp32"
    with arithmetic(precision, torch.device("cuda"), Engine(graph=graph)):
        assert settings() == (graph, not graph, rounds, rounds)
    assert settings() == before
