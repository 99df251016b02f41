"""On a CPU, is ``dissensus.fit`` at least as fast as the loop that one would write in plain PyTorch?

    python benchmarks/plain_loop.py                                   # 2,400 glyphs, 10 epochs, three repeats
    python benchmarks/plain_loop.py --items 300 --epochs 2 --dry      # a quick look

small-cnn with the same initial weights, soft labels, the recipe of the demo and flips, and the held-out glyphs
evaluated after every epoch, with the same number of threads. "plain" is a DataLoader over a TensorDataset, crop and
flip of a batch by one gather (image by image would be slower), and SGD as it comes. "tuned" has channels-last memory,
fused SGD and a sampler that gives whole batches instead of items. Whole runs are timed, set-up included; contestants
take turns, and the ratio is taken turn by turn. "times" is the other's time over ours: above 1, ours is faster.
Processor time is told beside: with one thread it does not depend on what else the machine does.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from measure import write_result
from torch import Tensor, nn
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, TensorDataset

from dissensus import Soft, Votes, load
from dissensus.models import make
from dissensus.training import Recipe, fit
from dissensus.training.randomness import private_randomness

SEED = 0
APART = 0.15  # nats that the soft NLLs may be apart: the orders of the batches differ, and so do the crops


@dataclass(frozen=True)
class Job:
    images: Tensor
    votes: Votes
    target: Tensor
    held_out_images: Tensor
    held_out_target: Tensor
    recipe: Recipe
    make_model: Callable[[], nn.Module]

    @classmethod
    def of_glyphs(cls, items: int, epochs: int) -> Job:
        data = load("glyphs", items=items)
        train, held_out = data.votes.split(0.2, seed=SEED)
        images, target = torch.from_numpy(data.inputs), torch.from_numpy(data.votes.frequencies()).float()
        return cls(
            images=images[train],
            votes=data.votes.take(train),
            target=target[train],
            held_out_images=images[held_out],
            held_out_target=target[held_out],
            recipe=Recipe(epochs=epochs, batch_size=64, crop=1, flip=True, mean=(0.5,) * 3, std=(0.25,) * 3),
            make_model=make("small-cnn", data.inputs.shape[1:], data.votes.n_classes),
        )


def dissensus(job: Job) -> float:
    """The last epoch's soft NLL on the held-out items, here and below."""
    held_out = (job.held_out_images, job.held_out_target.double())
    fitted = fit(job.make_model, job.images, Soft(job.votes), job.recipe, seed=SEED, held_out=held_out)
    return fitted.history[-1]["soft_nll"]


def plain(job: Job, tuned: bool = False) -> float:
    recipe, items = job.recipe, TensorDataset(job.images, job.target)
    if tuned:
        batches = BatchSampler(RandomSampler(items), recipe.batch_size, drop_last=False)
        loader = DataLoader(items, sampler=batches, batch_size=None)
    else:
        loader = DataLoader(items, batch_size=recipe.batch_size, shuffle=True)
    held_out = DataLoader(TensorDataset(job.held_out_images, job.held_out_target), batch_size=512)
    memory_format = torch.channels_last if tuned else torch.contiguous_format
    with private_randomness() as reseed:
        reseed(SEED, "init")
        model = job.make_model().to(memory_format=memory_format)
    optimizer = torch.optim.SGD(
        model.parameters(),
        recipe.lr,
        momentum=recipe.momentum,
        weight_decay=recipe.weight_decay,
        fused=tuned or None,
    )
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=recipe.epochs)
    mean, std = (torch.tensor(numbers).view(1, -1, 1, 1) for numbers in (recipe.mean, recipe.std))

    def prepare(images: Tensor) -> Tensor:
        return ((images.float() / 255 - mean) / std).contiguous(memory_format=memory_format)

    torch.manual_seed(SEED)
    for _ in range(recipe.epochs):
        model.train()
        train_loss = 0.0
        for images, target in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(prepare(crop_and_flip(images, recipe.crop))), target)
            loss.backward()
            optimizer.step()
            train_loss += loss.item() * len(target)
        scheduler.step()
        model.eval()
        nll = 0.0
        with torch.no_grad():
            for images, target in held_out:
                nll += F.cross_entropy(model(prepare(images)), target).item() * len(target)
    return nll / len(job.held_out_target)


