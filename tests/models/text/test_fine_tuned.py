from __future__ import annotations

import json
import shutil
from copy import deepcopy
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from dissensus.base.errors import InputError
from dissensus.datasets import Texts
from dissensus.models.text import Encoder, FineTuned, FineTuning, find_encoder, tokens
from dissensus.models.text.loading import load_tokenizer

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")  # DeBERTa is written in it

KINDS = {
    "bert": (transformers.BertConfig, {}),
    "roberta": (transformers.RobertaConfig, {"type_vocab_size": 1, "pad_token_id": 0}),
    "distilbert": (transformers.DistilBertConfig, {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}),
    "electra": (transformers.ElectraConfig, {"embedding_size": 8}),
    "deberta-v2": (transformers.DebertaV2Config, {"type_vocab_size": 0}),
    "gpt2": (transformers.GPT2Config, {"n_embd": 16, "n_layer": 2, "n_head": 2, "pad_token_id": 0}),
}
SMALL = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 32,
    "max_position_embeddings": 64,
}  # fmt: skip


@pytest.fixture(params=KINDS)
def any_encoder(request: pytest.FixtureRequest, tiny_encoder: Path, tmp_path: Path) -> Encoder:
    """Encoders of other families, with the tokenizer of the tiny one."""
    family, other = KINDS[request.param]
    folder = tmp_path / request.param
    for file in tiny_encoder.iterdir():
        if file.name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt"):
            folder.mkdir(exist_ok=True)
            (folder / file.name).write_bytes(file.read_bytes())
    size = len((tiny_encoder / "vocab.txt").read_text().split())
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = family(vocab_size=size, **{**({} if request.param == "gpt2" else SMALL), **other})
        transformers.AutoModel.from_config(config).save_pretrained(folder)
    if request.param != "bert":  # so that a tokenizer of BERT is found beside another model
        about = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]"}
        (folder / "tokenizer_config.json").write_text(json.dumps(about))
    return find_encoder(folder)


def test_any_family_gives_what_transformers_gives(any_encoder: Encoder, pairs: Texts) -> None:
    model = FineTuning(any_encoder, 3)().eval()
    x = tokens(pairs, any_encoder)
    tokenizer = load_tokenizer(any_encoder)
    given = tokenizer(list(pairs.first), list(pairs.second or ()), padding=True, return_tensors="pt")
    if not model.tells_parts:
        given.pop("token_type_ids", None)
    with torch.no_grad():
        torch.testing.assert_close(model(torch.from_numpy(x)), model.net(**given).logits, atol=1e-4, rtol=1e-4)


def test_padding_changes_nothing(any_encoder: Encoder, pairs: Texts) -> None:
    model = FineTuning(any_encoder, 3)().eval()
    x = tokens(pairs, any_encoder)
    longer = np.concatenate([x, np.full((len(x), 2, 9), -1, np.int32)], 2)
    with torch.no_grad():
        found = model(torch.from_numpy(longer))
        torch.testing.assert_close(found, model(torch.from_numpy(x)), atol=1e-4, rtol=1e-4)


def test_encoders_are_graphable_and_decoders_are_not(any_encoder: Encoder) -> None:
    families = {"bert", "roberta", "distilbert", "electra"}
    assert FineTuning(any_encoder, 3).graphable == (any_encoder.name in families)


def test_a_bert_takes_texts_end_to_end(any_encoder: Encoder) -> None:
    make = FineTuning(any_encoder, 3)
    assert make.packs == make().packs == (any_encoder.name == "bert")


def bert(folder: Path, like: Encoder, **config: object) -> Encoder:
    """A BERT with random weights that differs in its config, with the tokenizer of another."""
    shutil.copytree(like.folder, folder)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        about = transformers.BertConfig.from_pretrained(folder, **config)
        transformers.BertModel(about).save_pretrained(folder)
    return find_encoder(folder)


@pytest.mark.parametrize("spread", [0.2, 0.02, 0.002])  # of weights: 0.02 is that of a BERT that is not trained yet
def test_a_bert_that_looks_back_only_does_not(encoder: Encoder, tmp_path: Path, spread: float) -> None:
    for decoder in (True, False):
        one = bert(tmp_path / str(decoder), encoder, is_decoder=decoder, initializer_range=spread)
        assert FineTuning(one, 3).packs is FineTuning(one, 3).graphable is not decoder


def test_a_bert_of_one_part_is_given_its_pairs_padded(encoder: Encoder, pairs: Texts, tmp_path: Path) -> None:
    one = bert(tmp_path / "one-part", encoder, type_vocab_size=1)
    make = FineTuning(one, 3)
    assert not make.packs
    assert make.graphable
    assert torch.isfinite(make()(torch.from_numpy(tokens(pairs, one)))).all()


