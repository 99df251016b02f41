"""ResNet-18 for 32-pixel images, as the papers on CIFAR use it."""

from __future__ import annotations

from typing import ClassVar, final

from torch import Tensor, nn
from torch.nn import functional as F

from dissensus.base.errors import InputError, unknown
from dissensus.models.classifier import Classifier, Shape, is_image, whole

INITS = ("he", "torch")


@final
class ResNet18(Classifier):
    r"""He et al. (2016) with a 3x3 stem of stride 1 and no max-pool: stages of :math:`w, 2w, 4w, 8w` channels.

    With 64 channels, three colours and ten classes it has 11,173,962 parameters. ``init`` says how convolutions begin:
    ``"he"`` (normal, variance :math:`2 / \text{fan-out}`, He et al. 2015), or ``"torch"``, PyTorch's own way (uniform,
    variance :math:`1 / (3 \cdot \text{fan-in})`). Batch norm makes the scale of both the same to the function, but the
    smaller weights of the second turn further in the first steps, and on CIFAR-10H runs end worse
    (``benchmarks/init.py``). Until version 2 it was the default.

    >>> import torch
    >>> model = ResNet18((3, 32, 32), 10)
    >>> sum(parameter.numel() for parameter in model.parameters())
    11173962
    """

    version: ClassVar[int] = 2

    def __init__(self, shape: Shape, n_classes: int, width: int = 64, init: str = "he") -> None:
        super().__init__()
        if init not in INITS:
            raise InputError(unknown("init", init, INITS))
        if not is_image(shape):
            raise InputError(
                "resnet18 needs images of the shape (channels, height, width), but one item has the shape "
                f"{tuple(shape)}. For features use mlp."
            )
        width = whole("width", width, 1)
        self.shape = tuple(shape)
        self.stem = nn.Conv2d(shape[0], width, kernel_size=3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.stages = nn.Sequential(
            Block(width, width, stride=1),
            Block(width, width, stride=1),
            Block(width, 2 * width, stride=2),
            Block(2 * width, 2 * width, stride=1),
            Block(2 * width, 4 * width, stride=2),
            Block(4 * width, 4 * width, stride=1),
            Block(4 * width, 8 * width, stride=2),
            Block(8 * width, 8 * width, stride=1),
        )
        self.head = nn.Linear(8 * width, whole("n_classes", n_classes, 2))
        if init == "he":
            for module in self.modules():
                if isinstance(module, nn.Conv2d):
                    nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def features(self, x: Tensor) -> Tensor:
        x = F.relu(self.norm(self.stem(x)))
        return self.stages(x).mean((2, 3))


class Block(nn.Module):
    """Two 3x3 convolutions beside a shortcut, which is a 1x1 convolution where the shape changes."""

    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, kernel_size=3, stride=stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, kernel_size=3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(after)
        self.shortcut = (
            nn.Identity()
            if stride == 1 and before == after
            else nn.Sequential(
                nn.Conv2d(before, after, kernel_size=1, stride=stride, bias=False), nn.BatchNorm2d(after)
            )
        )

    def forward(self, x: Tensor) -> Tensor:
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))
