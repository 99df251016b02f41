"""Products of the Hessian of a model's mean loss with vectors; the Hessian itself is never made."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, cached_property
from typing import Any, TypeAlias, TypedDict, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import grad, jvp, vmap
from torch.nn import functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from dissensus.base.arrays import as_array, as_labels, as_simplex, same_length
from dissensus.base.errors import InputError
from dissensus.diagnostics.determinism import refuse_batch_statistics, refuse_random
from dissensus.diagnostics.directions import normals
from dissensus.diagnostics.forms import Form, NotPlain, Parameters, Point
from dissensus.diagnostics.given import as_inputs, as_model, differentiable
from dissensus.diagnostics.weights import called_with
from dissensus.evaluation.predict import device_of, evaluating, rows
from dissensus.metrics.checks import as_whole
from dissensus.votes import Votes

Array: TypeAlias = Tensor | NDArray[Any]
Loss: TypeAlias = Callable[[Tensor, Tensor], Tensor]  # (outputs, targets) -> one number an item
Total: TypeAlias = Callable[[Parameters, Tensor, Tensor], Tensor]  # (parameters, inputs, targets) -> sum over the items
Product: TypeAlias = Callable[[Total, Parameters, Parameters, Tensor, Tensor], Parameters]

LOOKED_AT = 32  # items on which the model is tested for being a function
LOPSIDED = 1e-3  # of the norm of products: what rounding leaves of a difference of two forms is far smaller


class Options(TypedDict, total=False):
    """What every function of curvature hands on to :class:`Hessian`."""

    loss: Loss
    chunk: int
    precision: str
    product: Product | None


def cross_entropy(logits: Tensor, targets: Tensor) -> Tensor:
    r""":math:`-\sum_k p_{ik} \log q_{ik}` of every item; targets are classes or rows that sum to 1."""
    return F.cross_entropy(logits, targets, reduction="none")


def forward_over_reverse(total: Total, at: Parameters, along: Parameters, x: Tensor, y: Tensor) -> Parameters:
    r"""The derivative of the gradient along each vector (Pearlmutter, 1994): the gradient is computed once for all.

    A convolution costs three of its kind for the gradient and six for its derivative, so :math:`k` vectors at once
    cost :math:`6 + 3/k` each, against 9 for one.
    """

    def derivative(vector: Parameters) -> Parameters:
        return jvp(lambda parameters: grad(total)(parameters, x, y), (at,), (vector,))[1]

    if len(next(iter(along.values()))) == 1:  # vmap over one vector costs more than none
        return _as_rows(derivative(_row(along, 0)))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="There is a performance drop")  # vectors one by one, for some layers
        return vmap(derivative)(along)


def double_backward(total: Total, at: Parameters, along: Parameters, x: Tensor, y: Tensor) -> Parameters:
    """The gradient of the gradient's product with each vector: for models that have no forward derivative."""
    variables = {name: value.detach().requires_grad_() for name, value in at.items()}
    gradient = torch.autograd.grad(total(variables, x, y), list(variables.values()), create_graph=True)
    rows = [
        torch.autograd.grad(gradient, list(variables.values()), vector, retain_graph=True, materialize_grads=True)
        for vector in zip(*along.values(), strict=True)
    ]
    return {name: torch.stack(columns) for name, columns in zip(at, zip(*rows, strict=True), strict=True)}


