"""Lightning, twice: as its documentation has it, and with everything that can be switched on."""

from __future__ import annotations

import tempfile
from typing import Any

import torch
import torch.nn.functional as F
from peers_job import RECIPE, SEED, Job
from torch import Tensor, nn
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader

try:
    import lightning as L
except ImportError:  # its older name, under which it is still published
    import pytorch_lightning as L


class LitClassifier(L.LightningModule):
    def __init__(self, model: nn.Module, fused: bool, memory_format: torch.memory_format) -> None:
        super().__init__()
        self.model, self.fused, self.memory_format = model, fused, memory_format

    def loss(self, batch: tuple[Tensor, Tensor]) -> Tensor:
        images, target = batch
        return F.cross_entropy(self.model(images.contiguous(memory_format=self.memory_format)), target)

    def training_step(self, batch: tuple[Tensor, Tensor], index: int) -> Tensor:
        loss = self.loss(batch)
        self.log("train_loss", loss, on_step=False, on_epoch=True)
        return loss

    def validation_step(self, batch: tuple[Tensor, Tensor], index: int) -> None:
        self.log("soft_nll", self.loss(batch), on_step=False, on_epoch=True)

    def configure_optimizers(self) -> dict[str, Any]:
        optimizer = torch.optim.SGD(
            self.parameters(),
            RECIPE.lr,
            momentum=RECIPE.momentum,
            weight_decay=RECIPE.weight_decay,
            fused=self.fused or None,
        )
        return {"optimizer": optimizer, "lr_scheduler": CosineAnnealingLR(optimizer, T_max=RECIPE.epochs)}


class Tell(L.Callback):
    """Validation is over when an epoch of training ends, so both numbers are there."""

    def __init__(self, job: Job) -> None:
        self.job = job

    def on_train_epoch_end(self, trainer: L.Trainer, pl_module: L.LightningModule) -> None:
        measured = trainer.callback_metrics
        self.job.clock.end_of_epoch(measured["train_loss"].item(), measured["soft_nll"].item())


def lightning(job: Job) -> None:
    loader = DataLoader(job.as_documented(train=True), RECIPE.batch_size, shuffle=True, num_workers=job.workers)
    held_out = DataLoader(job.as_documented(train=False), RECIPE.batch_size, num_workers=job.workers)
    module = LitClassifier(job.model(), fused=False, memory_format=torch.contiguous_format)
    fit(job, module, loader, held_out)


def lightning_tuned(job: Job) -> None:
    torch.set_float32_matmul_precision("high")
    pinned = {"pin_memory": job.device.type == "cuda", "persistent_workers": True}
    loader = DataLoader(job.tuned(train=True), RECIPE.batch_size, shuffle=True, num_workers=job.all_cores, **pinned)
    held_out = DataLoader(job.tuned(train=False), job.held_out_batch, num_workers=min(8, job.all_cores), **pinned)
    model = job.compile(job.model().to(memory_format=torch.channels_last))
    module = LitClassifier(model, fused=True, memory_format=torch.channels_last)
    fit(job, module, loader, held_out, precision="bf16-mixed", benchmark=True, num_sanity_val_steps=0)


def fit(job: Job, module: LitClassifier, loader: DataLoader, held_out: DataLoader, **options: Any) -> None:
    """No files, no bar: nobody else writes or draws any either."""
    L.seed_everything(SEED, verbose=False)
    with tempfile.TemporaryDirectory() as folder:
        trainer = L.Trainer(
            max_epochs=job.epochs,
            accelerator="cpu" if job.tiny else "gpu",
            devices=1,
            callbacks=[Tell(job)],
            default_root_dir=folder,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            **options,
        )
        trainer.fit(module, loader, held_out)
