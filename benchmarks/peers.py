"""How long does one run of the Basins recipe take with the tools that people have? On a GPU.

    python benchmarks/peers.py --peers all --epochs 3 --repeats 3 --out FILE.json
    python benchmarks/peers.py --peers plain,hf --out FILE.json     # a part; the rest goes into the same file later
    python benchmarks/peers.py --tiny --out FILE.json               # does everything work? any machine, no torchvision

The job is the same for all: CIFAR-10H, 8,000 images with soft labels, ResNet-18 with the same initial weights, SGD,
cosine over 200 epochs, batches of 128 and the tail of 64, crop and flip, and the soft NLL of 2,000 held-out images
after every epoch. Each peer comes twice: as its documentation has it, and tuned: with everything that a good user
switches on without writing an engine (bf16, channels_last, torch.compile, fused SGD, a worker a core that stays, pinned
memory, no waiting for the GPU in a step). Plain PyTorch comes a third time, tuned and with torch.compile's own CUDA
graphs (mode "reduce-overhead"), which may record anew in every step, so both are measured.

Every measurement is a process of its own; peers take turns. The first epoch warms up, the others are measured, each
with its evaluation. The cold start is all the rest: imports, data, workers, compilation (with no cache to help it in
a peer's first measurement). A run is a cold start and 200 epochs; ``warm`` numbers leave the cold start out.
dissensus comes as one run and as four side by side, where an epoch takes a quarter of the time of four.
A peer passes the gate if it learns: its losses are finite, its last training loss and its least held-out soft NLL are
below those of a uniform guess, and that training loss is near to the median of all peers.

The file is written after every measurement; what it holds already is not measured again, what failed is tried again.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

from measure import environment

from dissensus.base.files import written_whole

STARTED = time.perf_counter()  # nothing large is imported yet: the cold start counts from here

MODULES = {
    "plain": "peers_plain.plain",
    "plain-tuned": "peers_plain.plain_tuned",
    "plain-graphs": "peers_plain.plain_graphs",
    "lightning": "peers_lightning.lightning",
    "lightning-tuned": "peers_lightning.lightning_tuned",
    "hf": "peers_hf.hf",
    "hf-tuned": "peers_hf.hf_tuned",
    "dissensus": "peers_dissensus.dissensus",
    "dissensus-4": "peers_dissensus.dissensus_four",
}
PACKAGES = ("numpy", "torch", "torchvision", "lightning", "pytorch-lightning", "transformers", "accelerate")
EPOCHS_OF_A_RUN = 200
FLOP_AN_EPOCH = 8_000 * 3.329e9  # forward and backward; the evaluation is not counted
PEAK = 788e12  # FLOP/s, bf16 matrix product as measured on the H200
UNIFORM_NLL = math.log(10)
NEAR = 0.15  # how far a training loss may be from the median of all, relative to it

# -- one measurement


def measure_here(peer: str, epochs: int, tiny: bool) -> dict[str, Any]:
    """One warm-up epoch and ``epochs`` more, in this process."""
    from importlib import import_module

    from peers_job import Clock, Job, digest

    clock = Clock(STARTED)
    job = Job.load(epochs + 1, tiny, clock)
    module, _, function = MODULES[peer].partition(".")
    getattr(import_module(module), function)(job)
    if len(clock.epochs) != epochs + 1:
        raise RuntimeError(f"{peer} told of {len(clock.epochs)} epochs, but was asked for {epochs + 1}")
    return {
        "runs": clock.runs,
        "epochs": clock.epochs,
        "initial_weights": digest(job.model()),
        "device": device_name(job.device),
    }


def device_name(device: Any) -> str:
    import torch

    return torch.cuda.get_device_name() if device.type == "cuda" else "cpu"


def measure(peer: str, epochs: int, tiny: bool, cache: Path, limit: float) -> dict[str, Any]:
    """The same in a process of its own; what went wrong there, where it failed."""
    command = [sys.executable, __file__, "--peer", peer, "--epochs", str(epochs), *(["--tiny"] if tiny else [])]
    caches = {"TORCHINDUCTOR_CACHE_DIR": str(cache / peer), "TRITON_CACHE_DIR": str(cache / peer / "triton")}
    started, load = time.perf_counter(), os.getloadavg()[0]
    try:
        done = subprocess.run(
            command, env=os.environ | caches, capture_output=True, text=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return {"error": f"took more than {limit:g} s"}
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        return {"error": f"exit status {done.returncode}: {(done.stderr.strip().splitlines() or ['no word'])[-1]}"}
    return {
        **json.loads(done.stdout.splitlines()[-1]),
        "process_s": round(time.perf_counter() - started, 2),
        "load_before": round(load, 2),
        "commit": environment(())["commit"],  # others in the file may be of an earlier one
    }


# -- what follows from the measurements of a peer


def summarize(measurements: list[dict[str, Any]]) -> dict[str, Any]:
    """Seconds an epoch over all measurements, cold start of the first one, and what 200 epochs come to.

    Where runs are trained side by side, an epoch and a run take their share of the time.
    """
    done = [one["epochs"] for one in measurements if "epochs" in one]
    if not done:
        return {"error": measurements[-1]["error"]}
    runs = next(one["runs"] for one in measurements if "epochs" in one)
    seconds = [(after["ended_s"] - before["ended_s"]) / runs for one in done for before, after in pairwise(one)]
    epoch = statistics.median(seconds)
    starts = [one[0]["ended_s"] - epoch * runs for one in done]
    run = starts[0] / runs + EPOCHS_OF_A_RUN * epoch
    return {
        "runs_side_by_side": runs,
        "s_an_epoch": round(epoch, 4),
        "s_an_epoch_spread": [round(min(seconds), 4), round(max(seconds), 4)],
        "measured_epochs": len(seconds),
        "measurements": len(done),
        "cold_start_s": round(starts[0], 2),
        "start_with_compile_cache_s": round(statistics.median(starts[1:]), 2) if starts[1:] else None,
        "s_a_run": round(run, 1),
        "s_a_run_warm": round(EPOCHS_OF_A_RUN * epoch, 1),
        "runs_an_hour": round(3600 / run, 1),
        "runs_an_hour_warm": round(3600 / (EPOCHS_OF_A_RUN * epoch), 1),
        "share_of_peak": round(FLOP_AN_EPOCH / epoch / PEAK, 4),
        "train_loss": [round(float(one[-1]["train_loss"]), 4) for one in done],
        "soft_nll": [round(float(one[-1]["soft_nll"]), 4) for one in done],
        "least_soft_nll": [round(min(float(row["soft_nll"]) for row in one), 4) for one in done],
    }


def gate(told: dict[str, Any], median_loss: float) -> list[str]:
    """Why a peer does not do the job; nothing, where it does."""
    losses, nlls = told["train_loss"], told["least_soft_nll"]
    if not all(map(math.isfinite, [*losses, *told["soft_nll"]])):
        return [f"a loss is not finite: training {losses}, held out {told['soft_nll']}"]
    faults = []
    if max(losses) >= UNIFORM_NLL:
        faults.append(f"the training loss {max(losses)} is not below that of a uniform guess, {UNIFORM_NLL:.3f}")
    if max(nlls) >= UNIFORM_NLL:
        faults.append(f"no held-out soft NLL is below that of a uniform guess, {UNIFORM_NLL:.3f}: {max(nlls)}")
    faults += [
        f"the training loss {loss} is more than {NEAR:.0%} from the median of all, {median_loss:.4f}"
        for loss in losses
        if abs(loss - median_loss) > NEAR * median_loss
    ]
    return faults


def conclude(measured: dict[str, list[dict[str, Any]]], tiny: bool) -> dict[str, Any]:
    """A summary a peer, with its gate; the tiny job has too few steps to learn anything."""
    peers = {peer: summarize(measurements) for peer, measurements in measured.items() if measurements}
    losses = [loss for told in peers.values() for loss in told.get("train_loss", ())]
    for told in peers.values():
        if "error" not in told:
            told["faults"] = [] if tiny else gate(told, statistics.median(losses))
    return peers


def strict(value: Any) -> Any:
    """Numbers that JSON cannot say, as text, which ``float`` reads."""
    if isinstance(value, dict):
        return {name: strict(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [strict(inner) for inner in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def line(peer: str, told: dict[str, Any]) -> str:
    if "error" in told:
        return f"{peer}: failed: {told['error']}"
    low, high = told["s_an_epoch_spread"]
    return (
        f"{peer}: {told['s_an_epoch']:.3f} s an epoch ({low:.3f} to {high:.3f}), "
        f"cold start {told['cold_start_s']:.1f} s, {told['s_a_run']:.1f} s a run ({told['s_a_run_warm']:.1f} warm), "
        f"{told['runs_an_hour']:.1f} an hour ({told['runs_an_hour_warm']:.1f} warm), "
        f"training loss {told['train_loss'][-1]:.3f}, soft NLL {told['soft_nll'][-1]:.3f}"
        + "".join(f"; FAULT: {fault}" for fault in told["faults"])
    )


# -- the whole comparison


def read_measured(path: Path, what: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """The measurements that the file holds and that did not fail."""
    if not path.exists():
        return {peer: [] for peer in MODULES}
    result = json.loads(path.read_text(encoding="utf-8"))["result"]
    before = {name: result[name] for name in what}
    if before != what:
        raise SystemExit(f"{path} holds measurements with {before}, not {what}. Give another --out.")
    return {peer: [one for one in result["measured"].get(peer, []) if "error" not in one] for peer in MODULES}


def write(path: Path, what: dict[str, Any], measured: dict[str, list[dict[str, Any]]], command: str) -> dict[str, Any]:
    weights = {one["initial_weights"] for done in measured.values() for one in done if "error" not in one}
    if len(weights) > 1:
        raise SystemExit(f"the peers did not begin with the same weights: {sorted(weights)}")
    peers = conclude(measured, what["tiny"])
    told = {
        "command": command,
        "environment": environment(PACKAGES),
        "result": {**what, "peers": peers, "measured": measured},
    }
    text = json.dumps(strict(told), indent=2, sort_keys=True, allow_nan=False)
    with written_whole(path) as whole:
        whole.write_text(text + "\n", encoding="utf-8")
    return peers


def compare(peers: list[str], epochs: int, tiny: bool, repeats: int, limit: float, path: Path, command: str) -> None:
    what = {"epochs": epochs, "tiny": tiny}
    measured = read_measured(path, what)
    with tempfile.TemporaryDirectory() as cache:
        for turn in range(repeats):
            for peer in peers:
                if len(measured[peer]) > turn:
                    continue
                measured[peer].append(measure(peer, epochs, tiny, Path(cache), limit))
                print(line(peer, write(path, what, measured, command)[peer]), flush=True)


def names(given: str) -> list[str]:
    peers = list(MODULES) if given == "all" else given.split(",")
    unknown = [peer for peer in peers if peer not in MODULES]
    if unknown:
        raise argparse.ArgumentTypeError(f"no such peer: {', '.join(unknown)}; there are {', '.join(MODULES)}")
    return peers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", type=names, default="all", help="all, or names with commas between")
    parser.add_argument("--epochs", type=int, default=3, help="measured epochs of each measurement")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--limit", type=float, default=150, help="seconds that one measurement may take")
    parser.add_argument("--tiny", action="store_true", help="glyphs and a thin net on the CPU, to see that all works")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results") / "peers.json")
    parser.add_argument("--peer", choices=MODULES, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.peer:
        print(json.dumps(measure_here(given.peer, given.epochs, given.tiny)))
        return
    command = (
        f"python benchmarks/peers.py --peers {','.join(given.peers)} --epochs {given.epochs} --repeats {given.repeats}"
    )
    compare(given.peers, given.epochs, given.tiny, given.repeats, given.limit, given.out, command)


if __name__ == "__main__":
    main()
