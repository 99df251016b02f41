"""Any sequence classifier of Hugging Face, trained as a whole."""

from __future__ import annotations

from collections.abc import Hashable
from copy import deepcopy
from functools import cached_property
from inspect import signature
from typing import Any, ClassVar, final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from dissensus.base.errors import InputError
from dissensus.datasets import Texts
from dissensus.models.classifier import Classifier, Shape, whole
from dissensus.models.text.encoder import Encoder
from dissensus.models.text.loading import load_model, load_tokenizer
from dissensus.models.text.packing import pack, packed_logits
from dissensus.models.text.sentences import Progress
from dissensus.models.text.spelling import spelt
from dissensus.models.text.tokens import Say, tokens

# Two texts, to see how a net takes them. One is the other's beginning: only by attending are they told apart.
TRIED = torch.tensor([[[5, 6, 7], [0, 1, 1]], [[5, 6, -1], [0, 1, -1]]])


@final
class FineTuned(Classifier):
    """A transformer with a classification head: :func:`~dissensus.models.text.tokens` in, logits out.

    ``kind`` is equal for models that differ in their weights alone. ``graphable`` says whether its forward pass is one
    that a CUDA graph can hold, ``packs`` whether it also takes texts end to end, as
    :func:`~dissensus.models.text.packing.pack` lays them: it then trains on these, in half the time.
    """

    version: ClassVar[int] = 1
    mixes: ClassVar[bool] = False  # two texts have no middle

    def __init__(self, net: Any, padding: int, kind: Hashable, graphable: bool, packs: bool = False) -> None:
        super().__init__()
        self.net: Any = net
        self.padding, self.kind, self.graphable, self.packs = padding, kind, graphable, packs
        two_parts = getattr(net.config, "type_vocab_size", 0) > 1  # BERT tells the two texts of a pair apart by it
        self.tells_parts = two_parts and "token_type_ids" in signature(net.forward).parameters

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[1] == 3:
            return packed_logits(self.net, x, self.padding)
        real = x[:, 0] >= 0
        given = {"input_ids": x[:, 0].masked_fill(~real, self.padding), "attention_mask": self.mask(real)}
        if self.tells_parts:
            given["token_type_ids"] = x[:, 1].clamp(min=0)
        return self.net(**given).logits

    def mask(self, real: Tensor) -> Tensor:
        """Which places may be attended to: (items, 1, from, to), or (items, places) where the net wants it so.

        Of the latter transformers asks whether anything is masked at all, for which a GPU is waited for.
        """
        return real[:, None, None, :].expand(-1, 1, real.shape[1], -1) if self.graphable else real.long()

    def features(self, x: Tensor) -> Tensor:
        """What enters the last linear layer."""
        seen: list[Tensor] = []
        hook = self.head.register_forward_pre_hook(lambda _, given: seen.append(given[0]))
        try:
            self(x)
        finally:
            hook.remove()
        return seen[0]

    @property
    def head(self) -> nn.Linear:  # type: ignore[override]
        return [module for module in self.net.modules() if isinstance(module, nn.Linear)][-1]

    @classmethod
    def spelt_out(cls, encoder: Encoder, **options: Any) -> dict[str, Any]:
        """The options with what they leave to the encoder: what a plan says of the model."""
        return spelt("fine-tuned", {}, encoder, options)

    @classmethod
    def inputs(
        cls,
        texts: Texts,
        encoder: Encoder,
        progress: Progress = lambda done, of: None,
        say: Say = lambda line: None,
        *,
        length: int,
        **options: Any,
    ) -> NDArray[np.int32]:
        """What it is trained on: tokens, (items, 2, places)."""
        return tokens(texts, encoder, length, say)

    @classmethod
    def factory(cls, encoder: Encoder, shape: Shape, n_classes: int, **options: Any) -> FineTuning:
        return FineTuning(encoder, n_classes)


class FineTuning:
    """A factory of fresh models: the encoder's weights, and a head drawn anew from torch's random numbers.

    A head that comes with the weights is not used: its classes may be others, or the same in another order.
    """

    def __init__(self, encoder: Encoder, n_classes: int) -> None:
        whole("n_classes", n_classes, 2)
        self.net, loaded = load_model(
            "AutoModelForSequenceClassification",
            encoder,
            num_labels=n_classes,
            ignore_mismatched_sizes=True,
            output_loading_info=True,
        )
        body = self.net.base_model
        if body is self.net or not loaded_any(self.net, loaded["missing_keys"]):
            raise InputError(
                f"{encoder.folder} cannot be fine-tuned: transformers finds no weights of a "
                f"{type(self.net).__name__} in it."
            )
        inside = {id(module) for module in body.modules()}
        lost = {name.rpartition(".")[0] for name in loaded["missing_keys"]}
        self.fresh = [
            name for name, module in self.net.named_modules()
            if not list(module.children()) and (id(module) not in inside or name in lost)
        ]  # fmt: skip
        padding = load_tokenizer(encoder).pad_token_id
        self.net.config.pad_token_id = self.padding = 0 if padding is None else padding
        self.kind = (encoder.digest, n_classes)

    def __call__(self) -> FineTuned:
        model = FineTuned(deepcopy(self.net), self.padding, self.kind, self.graphable, self.packs)
        modules = dict(model.net.named_modules())
        for name in self.fresh:
            for parameter in modules[name].parameters():
                parameter._is_hf_initialized = False  # or transformers would leave it as it is
            with torch.no_grad():
                model.net._init_weights(modules[name])
        return model

    @cached_property
    def graphable(self) -> bool:
        """Whether the net takes a mask of (items, 1, from, to), and gives the same with it."""
        return self._same(TRIED, as_4d=True)

    @cached_property
    def packs(self) -> bool:
        """Whether it is a BERT, and says the same of texts that lie end to end."""
        bert = self.net.config.model_type == "bert" and "token_type_ids" in signature(self.net.forward).parameters
        return bert and self._same(pack(TRIED, longest=3, total=5), as_4d=False)

    def _same(self, x: Tensor, as_4d: bool) -> bool:
        """Whether two texts given so come to the logits that they have as transformers would have them.

        By how far they are apart: of a net that is not trained yet all logits are near 0, and what is wrong is small.
        """
        try:
            with torch.no_grad():
                plain = FineTuned(self.net, self.padding, self.kind, graphable=False)(TRIED)
                other = FineTuned(self.net, self.padding, self.kind, as_4d)(x)
        except (RuntimeError, ValueError, IndexError, TypeError, AttributeError):
            return False
        return bool((plain - other).abs().max() <= 1e-3 * (plain[0] - plain[1]).abs().max())


def loaded_any(net: nn.Module, missing: Any) -> bool:
    return len(missing) < len(net.state_dict())
