"""How runs are carried out, as a value; never what they are. Needs no torch."""

from __future__ import annotations

from dataclasses import dataclass, fields

from dissensus.base.errors import InputError


@dataclass(frozen=True)
class Engine:
    """Techniques that make a run faster and leave its recipe alone; each can be switched off to see what it is worth.

    ``resident``: inputs, the images of an epoch and its labels lie on the device; off, they lie in host memory and
    each batch is copied.
    ``channels_last``: the channels of a pixel are neighbours in memory.
    ``graph``: on CUDA a whole step (forward, backward, update) is one graph for each size of batch that occurs.
    ``compile``: on CUDA the forward and backward pass go through ``torch.compile``, once per kind of model.
    ``kernels``: on CUDA the fused kernels of this package, where a model has them.

    On a CPU the last three mean nothing.

    >>> Engine(graph=1)
    Traceback (most recent call last):
    dissensus.base.errors.InputError: graph must be True or False, but is 1.
    """

    resident: bool = True
    channels_last: bool = True
    graph: bool = True
    compile: bool = False
    kernels: bool = True

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not isinstance(value, bool):
                raise InputError(f"{field.name} must be True or False, but is {value!r}.")
