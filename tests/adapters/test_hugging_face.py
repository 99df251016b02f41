from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F

pytest.importorskip("accelerate")
transformers = pytest.importorskip("transformers")

from accelerate import skip_first_batches  # noqa: E402
from accelerate.data_loader import prepare_data_loader  # noqa: E402

from dissensus.adapters.hugging_face import (  # noqa: E402
    DeliversVotes,
    LabelsWithBatch,
    Unlabelled,
    VotesTrainer,
    refuse_unheeded,
)
from dissensus.adapters.torch import EpochSampler, Shuffled  # noqa: E402
from dissensus.base.errors import InputError  # noqa: E402
from dissensus.base.streams import permutation  # noqa: E402
from dissensus.delivery import MajorityVote, Multipass, Soft, StochasticLabelSampling  # noqa: E402
from dissensus.votes import Votes  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:.*pin_memory:UserWarning", "ignore:.*fork:DeprecationWarning")

TEXTS = [f"{who} {what} ." for who in ("a man", "the dog", "a cat", "somebody") for what in ("sleeps", "runs", "eats")]
N = len(TEXTS)
VOTES = Votes.from_counts(np.random.default_rng(0).integers(0, 4, (N, 3)) + np.eye(3, dtype=np.int64)[np.arange(N) % 3])


@pytest.fixture
def model(tiny_encoder: Path) -> Any:
    torch.manual_seed(0)
    return transformers.AutoModelForSequenceClassification.from_pretrained(tiny_encoder, num_labels=3)


@pytest.fixture
def tokenizer(tiny_encoder: Path) -> Any:
    return transformers.AutoTokenizer.from_pretrained(tiny_encoder)


@pytest.fixture
def items(tokenizer: Any) -> list[dict[str, Any]]:
    """As people have them: of several lengths, with a label and a column that the model does not take."""
    return [dict(tokenizer(text)) | {"label": 2, "text": text} for text in TEXTS]


def arguments(tmp_path: Path, **options: Any) -> Any:
    given = {
        "output_dir": str(tmp_path), "num_train_epochs": 3, "per_device_train_batch_size": 5, "report_to": [],
        "save_strategy": "no", "disable_tqdm": True, "use_cpu": True, "dataloader_pin_memory": False, "seed": 7,
        "logging_strategy": "no",
    }  # fmt: skip
    return transformers.TrainingArguments(**given | options)


class Seen(VotesTrainer):
    """Keeps what the model was trained on: the inputs of every batch, its labels and its loss."""

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)
        self.batches: list[tuple[torch.Tensor, torch.Tensor, float]] = []

    def compute_loss(self, model: Any, inputs: Any, return_outputs: bool = False, **options: Any) -> Any:
        labels, ids = inputs["labels"], inputs["input_ids"]
        found = super().compute_loss(model, inputs, return_outputs, **options)
        self.batches.append((ids, labels, float((found[0] if return_outputs else found).detach())))
        return found


@pytest.mark.parametrize(("delivery", "workers"), [(Soft, 2), (StochasticLabelSampling, 0), (Multipass, 2)])
def test_every_epoch_has_the_labels_of_its_delivery(
    model, tokenizer, items, tmp_path: Path, delivery: Any, workers: int
) -> None:
    deliver = delivery(VOTES, seed=0)
    args = arguments(tmp_path, dataloader_num_workers=workers, dataloader_persistent_workers=workers > 0)
    trainer = Seen(model, args, train_dataset=items, processing_class=tokenizer, deliver=deliver)
    trainer.train()
    assert len(trainer.batches) == 9
    for epoch in range(3):
        order = permutation(N, 7, "order", epoch)
        got = trainer.batches[3 * epoch : 3 * epoch + 3]
        np.testing.assert_array_equal(torch.cat([labels for _, labels, _ in got]).numpy(), deliver(epoch, order))
        words = [text for ids, _, _ in got for text in tokenizer.batch_decode(ids, skip_special_tokens=True)]
        assert words == [TEXTS[item].replace(" .", ".") for item in order]


