"""Where does the time of a run go, technique by technique? On a GPU.

    python benchmarks/ladder.py --out FILE.json
    python benchmarks/ladder.py --rungs kernels,4 --out FILE.json     # some rungs; the others stay as they are
    python benchmarks/ladder.py --tiny --out FILE.json                # does everything work? any machine

A rung is the recipe of the Basins paper on CIFAR-10H (soft labels, ResNet-18, evaluation after every epoch) with one
technique more than the rung before; every technique is a field of ``Engine``, or the precision of the recipe. The first
epochs warm up (compilation and graphs are the cold start), the others are measured: ms a step with everything that an
epoch costs, s a run of 200 epochs, the share of the measured bf16 matrix product, and the memory that is held.
Kernel by kernel, a step of the last rung but side by side.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from statistics import mean, median
from typing import Any

import torch
from measure import environment
from peers_job import RECIPE, SEED, Clock, Job
from peers_plain import plain

from dissensus import Soft
from dissensus.training import Engine, fit_many
from dissensus.training import Job as Run

FLOP_A_STEP = 8_000 * 3.329e9 / 63
STEPS, EPOCHS = 63, 200
BARE = Engine(resident=False, channels_last=False, graph=False, compile=False, kernels=False)


@dataclass(frozen=True)
class Rung:
    says: str
    engine: Engine
    precision: str = "tf32"
    width: int = 1
    epochs: int = 6  # that are measured


RESIDENT = replace(BARE, resident=True)
LAST = replace(RESIDENT, channels_last=True)
GRAPH = replace(LAST, graph=True)
UPDATE = "_update"  # the kernel that a step has once
RUNGS = {
    "host": Rung("our loop, images in host memory", BARE),
    "resident": Rung("images on the device, an epoch augmented at once", RESIDENT),
    "channels_last": Rung("channels_last", LAST),
    "bf16": Rung("bf16", LAST, "bf16"),
    "graph": Rung("a step as one graph", GRAPH, "bf16", epochs=10),
    "compile": Rung("torch.compile", replace(GRAPH, compile=True), "bf16", epochs=10),
    "kernels": Rung("our kernels instead of torch.compile", replace(GRAPH, kernels=True), "bf16", epochs=12),
    "2": Rung("two runs side by side", replace(GRAPH, kernels=True), "bf16", 2, 12),
    "4": Rung("four side by side", replace(GRAPH, kernels=True), "bf16", 4, 10),
    "8": Rung("eight side by side", replace(GRAPH, kernels=True), "bf16", 8, 8),
    "tf32-4": Rung("for comparison: the same four in TF32", replace(GRAPH, kernels=True), "tf32", 4, 6),
}


LOADER = "loader"  # the rung below all: no engine of ours


class Enough(Exception):
    """The epochs that were asked for have been measured."""


def measure(rung: Rung, job: Job, warm_up: int) -> dict[str, Any]:
    """Train, and look at the clock whenever an epoch has ended in every run."""
    width = rung.width if job.device.type == "cuda" else 1
    began, ended, rows = time.perf_counter(), [], [0] * width
    on_gpu = job.device.type == "cuda"
    if on_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()

    def tell(number: int) -> None:
        rows[number] += 1
        if min(rows) > len(ended):
            ended.append(time.perf_counter())
            if len(ended) == warm_up + rung.epochs:
                raise Enough

    held_out = (job.held_out_images, job.held_out_votes.frequencies())
    runs = [
        Run(
            lambda: job.model().to(job.device),
            job.images,
            Soft(job.votes),
            replace(RECIPE, precision=rung.precision if on_gpu else "fp32"),
            seed=SEED + number,
            held_out=held_out,
            progress=lambda row, number=number: tell(number),
        )
        for number in range(width)
    ]
    with suppress(Enough):
        fit_many(runs, width=width, engine=rung.engine)
    epochs = [(b - a) / width for a, b in zip(ended[warm_up - 1 :], ended[warm_up:], strict=False)]
    epoch = (ended[-1] - ended[warm_up - 1]) / width / rung.epochs
    return {
        "says": rung.says,
        "precision": rung.precision,
        "width": width,
        **_times(epoch, epochs),
        "cold_start_s": round(ended[0] - began, 1),
        "memory_gb": round(torch.cuda.max_memory_reserved() / 1e9, 2) if on_gpu else None,
    }


def loader_loop(job: Job) -> dict[str, Any]:
    """The loop of the tutorials: a DataLoader with torchvision's transforms, TF32, eager."""
    clock = Clock(time.perf_counter())
    plain(replace(job, epochs=4, clock=clock))
    ended = [epoch["ended_s"] for epoch in clock.epochs]
    epochs = [b - a for a, b in pairwise(ended)]
    return {
        "says": "plain PyTorch, a DataLoader and torchvision",
        "precision": "tf32",
        "width": 1,
        **_times(mean(epochs), epochs),
        "cold_start_s": round(ended[0], 1),
        "memory_gb": round(torch.cuda.max_memory_reserved() / 1e9, 2) if job.device.type == "cuda" else None,
    }


