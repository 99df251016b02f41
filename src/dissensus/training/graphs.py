"""CUDA graphs: a whole step recorded once and replayed, so that Python is no part of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias, final

import torch
from torch import Tensor, nn

from dissensus.base.errors import DissensusError
from dissensus.training.inputs import Normalise
from dissensus.training.learner import Learner
from dissensus.training.memory import memory_ran_out

Kind: TypeAlias = tuple[tuple[torch.Size, torch.dtype] | None, ...]


WARM_UP = 3  # calls before a capture: cuDNN measures its algorithms, and libraries allocate their workspaces


class NotRecorded(DissensusError):
    """What a model does in a step can be done, but not recorded: it reads from the device on its way, say.

    What was under way on the stream is lost; whoever meets this starts again in another lane, without graphs.
    What the capture had reserved of the GPU's memory stays so until the process ends, up to torch 2.13 at least
    (https://github.com/pytorch/pytorch/pull/190348); only names within torch, which differ by version, would free it.
    """

    def __init__(self, why: BaseException) -> None:
        first = str(why.__context__ or why).strip().partition("\n")[0]
        super().__init__(
            f"a step of this model cannot be recorded as a CUDA graph ({first}); going on without graphs, more slowly"
        )


@final
class Graphed(Learner):
    """Any learner on CUDA, with a graph for each kind of step: size of batch, labels or rows, mixed or not.

    Must be used on a stream that is not the default one, as runs do (:class:`~dissensus.training.lane.Lane`).
    """

    def __init__(self, learner: Learner) -> None:
        self.learner, self.model, self.momentum = learner, learner.model, learner.momentum
        self.pool = torch.cuda.graph_pool_handle()  # graphs of one learner never run at the same time: one memory
        self.steps: dict[Kind, Recording] = {}
        self.looks: dict[Kind, Recording] = {}

    def step(
        self, x: Tensor, y: Tensor, rate: Tensor, share: Tensor | None = None, partner: Tensor | None = None
    ) -> Tensor:
        return self._replay(self.steps, self.learner.step, x, y, rate, share, partner)

    def logits(self, x: Tensor) -> Tensor:
        return self._replay(self.looks, self.learner.logits, x).clone()

    def reset(self, model: nn.Module, prepare: Normalise) -> None:
        self.learner.reset(model, prepare)

    def tensors(self) -> list[Tensor]:
        return self.learner.tensors()

    def refresh(self) -> None:
        self.learner.refresh()

    def _replay(
        self, known: dict[Kind, Recording], function: Callable[..., Tensor], *arguments: Tensor | None
    ) -> Tensor:
        kind = tuple(None if value is None else (value.shape, value.dtype) for value in arguments)
        if kind not in known:
            state = self.tensors()
            before = [tensor.clone() for tensor in state]
            known[kind] = Recording(function, arguments, self.pool)
            with torch.no_grad():
                for tensor, value in zip(state, before, strict=True):
                    tensor.copy_(value)  # as if the warm-up had not been
                self.refresh()
        return known[kind](*arguments)


class Recording:
    """A function of tensors, captured at these arguments; called, it is replayed at others of the same kind.

    What it returns is overwritten by the next call. Random numbers that the warm-up draws are drawn again.
    """

    def __init__(self, function: Callable[..., Tensor], arguments: tuple[Tensor | None, ...], pool: Any) -> None:
        self.inputs = [None if value is None else value.clone() for value in arguments]
        device = next(value.device for value in self.inputs if value is not None)
        random_numbers = torch.cuda.default_generators[device.index]
        before = random_numbers.get_state()
        for _ in range(WARM_UP):
            function(*self.inputs)
        random_numbers.set_state(before)
        self.graph = torch.cuda.CUDAGraph()
        stream = torch.cuda.current_stream(device)
        try:
            with torch.cuda.graph(self.graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
                self.output = function(*self.inputs)
        except Exception as error:
            if memory_ran_out(error):
                raise
            raise NotRecorded(error) from error

    def __call__(self, *arguments: Tensor | None) -> Tensor:
        for ours, given in zip(self.inputs, arguments, strict=True):
            if ours is not None and given is not None:
                ours.copy_(given, non_blocking=True)
        self.graph.replay()
        return self.output