def test_the_stock_trainer_takes_rows_for_independent_classes_and_ours_does_not(
    model, tokenizer, items, tmp_path: Path
) -> None:
    """The pitfall that this file is for: the same model, the same rows, two losses."""
    human = VOTES.frequencies().astype(np.float32)
    labelled = [
        {name: item[name] for name in ("input_ids", "attention_mask", "token_type_ids")} | {"labels": row.tolist()}
        for item, row in zip(items, human, strict=True)
    ]
    model.eval()
    with torch.no_grad():
        logits = model(**tokenizer.pad(labelled, return_tensors="pt", padding=True).to("cpu")).logits
    rows = torch.from_numpy(human)
    both = [F.binary_cross_entropy_with_logits(logits, rows).item(), F.cross_entropy(logits, rows).item()]
    assert both[0] != pytest.approx(both[1], rel=0.1)

    options = {"eval_dataset": labelled, "processing_class": tokenizer}
    args = arguments(tmp_path, per_device_eval_batch_size=N)
    stock = transformers.Trainer(model, args, **options)
    assert stock.evaluate()["eval_loss"] == pytest.approx(both[0], rel=1e-4)
    assert model.config.problem_type == "multi_label_classification"  # set by the first batch, and kept from then on
    ours = VotesTrainer(model, args, train_dataset=items, deliver=Soft(VOTES), **options)
    assert ours.evaluate()["eval_loss"] == pytest.approx(both[1], rel=1e-4)


@pytest.mark.parametrize(
    ("delivery", "problem_type"),
    [(Soft, None), (Soft, "regression"), (MajorityVote, "multi_label_classification")],
)
def test_the_loss_is_cross_entropy_whatever_the_model_thinks(
    model, tokenizer, items, tmp_path: Path, delivery: Any, problem_type: str | None
) -> None:
    model.config.problem_type = problem_type
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    deliver = delivery(VOTES, seed=0)
    args = arguments(tmp_path, num_train_epochs=1, per_device_train_batch_size=N, learning_rate=0.0)
    trainer = Seen(model, args, train_dataset=items, processing_class=tokenizer, deliver=deliver)
    trainer.train()
    ((ids, labels, loss),) = trainer.batches
    mask = (ids != tokenizer.pad_token_id).long()
    with torch.no_grad():
        logits = model.train()(input_ids=ids, attention_mask=mask).logits
    assert loss == pytest.approx(F.cross_entropy(logits, labels).item(), rel=0.05)  # attention drops out still


@pytest.mark.parametrize("delivery", [Soft, MajorityVote])
def test_accumulated_steps_weigh_items_and_not_batches(
    tiny_encoder: Path, tokenizer, items, tmp_path: Path, delivery: Any
) -> None:
    """Twelve items at once, and in batches of 5, 5 and 2: the same gradient, so the same weights after one step."""
    states = []
    for size, steps in ((N, 1), (5, 3)):
        torch.manual_seed(0)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(
            tiny_encoder, num_labels=3, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0
        )
        args = arguments(
            tmp_path, num_train_epochs=1, per_device_train_batch_size=size, gradient_accumulation_steps=steps,
            optim="sgd", learning_rate=0.5, lr_scheduler_type="constant", max_grad_norm=0.0,
        )  # fmt: skip
        VotesTrainer(model, args, train_dataset=items, processing_class=tokenizer, deliver=delivery(VOTES)).train()
        states.append(model.state_dict())
    for name, value in states[0].items():
        torch.testing.assert_close(states[1][name], value, rtol=1e-4, atol=1e-5)


