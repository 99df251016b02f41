"""The Trainer of Hugging Face transformers, twice: as documented, and with everything that can be switched on."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from peers_job import RECIPE, SEED, Items, Job
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import Dataset
from transformers import EvalPrediction, Trainer, TrainerCallback, TrainingArguments


@dataclass(frozen=True, eq=False)
class Named(Dataset):
    """Items as the dictionaries that the Trainer takes."""

    items: Items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, item: int) -> dict[str, Tensor]:
        image, target = self.items[item]
        return {"images": image, "labels": target}


class SoftLabelTrainer(Trainer):
    memory_format = torch.contiguous_format

    def compute_loss(self, model: nn.Module, inputs: dict[str, Tensor], return_outputs: bool = False, **_: Any) -> Any:
        logits = model(inputs["images"].contiguous(memory_format=self.memory_format))
        loss = F.cross_entropy(logits, inputs["labels"])
        return (loss, {"logits": logits}) if return_outputs else loss


class ChannelsLastTrainer(SoftLabelTrainer):
    memory_format = torch.channels_last


class Tell(TrainerCallback):
    """The Trainer logs its training loss before it evaluates."""

    def __init__(self, job: Job) -> None:
        self.job, self.train_loss = job, float("nan")

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float], **_: Any) -> None:
        self.train_loss = float(logs.get("loss", self.train_loss))

    def on_evaluate(self, args: Any, state: Any, control: Any, metrics: dict[str, float], **_: Any) -> None:
        self.job.clock.end_of_epoch(self.train_loss, metrics["eval_soft_nll"])


def soft_nll(predicted: EvalPrediction) -> dict[str, float]:
    logits, target = (torch.from_numpy(array) for array in (predicted.predictions, predicted.label_ids))
    return {"soft_nll": F.cross_entropy(logits, target).item()}


def hf(job: Job) -> None:
    train(job, SoftLabelTrainer, job.model(), job.as_documented, dataloader_num_workers=job.workers)


def hf_tuned(job: Job) -> None:
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    os.environ["ACCELERATE_DYNAMO_USE_DYNAMIC"] = "false"
    train(
        job,
        ChannelsLastTrainer,
        job.model().to(memory_format=torch.channels_last),
        job.tuned,
        fused=True,
        bf16=True,
        torch_compile=not job.tiny,
        per_device_eval_batch_size=job.held_out_batch,
        dataloader_num_workers=job.all_cores,
        dataloader_persistent_workers=True,
        accelerator_config={"non_blocking": not job.tiny},
        logging_nan_inf_filter=False,  # else every step waits for its loss
    )


def train(
    job: Job, kind: type[SoftLabelTrainer], model: nn.Module, part: Any, fused: bool = False, **given: Any
) -> None:
    """The recipe clips no gradients, and its rate changes from epoch to epoch; the Trainer asks for one every step."""
    optimizer = torch.optim.SGD(
        model.to(job.device).parameters(),
        RECIPE.lr,
        momentum=RECIPE.momentum,
        weight_decay=RECIPE.weight_decay,
        fused=fused or None,
    )
    steps = -(-len(job.images) // RECIPE.batch_size)
    scheduler = LambdaLR(optimizer, lambda step: RECIPE.rate(step // steps) / RECIPE.lr)
    with tempfile.TemporaryDirectory() as folder:
        options = {
            "output_dir": folder,
            "num_train_epochs": job.epochs,
            "per_device_train_batch_size": RECIPE.batch_size,
            "per_device_eval_batch_size": RECIPE.batch_size,
            "max_grad_norm": 0.0,
            "eval_strategy": "epoch",
            "logging_strategy": "epoch",
            "save_strategy": "no",
            "report_to": "none",
            "disable_tqdm": True,
            "remove_unused_columns": False,
            "label_names": ["labels"],
            "dataloader_pin_memory": not job.tiny,
            "use_cpu": job.tiny,
            "seed": SEED,
        }
        trainer = kind(
            model=model,
            args=TrainingArguments(**{**options, **given}),
            train_dataset=Named(part(train=True)),
            eval_dataset=Named(part(train=False)),
            optimizers=(optimizer, scheduler),
            compute_metrics=soft_nll,
            callbacks=[Tell(job)],
        )
        trainer.train()