def crop_and_flip(images: Tensor, pad: int) -> Tensor:
    n, channels, height, width = images.shape
    top, left = torch.randint(2 * pad + 1, (2, n, 1, 1, 1))
    item, channel = torch.arange(n).view(-1, 1, 1, 1), torch.arange(channels).view(1, -1, 1, 1)
    row, column = top + torch.arange(height).view(1, 1, -1, 1), left + torch.arange(width)
    images = F.pad(images, (pad,) * 4)[item, channel, row, column]
    return torch.where(torch.rand(n, 1, 1, 1) < 0.5, images.flip(3), images)


CONTESTANTS: dict[str, Callable[[Job], float]] = {
    "dissensus": dissensus,
    "plain": plain,
    "tuned": lambda job: plain(job, tuned=True),
}


def compare(job: Job, threads: int, repeats: int) -> dict[str, Any]:
    """Every contestant ``repeats`` times, taking turns, after a short run of each that is not counted."""
    torch.set_num_threads(threads)
    seconds: dict[str, list[float]] = {who: [] for who in CONTESTANTS}
    processor: dict[str, list[float]] = {who: [] for who in CONTESTANTS}
    nll: dict[str, float] = {}
    short = Job.of_glyphs(items=300, epochs=1)
    for train in CONTESTANTS.values():
        train(short)
    for _ in range(repeats):
        for who, train in CONTESTANTS.items():
            started, used = time.perf_counter(), time.process_time()
            nll[who] = train(job)
            seconds[who].append(time.perf_counter() - started)
            processor[who].append(time.process_time() - used)
    told: dict[str, Any] = {"threads": threads}
    for who, taken in seconds.items():
        times = ratios(seconds, who)
        told[who] = {
            "seconds": round(statistics.median(taken), 3),
            "spread": [round(min(taken), 3), round(max(taken), 3)],
            "processor_seconds": round(statistics.median(processor[who]), 3),
            "ms_a_step": round(1e3 * statistics.median(taken) / steps(job), 3),
            "soft_nll": round(nll[who], 4),
            "times": round(statistics.median(times), 2),
            "times_spread": [round(min(times), 2), round(max(times), 2)],
            "times_processor": round(statistics.median(ratios(processor, who)), 2),
        }
        if abs(nll[who] - nll["dissensus"]) > APART:
            raise SystemExit(f"{who} does not do the same job: soft NLL {nll[who]:.3f} against {nll['dissensus']:.3f}")
    told["plain"] |= {"bar": 1.0, "holds": told["plain"]["times"] >= 1.0}
    return told


def ratios(taken: dict[str, list[float]], who: str) -> list[float]:
    return [other / ours for other, ours in zip(taken[who], taken["dissensus"], strict=True)]


def steps(job: Job) -> int:
    return job.recipe.epochs * -(-len(job.images) // job.recipe.batch_size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=3000, help="a fifth of them are held out")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--dry", action="store_true", help="print the result, write no file")
    given = parser.parse_args()
    job, load_before = Job.of_glyphs(given.items, given.epochs), os.getloadavg()[0]
    threads = sorted({1, torch.get_num_threads()})
    result = {
        "items": len(job.images),
        "held_out": len(job.held_out_images),
        "epochs": given.epochs,
        "repeats": given.repeats,
        "threads": [compare(job, number, given.repeats) for number in threads],
        "load_before_and_after": [round(number, 2) for number in (load_before, os.getloadavg()[0])],
    }
    print(json.dumps(result, indent=2))
    if not given.dry:
        command = (
            f"python benchmarks/plain_loop.py --items {given.items} --epochs {given.epochs} --repeats {given.repeats}"
        )
        print(write_result("cpu_loop", result, command).name)


if __name__ == "__main__":
    main()