def test_a_run_that_is_resumed_goes_on_with_the_labels_of_its_epoch(model, tokenizer, items, tmp_path: Path) -> None:
    deliver = Multipass(VOTES, seed=0)
    args = arguments(tmp_path, save_strategy="steps", save_steps=4)  # in the middle of the second epoch
    whole = Seen(model, args, train_dataset=items, processing_class=tokenizer, deliver=deliver)
    whole.train()
    again = Seen(model, args, train_dataset=items, processing_class=tokenizer, deliver=deliver)
    again.train(resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    assert len(again.batches) == 5
    for (ids, labels, _), (same_ids, same_labels, _) in zip(again.batches, whole.batches[4:], strict=True):
        assert torch.equal(ids, same_ids)
        assert torch.equal(labels, same_labels)


def test_the_sampler_of_two_processes_is_told_the_epoch_that_they_resume_in(items) -> None:
    """It is in one wrapper more than accelerate looks into."""
    deliver, sampler, found = Multipass(VOTES, seed=0), EpochSampler(Shuffled(N, seed=7)), []
    trained = Unlabelled(items, N)
    trained.sampler = sampler
    loader = torch.utils.data.DataLoader(
        trained, 3, sampler=sampler, collate_fn=LabelsWithBatch(lambda given: {}, deliver)
    )
    for process in range(2):  # batches go to them in turn, and each leaves out the first of its two
        rest = skip_first_batches(prepare_data_loader(loader, num_processes=2, process_index=process), 1)
        rest.set_epoch(2)
        found += [batch["labels"] for batch in rest]
    np.testing.assert_array_equal(torch.cat(found), deliver(2, permutation(N, 7, "order", 2)[6:]))


TWO_PROCESSES = """
import json, os, sys
import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification, TrainingArguments
from dissensus import Multipass, Votes
from dissensus.adapters.hugging_face import VotesTrainer

class Seen(VotesTrainer):
    def compute_loss(self, model, inputs, *given, **options):
        batches.append([self.state.epoch, inputs["input_ids"][:, 0].tolist(), inputs["labels"].tolist()])
        return super().compute_loss(model, inputs, *given, **options)

def train(checkpoint):
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=24, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8, num_labels=3
    )
    arguments = TrainingArguments(
        "out", num_train_epochs=4, per_device_train_batch_size=4, save_steps=7, report_to=[], disable_tqdm=True,
        use_cpu=True, dataloader_pin_memory=False, logging_strategy="no",
    )
    dataset = [{"input_ids": [item], "attention_mask": [1]} for item in range(24)]
    model = BertForSequenceClassification(config)
    Seen(model, arguments, train_dataset=dataset, deliver=deliver).train(resume_from_checkpoint=checkpoint)

deliver = Multipass(Votes.from_counts([[3, 2, 1]] * 24), seed=0)
for name, checkpoint in (("whole", None), ("again", "out/checkpoint-7")):  # in the middle of the third epoch
    batches = []
    train(checkpoint)
    for epoch, items, labels in batches:
        assert labels == deliver(int(epoch + 1e-6), items).tolist(), (name, epoch)
    with open(f"{name}{os.environ['RANK']}.json", "w") as file:
        json.dump(batches, file)
torch.distributed.destroy_process_group()  # or Gloo's threads may abort the process at its end
"""


def test_two_processes_that_are_resumed_go_on_with_the_labels_of_their_epoch(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TWO_PROCESSES)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "train.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen = {path.stem: json.loads(path.read_text()) for path in tmp_path.glob("*.json")}
    for rank in "01":
        assert seen[f"again{rank}"] == seen[f"whole{rank}"][7:]
        assert len(seen[f"again{rank}"]) == 5
    third = [item for rank in "01" for _, items, _ in seen[f"whole{rank}"][6:9] for item in items]
    assert sorted(third) == list(range(24))


def test_a_trainer_of_one_s_own_is_mixed_with(model, tokenizer, items, tmp_path: Path) -> None:
    class Own(transformers.Trainer):
        def log(self, logs: dict[str, float], *given: Any) -> None:
            told.append(logs)

    class Both(DeliversVotes, Own): ...

    told: list[dict[str, float]] = []
    args = arguments(tmp_path, num_train_epochs=1)
    Both(model, args, train_dataset=items, processing_class=tokenizer, deliver=Soft(VOTES)).train()
    assert told


def test_evaluation_batches_are_left_alone(items) -> None:
    collate = LabelsWithBatch(lambda given: given, Soft(VOTES))
    assert collate([{"labels": 1}, {"labels": 0}]) == [{"labels": 1}, {"labels": 0}]


def test_a_batch_over_the_end_of_an_epoch_has_labels_of_both(items) -> None:
    deliver = StochasticLabelSampling(VOTES, seed=0)
    collate = LabelsWithBatch(lambda given: {}, deliver)
    dataset = Unlabelled(items, N)
    found = collate([dataset[0, 3], dataset[1, 5]])["labels"]
    assert found.tolist() == [deliver(0)[3], deliver(1)[5]]


def test_mistakes_are_told(model, tokenizer, items, tmp_path: Path) -> None:
    args, deliver = arguments(tmp_path), Soft(VOTES)
    with pytest.raises(InputError, match="the train_dataset has 11 items, but the delivery has 12"):
        VotesTrainer(model, args, train_dataset=items[1:], processing_class=tokenizer, deliver=deliver)
    with pytest.raises(InputError, match="votes were given, but a delivery was expected"):
        VotesTrainer(model, args, train_dataset=items, processing_class=tokenizer, deliver=VOTES)
    with pytest.raises(InputError, match=r"the class Multipass was given, but a delivery was expected, such as Multip"):
        VotesTrainer(model, args, train_dataset=items, processing_class=tokenizer, deliver=Multipass)
    with pytest.raises(InputError, match=r"VotesTrainer trains on .*: pass deliver=.*Multipass\(votes, seed=0\)"):
        VotesTrainer(model, args, train_dataset=items, processing_class=tokenizer)
    with pytest.raises(InputError, match="needs a train_dataset whose items have positions"):
        VotesTrainer(model, args, processing_class=tokenizer, deliver=deliver)
    with pytest.raises(InputError, match="compute_loss_func and deliver both say what the loss is"):
        VotesTrainer(model, args, train_dataset=items, compute_loss_func=print, deliver=deliver)
    with pytest.raises(InputError, match="must be mappings, such as a tokenizer gives, but item 3 is of type tuple"):
        Unlabelled([(1, 2)] * N, N)[0, 3]
    two = Soft(np.full((N, 2), 0.5))
    with pytest.raises(
        InputError, match="the model tells 3 classes apart, but the votes have 2; make it with num_labe"
    ):
        VotesTrainer(model, args, train_dataset=items, processing_class=tokenizer, deliver=two).train()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"label_smoothing_factor": 0.1},
            r"has no effect on what a delivery gives.*LabelSmoothing\(votes, epsilon=...\)",
        ),
        ({"train_sampling_strategy": "group_by_length"}, 'would set the order.*"random" or "sequential"'),
    ],
)
def test_arguments_that_would_have_no_effect_are_refused(model, tokenizer, items, tmp_path: Path, options, message):
    args = arguments(tmp_path, **options)
    with pytest.raises(InputError, match=message):
        VotesTrainer(model, args, train_dataset=items, processing_class=tokenizer, deliver=Soft(VOTES))