class Hessian:
    r""":math:`v \mapsto Hv` with :math:`H = \nabla^2_\theta \frac1n \sum_i \ell(f_\theta(x_i), y_i)`, for rows of v.

    By derivatives of the gradient (Pearlmutter, "Fast exact multiplication by the Hessian", 1994): H is never made.
    :math:`\theta` are the parameters that require a gradient, one after the other in the order of ``parameters()``.
    The model works in evaluation mode, with frozen batch-norm, and is in its own modes again after every product.

    ``loss`` gives one number an item. ``chunk`` items go through the model at once, so memory does not grow with the
    items or the vectors; where one chunk holds all items, what is the same for all vectors is computed only once.
    ``precision`` is that of float32 products on a GPU: ``"fp32"``, or ``"tf32"`` by choice. ``product`` is how:
    :func:`forward_over_reverse` or :func:`double_backward`; without it by quadratic forms
    (:mod:`dissensus.diagnostics.forms`) where they are exact for the model, else by forward over reverse, and by double
    backward where the model has no forward derivatives, as an LSTM.

    >>> model = nn.Linear(2, 1, bias=False)
    >>> x = np.array([[2.0, 0.0], [0.0, 1.0]], np.float32)
    >>> hessian = Hessian(model, x, x[:, :1], loss=lambda outputs, targets: (outputs - targets).square().sum(1))
    >>> hessian(torch.eye(2))  # (2 / n) x'x
    tensor([[4., 0.],
            [0., 1.]])
    """

    def __init__(
        self,
        model: nn.Module,
        inputs: Array,
        targets: Array,
        *,
        loss: Loss = cross_entropy,
        chunk: int = 500,
        precision: str = "fp32",
        product: Product | None = None,
    ) -> None:
        self.model = model = differentiable(as_model(model))
        self.device = device_of(model)
        self.precision = _precision(precision, self.device)
        self.parameters = {
            name: self._laid_out(value.detach()) for name, value in model.named_parameters() if value.requires_grad
        }
        self.dtype = _dtype(self.parameters)
        self.inputs = as_inputs(model, inputs)
        self.chunk = as_whole("chunk", chunk, least=1)
        classes = self._look()
        self.targets = _targets(targets, self.dtype, len(self.inputs), classes if loss is cross_entropy else None)
        self.size = sum(value.numel() for value in self.parameters.values())
        self.products = 0
        self._product, self._chosen = product or forward_over_reverse, product is not None
        self._loss = _one_an_item(loss)
        self._kept: tuple[list[int], Point] | None = None
        _forward_mode()

    def __call__(self, vectors: Tensor) -> Tensor:
        """The products with ``vectors``, (vectors, size), in the same shape."""
        vectors = self._rows(vectors)
        parts = self._whole_products if self._chosen or not self._forms_are_exact else self._products_by_forms
        result = torch.zeros_like(vectors)
        with self._looking():
            for rows in parts(self._split(vectors), len(vectors)):
                result += self._joined(rows)
        self.products += len(vectors)
        return result / len(self.inputs)

    def forms(self, vectors: Tensor) -> Tensor:
        """:math:`v'Hv` for every row: by forward passes where that is exact for this model, else from products.

        On 500 images with the small CNN a form took about a third of the time of a product, on one core.
        """
        vectors = self._rows(vectors)
        if not self._forms_are_exact:
            return torch.linalg.vecdot(vectors, self(vectors))
        return torch.stack(list(self._forms(vectors, lambda form: form.value))).sum(0) / len(self.inputs)

    def forms_by_item(self, vectors: Tensor) -> Tensor | None:
        """:math:`v'H_i v` of the loss of every item for every row, (vectors, items): their mean is that of any set of
        items. None where they cannot be told apart: they are for nets whose layers take items one by one.
        """
        vectors = self._rows(vectors)
        if not (self._forms_are_exact and self._items_apart):
            return None
        return torch.cat(list(self._forms(vectors, lambda form: cast(Tensor, form.rows))), 1)

    def _forms(self, vectors: Tensor, part: Callable[[Form], Tensor]) -> Iterator[Tensor]:
        """This part of the forms of all vectors, chunk by chunk."""
        along = self._split(vectors)
        with self._looking():
            for point in self._points():
                yield torch.stack([part(point.form(_row(along, number))) for number in range(len(vectors))])
        self.products += len(vectors)

    def _whole_products(self, along: Parameters, vectors: int) -> Iterator[Parameters]:
        """Chunk by chunk; with k vectors at once a chunk has a k-th of its items."""
        for x, y in self._chunks(max(1, self.chunk // vectors)):
            yield self._taken(along, x, y)

    def _taken(self, along: Parameters, x: Tensor, y: Tensor) -> Parameters:
        """Products on some items; by double backward from the first on that has no forward derivative."""
        try:
            return self._product(self._total, self.parameters, along, x, y)
        except RuntimeError as error:
            if isinstance(error, torch.OutOfMemoryError):
                raise
            if self._chosen or self._product is not forward_over_reverse:
                raise InputError(f"{type(self.model).__name__} cannot be differentiated twice: {error}") from error
        self._product = double_backward
        self._refuse_lopsided()
        return self._taken(along, x, y)

    def _refuse_lopsided(self) -> None:
        """An error unless :math:`u'Hv = v'Hu`: torch's second derivative of a weight norm is wrong (2.13)."""
        x, y = next(self._chunks(min(LOOKED_AT, self.chunk)))
        vectors = self._directions(2)
        products = self._joined(self._taken(self._split(vectors), x, y))
        here, there = torch.linalg.vecdot(vectors, products.flip(0))
        if abs(here - there) > LOPSIDED * products.norm():
            raise InputError(
                f"torch differentiates {type(self.model).__name__} twice, but wrongly: its Hessian is not symmetric. "
                "Weights that are computed from others, as by weight_norm, are made plain by remove_parametrizations."
            )

    def _directions(self, number: int) -> Tensor:
        rows = normals(number * self.size, 0, "forms").reshape(number, self.size)
        return rows.to(self.device, self.dtype, copy=True)

    def _products_by_forms(self, along: Parameters, vectors: int) -> Iterator[Parameters]:
        for point in self._points():
            rows = [point.product(_row(along, number)) for number in range(vectors)]
            yield {name: torch.stack([row[name] for row in rows]) for name in along}

    @cached_property
    def _forms_are_exact(self) -> bool:
        """Compared with a product on a few items: a model may do between its modules what its modules do not tell."""
        x, y = next(self._chunks(min(LOOKED_AT, self.chunk)))
        vector = self._directions(1)
        along = self._split(vector)
        with self._looking(), products_in("fp32", trying=False):
            try:
                point = self._point(x, y)
                told, form = self._joined(_as_rows(point.product(_row(along, 0)))), point.form(_row(along, 0))
            except (NotPlain, RuntimeError) as error:  # the latter where torch has no such derivative
                if isinstance(error, torch.OutOfMemoryError):
                    raise
                return False
            truth = self._joined(self._taken(along, x, y))
        differ = torch.stack([(form.value - (vector * truth).sum()).abs(), (told - truth).norm()])
        sizes = torch.stack([form.size, truth.norm() + form.size / vector.norm()])
        return bool((differ <= torch.finfo(self.dtype).eps ** 0.5 * sizes).all())

    @cached_property
    def _items_apart(self) -> bool:
        """Whether the rows of a form are its items: those of the first half are the form of that half alone."""
        x, y = next(self._chunks(min(LOOKED_AT, self.chunk)))
        along, half = _row(self._split(self._directions(1)), 0), (len(x) + 1) // 2
        with self._looking(), products_in("fp32", trying=False):
            whole, first = self._point(x, y).form(along), self._point(x[:half], y[:half]).form(along)
        if whole.rows is None or first.rows is None:
            return False
        differ = (whole.rows[:half] - first.rows).abs().sum()
        return bool(differ <= torch.finfo(self.dtype).eps ** 0.5 * whole.size)

    def on(self, index: NDArray[np.int64]) -> Hessian:
        """Of the mean loss over these of the items. What was found out about the model need not be again."""
        other = copy.copy(self)
        other.inputs, other.targets = self.inputs[index], self.targets[index]
        other.products, other._kept = 0, None
        return other

    def _points(self) -> Iterator[Point]:
        """A point a chunk; the only one is kept for the next vectors, until the model changes."""
        if len(self.inputs) > self.chunk:
            yield from (self._point(x, y) for x, y in self._chunks(self.chunk))
            return
        versions = [value._version for value in (*self.model.parameters(), *self.model.buffers())]
        if self._kept is None or self._kept[0] != versions:
            self._kept = versions, self._point(*next(self._chunks(self.chunk)))
        yield self._kept[1]

    def _point(self, x: Tensor, y: Tensor) -> Point:
        loss = self._loss  # not self: a point that is kept would hold its Hessian, and its memory, in a circle
        return Point.of(self.model, self.parameters, x, lambda outputs: loss(outputs, y).sum())

    def flat(self, vectors: Sequence[Tensor]) -> Tensor:
        """One row, (1, size), from a list like the parameters."""
        shapes = [value.shape for value in self.parameters.values()]
        if [vector.shape for vector in vectors] != shapes:
            raise InputError(
                f"vectors must have the shapes of the parameters that require a gradient, {_told(shapes)}, but have "
                f"{_told([vector.shape for vector in vectors])}."
            )
        return torch.cat([vector.to(self.device, self.dtype).flatten() for vector in vectors])[None]

    def like_parameters(self, row: Tensor) -> list[Tensor]:
        """A list like the parameters from a row of numbers."""
        return [part[0] for part in self._split(row[None]).values()]

    def _rows(self, vectors: Tensor) -> Tensor:
        if vectors.ndim != 2 or vectors.shape[1] != self.size:
            raise InputError(f"vectors must have the shape (vectors, {self.size}), but have {tuple(vectors.shape)}.")
        return vectors.detach().to(self.device, self.dtype)

    def _joined(self, rows: Parameters) -> Tensor:
        return torch.cat([rows[name].detach().flatten(1) for name in self.parameters], 1)

    def _split(self, vectors: Tensor) -> Parameters:
        sizes = [value.numel() for value in self.parameters.values()]
        return {
            name: part.reshape(len(vectors), *value.shape)
            for (name, value), part in zip(self.parameters.items(), vectors.split(sizes, 1), strict=True)
        }

    def _total(self, parameters: Parameters, x: Tensor, y: Tensor) -> Tensor:
        return self._loss(called_with(self.model, parameters, x), y).sum()

    def _chunks(self, items: int) -> Iterator[tuple[Tensor, Tensor]]:
        for x, y in zip(self.inputs.split(items), self.targets.split(items), strict=True):
            yield self._laid_out(x.to(self.device)), y.to(self.device)

    def _laid_out(self, value: Tensor) -> Tensor:
        """As cuDNN likes it, however the model was trained: fp32 with channels last took 2.4 times as long (H200)."""
        if value.ndim != 4 or self.device.type != "cuda":
            return value
        last = self.precision == "tf32"
        return value.contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)

    def _look(self) -> int:
        """An error unless the model is a function of an item, with logits as its output; their number."""
        x = self.inputs[: min(LOOKED_AT, max(2, self.chunk))].to(self.device)
        with evaluating(self.model), products_in("fp32", trying=False), torch.no_grad():
            refuse_batch_statistics(self.model)
            logits = rows(self.model(x), len(x))
            refuse_random(self.model, x)
        return logits.shape[1]

    @contextmanager
    def _looking(self) -> Iterator[None]:
        off = torch.autocast(self.device.type, enabled=False)
        # attention in one kernel has a gradient, but that has none
        with evaluating(self.model), products_in(self.precision), off, sdpa_kernel(SDPBackend.MATH):
            yield


def hvp(
    model: nn.Module,
    inputs: Array,
    targets: Array,
    vectors: Sequence[Tensor],
    *,
    loss: Loss = cross_entropy,
    chunk: int = 500,
    precision: str = "fp32",
    product: Product | None = None,
) -> list[Tensor]:
    r""":math:`Hv` for the mean loss over the items; ``vectors`` and the result are lists like the parameters.

    See :class:`Hessian` for the options and the method (Pearlmutter, 1994). The Hessian of softmax regression at zero
    weights is :math:`(I/C - 11'/C^2) \otimes \frac1n \sum_i x_i x_i'`:

    >>> model = nn.Linear(1, 2, bias=False)
    >>> _ = nn.init.zeros_(model.weight)
    >>> hvp(model, np.ones((4, 1), np.float32), np.array([0, 1, 1, 1]), [torch.tensor([[1.0], [0.0]])])
    [tensor([[ 0.2500],
            [-0.2500]])]
    """
    hessian = Hessian(model, inputs, targets, loss=loss, chunk=chunk, precision=precision, product=product)
    return hessian.like_parameters(hessian(hessian.flat(vectors))[0])


def _dtype(parameters: Parameters) -> torch.dtype:
    if not parameters:
        raise InputError("the model has no parameters that require a gradient, so there is no curvature to measure.")
    dtypes = {value.dtype for value in parameters.values()}
    if dtypes not in ({torch.float32}, {torch.float64}):
        told = ", ".join(sorted(str(dtype) for dtype in dtypes))
        raise InputError(f"curvature needs all parameters in float32 or all in float64, but they are {told}.")
    return dtypes.pop()


def _targets(targets: Array, dtype: torch.dtype, items: int, classes: int | None) -> Tensor:
    """Targets as a tensor; for the cross-entropy, which has ``classes``, they are classes or rows that sum to 1."""
    if callable(targets):
        raise InputError(
            "targets must be an array, but a delivery was given: what it gives changes with the epoch, and so would "
            "the loss. Pass the distribution, such as votes.frequencies(), or the labels of one epoch, deliver(epoch)."
        )
    if isinstance(targets, Votes):
        raise InputError("targets must be an array, but votes were given. Pass their shares, votes.frequencies().")
    same_length(inputs=range(items), targets=targets)
    if classes is not None:
        array = as_array("targets", targets.detach().cpu() if isinstance(targets, Tensor) else targets)
        if array.ndim == 1:
            return torch.from_numpy(as_labels("targets", array, classes))
        targets = as_simplex("targets", array)
        if targets.shape[1] != classes:
            raise InputError(f"targets have {targets.shape[1]} classes, but the model's outputs have {classes}.")
    targets = torch.as_tensor(targets)
    return targets.to(dtype) if targets.is_floating_point() else targets


def _one_an_item(loss: Loss) -> Loss:
    """The loss, with an error where it is a mean already: the mean of means would be too small by the items."""

    def checked(outputs: Tensor, targets: Tensor) -> Tensor:
        each = loss(outputs, targets)
        if each.shape != outputs.shape[:1]:
            raise InputError(
                f"loss must give one number an item, but gives the shape {tuple(each.shape)} for {len(outputs)} items. "
                "Losses of torch do so with reduction='none', summed over whatever else they have."
            )
        return each

    return checked


def _precision(precision: str, device: torch.device) -> str:
    if precision not in ("fp32", "tf32"):
        raise InputError(f"precision must be fp32 or tf32, but is {precision!r}.")
    if precision == "tf32" and device.type != "cuda":
        raise InputError("precision tf32 is for CUDA devices, but the model is on the CPU. Use fp32.")
    return precision


def _row(along: Parameters, number: int) -> Parameters:
    return {name: rows[number] for name, rows in along.items()}


def _as_rows(one: Parameters) -> Parameters:
    return {name: row[None] for name, row in one.items()}


def _told(shapes: Sequence[torch.Size]) -> str:
    return "[" + ", ".join(str(tuple(shape)) for shape in shapes) + "]"


@cache
def _forward_mode() -> None:
    """Torch compiles some of its forward derivatives when the first is taken, by a way that it calls deprecated."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*torch.jit", category=DeprecationWarning)
        jvp(torch.sin, (torch.zeros(()),), (torch.ones(()),))


@contextmanager
def products_in(precision: str, *, trying: bool = True) -> Iterator[None]:
    """TF32 rounds factors to 11 bits, and cuDNN does so by default; here only where it was chosen.

    ``trying``: cuDNN tries its algorithms for every new shape, which pays where a shape comes again and again.
    """
    with ExitStack() as stack:
        for where, name, value in [*_settings(precision), (torch.backends.cudnn, "benchmark", trying)]:
            stack.callback(_set_again, where, name, getattr(where, name))
            setattr(where, name, value)
        yield


def _settings(precision: str) -> list[tuple[Any, str, Any]]:
    """Where torch is told. Since 2.9 a product has a setting of its own; the older ones cannot be read beside those."""
    products = [torch.backends.cuda.matmul, *(getattr(torch.backends.cudnn, name, None) for name in ("conv", "rnn"))]
    if all(hasattr(product, "fp32_precision") for product in products):
        return [(product, "fp32_precision", "tf32" if precision == "tf32" else "ieee") for product in products]
    return [(where, "allow_tf32", precision == "tf32") for where in (torch.backends.cuda.matmul, torch.backends.cudnn)]


def _set_again(where: Any, name: str, value: Any) -> None:
    if name == "fp32_precision":
        setattr(where, name, "none")  # as torch.backends.fp32_precision says, if that is what it was
    if getattr(where, name) != value:
        setattr(where, name, value)
