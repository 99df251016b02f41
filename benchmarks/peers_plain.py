"""Plain PyTorch: as the tutorials have it, and with all that can be switched on, without and with CUDA graphs."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from peers_job import RECIPE, SEED, Job
from torch.optim.lr_scheduler import CosineAnnealingLR
from torch.utils.data import DataLoader


def plain(job: Job) -> None:
    """fp32 as PyTorch has it (TF32 convolutions), eager, a loss that is read in every step."""
    torch.manual_seed(SEED)
    loader = DataLoader(job.as_documented(train=True), RECIPE.batch_size, shuffle=True, num_workers=job.workers)
    held_out = DataLoader(job.as_documented(train=False), RECIPE.batch_size, num_workers=job.workers)
    model = job.model().to(job.device)
    optimizer = torch.optim.SGD(
        model.parameters(), RECIPE.lr, momentum=RECIPE.momentum, weight_decay=RECIPE.weight_decay
    )
    scheduler = CosineAnnealingLR(optimizer, T_max=RECIPE.epochs)
    for _ in range(job.epochs):
        model.train()
        train_loss = 0.0
        for images, target in loader:
            images, target = images.to(job.device), target.to(job.device)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(images), target)
            loss.backward()
            optimizer.step()
            train_loss += loss.item() * len(target)
        scheduler.step()
        model.eval()
        nll = 0.0
        with torch.no_grad():
            for images, target in held_out:
                images, target = images.to(job.device), target.to(job.device)
                nll += F.cross_entropy(model(images), target).item() * len(target)
        job.clock.end_of_epoch(train_loss / len(loader.dataset), nll / len(held_out.dataset))


def plain_graphs(job: Job) -> None:
    """The same with ``torch.compile``'s own CUDA graphs, as PyTorch's tuning guide advises for small nets."""
    plain_tuned(job, mode="reduce-overhead")


def plain_tuned(job: Job, mode: str = "default") -> None:
    """bf16 autocast, channels_last, compiled, fused SGD, workers that stay, pinned memory, no waiting in a step."""
    torch.manual_seed(SEED)
    torch.backends.cudnn.benchmark = True
    torch.set_float32_matmul_precision("high")
    on_gpu = job.device.type == "cuda"
    pinned = {"pin_memory": on_gpu, "persistent_workers": True}
    loader = DataLoader(job.tuned(train=True), RECIPE.batch_size, shuffle=True, num_workers=job.all_cores, **pinned)
    held_out = DataLoader(job.tuned(train=False), job.held_out_batch, num_workers=min(8, job.all_cores), **pinned)
    model = job.compile(job.model().to(job.device, memory_format=torch.channels_last), mode)
    optimizer = torch.optim.SGD(
        model.parameters(), RECIPE.lr, momentum=RECIPE.momentum, weight_decay=RECIPE.weight_decay, fused=True
    )
    scheduler = CosineAnnealingLR(optimizer, T_max=RECIPE.epochs)
    for _ in range(job.epochs):
        model.train()
        train_loss = torch.zeros((), device=job.device)
        for images, target in loader:
            images = images.to(job.device, memory_format=torch.channels_last, non_blocking=True)
            target = target.to(job.device, non_blocking=True)
            with torch.autocast(job.device.type, torch.bfloat16):
                loss = F.cross_entropy(model(images), target)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            train_loss += loss.detach() * len(target)
        scheduler.step()
        model.eval()
        nll = torch.zeros((), device=job.device)
        with torch.no_grad(), torch.autocast(job.device.type, torch.bfloat16):
            for images, target in held_out:
                images = images.to(job.device, memory_format=torch.channels_last, non_blocking=True)
                target = target.to(job.device, non_blocking=True)
                nll += F.cross_entropy(model(images), target) * len(target)
        job.clock.end_of_epoch(train_loss.item() / len(loader.dataset), nll.item() / len(held_out.dataset))