def _times(epoch: float, epochs: list[float]) -> dict[str, Any]:
    return {
        "ms_a_step": round(epoch / STEPS * 1000, 3),
        "s_a_run": round(epoch * EPOCHS, 1),
        "s_an_epoch": {"mean": round(epoch, 4), "median": round(median(epochs), 4), "max": round(max(epochs), 4)},
    }


def matrix_peak() -> float:
    """FLOP/s of a bf16 product of 8,192 x 8,192 random matrices."""
    a, b = torch.randn(2, 8192, 8192, device="cuda", dtype=torch.bfloat16)
    best = float("inf")
    for _ in range(10):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(10):
            a @ b
        end.record()
        torch.cuda.synchronize()
        best = min(best, start.elapsed_time(end) / 10_000)
    return 2 * 8192**3 / best


def kernels(job: Job) -> list[dict[str, Any]]:
    """Time by kernel of one step in one run, evaluation and the rest of an epoch shared out over its steps."""
    from torch.profiler import ProfilerActivity, profile

    rung = replace(RUNGS["kernels"], epochs=3)
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        measure(rung, job, warm_up=2)
    steps = sum(event.count for event in found.key_averages() if event.key == UPDATE)
    events = sorted(found.key_averages(), key=lambda event: -event.self_device_time_total)
    return [
        {
            "kernel": event.key[:100],
            "us_a_step": round(event.self_device_time_total / steps, 2),
            "times_a_step": round(event.count / steps, 2),
        }
        for event in events
        if event.self_device_time_total / steps >= 0.5
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rungs", default="all", help=f"names, separated by commas: {LOADER}, {', '.join(RUNGS)}")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kernels", action="store_true", help="also the time by kernel")
    parser.add_argument("--tiny", action="store_true", help="glyphs and a thin net, two epochs")
    given = parser.parse_args()
    names = [LOADER, *RUNGS] if given.rungs == "all" else given.rungs.split(",")
    job = Job.load(epochs=EPOCHS, tiny=given.tiny, clock=Clock(time.perf_counter()))
    told = json.loads(given.out.read_text()) if given.out.exists() else {"result": {"rungs": {}}}
    words = ["FILE.json" if word == str(given.out) else word for word in sys.argv[1:]]
    command = shlex.join(["python", "benchmarks/ladder.py", *words])
    before = told.get("command", "").split(" && ")  # of rungs that stay as they are
    told["command"] = " && ".join([*(one for one in before if one and one != command), command])
    told["environment"] = environment(("numpy", "torch", "triton"))
    result = told["result"]
    if not given.tiny:
        told["environment"]["machine"]["gpu"] = torch.cuda.get_device_name()
        result["matrix_peak_tflops"] = round(matrix_peak() / 1e12)
    for name in names:
        try:
            if name == LOADER:
                found = loader_loop(job)
            else:
                found = measure(replace(RUNGS[name], epochs=2) if given.tiny else RUNGS[name], job, warm_up=2)
            if not given.tiny:
                speed = FLOP_A_STEP / found["ms_a_step"] * 1000
                found["share_of_peak"] = round(speed / result["matrix_peak_tflops"] / 1e12, 3)
        except Exception as error:  # the other rungs go on
            found = {"says": name, "error": f"{type(error).__name__}: {error}"[:500]}
        result["rungs"][name] = found | {"commit": told["environment"]["commit"]}  # the others may be of an earlier one
        print(name, found, flush=True)
        given.out.write_text(json.dumps(told, indent=2, sort_keys=True) + "\n")
    if given.kernels:
        result["kernels"] = kernels(job)
        given.out.write_text(json.dumps(told, indent=2, sort_keys=True) + "\n")
        for row in result["kernels"]:
            print(f"{row['us_a_step']:9.2f} us  x{row['times_a_step']:6.2f}  {row['kernel']}", flush=True)


if __name__ == "__main__":
    main()