def test_batches_by_length_are_refused_as_early_releases_ask_for_them():
    refuse_unheeded(SimpleNamespace(label_smoothing_factor=0.0, group_by_length=False))
    with pytest.raises(InputError, match=r"^group_by_length=True would set the order of batches, .* Leave it at False"):
        refuse_unheeded(SimpleNamespace(label_smoothing_factor=0.0, group_by_length=True))


def test_items_are_in_their_order_where_that_is_asked_for(model, tokenizer, items, tmp_path: Path) -> None:
    args = arguments(tmp_path, train_sampling_strategy="sequential", num_train_epochs=2)
    deliver = Multipass(VOTES, seed=0)
    trainer = Seen(model, args, train_dataset=items, processing_class=tokenizer, deliver=deliver)
    trainer.train()
    found = torch.cat([labels for _, labels, _ in trainer.batches]).tolist()
    assert found == [*deliver(0).tolist(), *deliver(1).tolist()]


def test_the_train_dataset_of_a_trainer_can_be_predicted_and_evaluated(model, tokenizer, items, tmp_path: Path) -> None:
    args = arguments(tmp_path)
    trainer = VotesTrainer(model, args, train_dataset=items, processing_class=tokenizer, deliver=Soft(VOTES))
    found = trainer.predict(trainer.train_dataset)
    np.testing.assert_array_equal(found.label_ids, [2] * N)  # the labels that the items have of their own
    np.testing.assert_array_equal(found.predictions, trainer.predict(items).predictions)
    assert trainer.evaluate(trainer.train_dataset)["eval_loss"] == trainer.evaluate(items)["eval_loss"]
