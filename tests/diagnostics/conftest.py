"""Models whose Hessian is known: a small batch-norm net, and quadratics with a chosen spectrum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional as F


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@dataclass(frozen=True)
class Known:
    """A model, what it is measured on, and its Hessian in full."""

    model: nn.Module
    inputs: Tensor
    targets: Tensor
    hessian: np.ndarray
    options: dict[str, Any]

    @property
    def values(self) -> np.ndarray:
        return np.linalg.eigvalsh(self.hessian)[::-1]

    @property
    def trace(self) -> float:
        return float(np.trace(self.hessian))

    @property
    def given(self) -> tuple[nn.Module, Tensor, Tensor]:
        return self.model, self.inputs, self.targets


@pytest.fixture(scope="session")
def whole_hessian() -> Callable[[nn.Module, Tensor, Tensor], np.ndarray]:
    return exact_hessian


@pytest.fixture(scope="session")
def batch_norm_net() -> Known:
    """Convolutions and batch-norm in float64, after a few steps of training; the Hessian by double backward, whole."""
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(inplace=True),
        nn.Conv2d(4, 4, 3, padding=1),
        nn.BatchNorm2d(4),
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(36, 3),
    ).double()
    inputs, targets = torch.randn(23, 2, 6, 6).double(), torch.randn(23, 3).double().mul(2).softmax(1)
    optimiser = torch.optim.SGD(model.parameters(), 0.1)
    for _ in range(15):
        optimiser.zero_grad()
        F.cross_entropy(model(inputs), targets).backward()
        optimiser.step()
    model.eval()
    hessian = exact_hessian(model, inputs, targets)
    model.train()
    return Known(model, inputs, targets, hessian, {})


def exact_hessian(model: nn.Module, inputs: Tensor, targets: Tensor) -> np.ndarray:
    names, shapes = zip(*[(name, value.shape) for name, value in model.named_parameters()], strict=True)
    flat = torch.cat([value.detach().flatten() for value in model.parameters()])

    def loss(flat: Tensor) -> Tensor:
        parts = flat.split([shape.numel() for shape in shapes])
        parameters = {name: part.reshape(shape) for name, part, shape in zip(names, parts, shapes, strict=True)}
        return F.cross_entropy(functional_call(model, parameters, (inputs,)), targets)

    return torch.autograd.functional.hessian(loss, flat, vectorize=True).numpy()


def weighted_square(outputs: Tensor, targets: Tensor) -> Tensor:
    return 0.5 * (targets * outputs**2).sum(1)


@pytest.fixture(scope="session")
def quadratic() -> Callable[[np.ndarray], Known]:
    r"""A linear model whose loss is :math:`\frac12 w'Aw`, A with these eigenvalues, in random directions, in float64.

    Item i is an eigenvector, and its weight in the mean loss its eigenvalue: what is minimised need not be convex.
    """

    def made(values: np.ndarray) -> Known:
        values = np.asarray(values, np.float64)
        size = len(values)
        directions = np.linalg.qr(np.random.default_rng(0).standard_normal((size, size)))[0]
        model = nn.Linear(size, 1, bias=False).double()
        return Known(
            model,
            torch.from_numpy(directions),
            torch.from_numpy(values[:, None] * size),
            directions.T @ np.diag(values) @ directions,
            {"loss": weighted_square},
        )

    return made