@pytest.mark.parametrize(
    "config", [{"type_vocab_size": 3}, {"pad_token_id": 5}, {"hidden_act": "relu"}, {"max_position_embeddings": 8}]
)
def test_other_berts_do(encoder: Encoder, tmp_path: Path, config: dict[str, object]) -> None:
    assert FineTuning(bert(tmp_path / "other", encoder, **config), 3).packs


def test_bert_tells_the_two_texts_apart(encoder: Encoder, pairs: Texts) -> None:
    model = FineTuning(encoder, 3)().eval()
    x = torch.from_numpy(tokens(pairs, encoder))
    other = x.clone()
    other[:, 1] = other[:, 1].clamp(max=0)
    with torch.no_grad():
        assert not torch.allclose(model(x), model(other), atol=1e-5)


def test_the_body_is_the_encoder_s_and_the_head_is_drawn(encoder: Encoder) -> None:
    make = FineTuning(encoder, 3)
    torch.manual_seed(0)
    first = make()
    second = make()
    torch.manual_seed(0)
    again = make()
    body = transformers.AutoModel.from_pretrained(encoder.folder).state_dict()
    for name, value in first.net.base_model.state_dict().items():
        torch.testing.assert_close(value, body[name])
    assert torch.equal(first.head.weight, again.head.weight)
    assert not torch.equal(first.head.weight, second.head.weight)
    assert first.head.weight.shape == (3, 16)
    assert first.head.weight.std().item() == pytest.approx(0.2, rel=0.3)  # the encoder's initializer_range


def test_a_head_that_comes_with_the_weights_is_not_used(encoder: Encoder, tmp_path: Path) -> None:
    trained = transformers.BertForSequenceClassification.from_pretrained(encoder.folder, num_labels=3)
    with torch.no_grad():
        trained.classifier.weight.fill_(7.0)
    trained.save_pretrained(tmp_path / "trained")
    for file in encoder.folder.glob("*.*"):
        if not (tmp_path / "trained" / file.name).exists():
            (tmp_path / "trained" / file.name).write_bytes(file.read_bytes())
    for n_classes in (3, 4):
        model = FineTuning(find_encoder(tmp_path / "trained"), n_classes)()
        assert model.head.weight.abs().max() < 2


def test_making_a_factory_draws_no_random_numbers(encoder: Encoder) -> None:
    before = torch.get_rng_state()
    FineTuning(encoder, 3)
    assert torch.equal(torch.get_rng_state(), before)


def test_features_enter_the_last_layer(encoder: Encoder, pairs: Texts) -> None:
    model = FineTuning(encoder, 3)().eval()
    x = torch.from_numpy(tokens(pairs, encoder))
    with torch.no_grad():
        features = model.features(x)
        torch.testing.assert_close(features @ model.head.weight.T + model.head.bias, model(x))
    assert not model.head._forward_pre_hooks


def test_models_of_one_kind_are_told_from_others(encoder: Encoder) -> None:
    a, b = FineTuning(encoder, 3), FineTuning(encoder, 4)
    assert a().kind == a().kind != b().kind


def test_a_plan_says_the_length(encoder: Encoder) -> None:
    assert FineTuned.spelt_out(encoder) == {"encoder": encoder.digest, "length": 64}
    assert FineTuned.spelt_out(encoder, length=10)["length"] == 10
    with pytest.raises(InputError, match="unknown option of fine-tuned 'pooling'"):
        FineTuned.spelt_out(encoder, pooling="cls")


def test_what_cannot_be_loaded_is_told(tiny_encoder: Path, tmp_path: Path) -> None:
    for file in tiny_encoder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"model_type": "bird"}))
    with pytest.raises(InputError, match=r"the text encoder in .* cannot be loaded: "):
        FineTuning(find_encoder(tmp_path), 3)


def test_weights_that_were_cut_off_are_told(tiny_encoder: Path, tmp_path: Path) -> None:
    for file in tiny_encoder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model.safetensors").write_bytes((tiny_encoder / "model.safetensors").read_bytes()[:100])
    with pytest.raises(InputError, match=r"the text encoder in .* cannot be loaded: .*header"):
        FineTuning(find_encoder(tmp_path), 3)


def test_the_factory_s_own_weights_stay(encoder: Encoder) -> None:
    make = FineTuning(encoder, 3)
    before = deepcopy(make.net.state_dict())
    with torch.no_grad():
        for parameter in make().parameters():
            parameter.fill_(0)
    for name, value in make.net.state_dict().items():
        assert torch.equal(value, before[name])
