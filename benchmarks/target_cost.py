"""What do whole distributions cost as targets, against hard labels, at 10, 1,000 and 100,000 classes?

Run: python benchmarks/target_cost.py
On a machine with a CUDA GPU the rows are those of the GPU, in a file of their own. Five votes an item, batches of 128.

- "loss": forward and backward pass of the loss alone, from logits to their gradient. "soft" is cross-entropy against
  dense rows; "soft from votes" is the same number and gradient from the votes themselves, logsumexp(z) less the mean of
  the voted logits, for which no row is ever made.
- "last layer": the same with a linear layer of 256 features before it, whose products no kind of target changes.
- "kept": bytes that autograd keeps for the backward pass of the loss, inputs and targets among them.
- "storage": bytes of the targets of a million items.
- "epoch": what a delivery takes for the labels of 100,000 items; soft rows batch by batch, timed on some of them and
  scaled up, since all at once would be 40 GB.

Interleaved, the median of the repeats with the least and the most; "times hard" is of the least, which other work on
the machine disturbs least. One thread.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from measure import HERE, RESULTS, no_options, write_result
from torch import Tensor

from dissensus import Multipass, Soft, StochasticLabelSampling, Votes
from dissensus.delivery import MajorityVote

PAGE = HERE.parent / "src" / "dissensus" / "report" / "paper" / "soft_labels" / "cost.json"
CLASSES = (10, 1_000, 100_000)
BATCH, FEATURES, VOTES = 128, 256, 5
REPEATS = {10: 15, 1_000: 15, 100_000: 5}
STORED, DELIVERED = 1_000_000, 100_000  # items

Loss = Callable[[Tensor], Tensor]


def make_votes(n_items: int, n_classes: int, seed: int = 0) -> Votes:
    """Five votes an item, that scatter around a class of its own."""
    chance = np.random.default_rng(seed)
    codes = np.repeat(chance.integers(0, n_classes, n_items), VOTES)
    other = chance.random(len(codes)) < 0.3
    codes[other] = chance.integers(0, n_classes, int(other.sum()))
    small = np.uint8 if n_classes <= 2**8 else np.uint16 if n_classes <= 2**16 else np.uint32
    offsets = np.arange(0, len(codes) + 1, VOTES)
    return Votes(codes=codes.astype(small), offsets=offsets, items=np.arange(n_items), classes=tuple(range(n_classes)))


def losses(votes: Votes, device: str) -> dict[str, Loss]:
    """One function of the logits for each kind of target, with the target in place."""
    labels = torch.from_numpy(MajorityVote(votes)(0)).to(device)
    rows = torch.from_numpy(Soft(votes)(0)).to(device)
    cast = torch.from_numpy(votes.codes.astype(np.int64).reshape(-1, VOTES)).to(device)
    return {
        "hard": lambda logits: F.cross_entropy(logits, labels),
        "soft": lambda logits: F.cross_entropy(logits, rows),
        "soft from votes": lambda logits: soft_from_votes(logits, cast),
    }


def soft_from_votes(logits: Tensor, cast: Tensor) -> Tensor:
    r"""Cross-entropy against vote shares without the shares: :math:`\log\sum_k e^{z_k} - \frac1n \sum_v z_{y_v}`."""
    return (logits.logsumexp(1) - logits.gather(1, cast).mean(1)).mean()


def timed(candidates: dict[str, Callable[[], Any]], device: str, repeats: int) -> dict[str, dict[str, float]]:
    """Seconds of each, interleaved: median, least and most."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(repeats + 1):
        for name, candidate in candidates.items():
            start = time.perf_counter()
            candidate()
            if device == "cuda":
                torch.cuda.synchronize()
            if turn:  # the first is for warming up
                seconds[name].append(time.perf_counter() - start)
    return {
        name: {"median": round(median(s), 7), "least": round(min(s), 7), "most": round(max(s), 7)}
        for name, s in seconds.items()
    }


def loss_alone(n_classes: int, device: str) -> dict[str, dict[str, float]]:
    logits = torch.randn(BATCH, n_classes, device=device, requires_grad=True)

    def passes(loss: Loss) -> Callable[[], Any]:
        return lambda: torch.autograd.grad(loss(logits), logits)

    found = losses(make_votes(BATCH, n_classes), device)
    return timed({name: passes(loss) for name, loss in found.items()}, device, REPEATS[n_classes])


def last_layer(n_classes: int, device: str) -> dict[str, dict[str, float]]:
    layer = torch.nn.Linear(FEATURES, n_classes, device=device)
    x = torch.randn(BATCH, FEATURES, device=device, requires_grad=True)

    def passes(loss: Loss) -> Callable[[], Any]:
        return lambda: torch.autograd.grad(loss(layer(x)), [x, *layer.parameters()])

    found = losses(make_votes(BATCH, n_classes), device)
    return timed({name: passes(loss) for name, loss in found.items()}, device, REPEATS[n_classes])


def kept(n_classes: int, device: str = "cpu") -> dict[str, int]:
    """Bytes that the graph of each loss holds on to, every storage once."""
    logits = torch.randn(BATCH, n_classes, device=device, requires_grad=True)
    found = {}
    for name, loss in losses(make_votes(BATCH, n_classes), device).items():
        seen: dict[int, int] = {}

        def note(tensor: Tensor, seen: dict[int, int] = seen) -> Tensor:
            storage = tensor.untyped_storage()
            seen[storage.data_ptr()] = storage.nbytes()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            graph = loss(logits)  # held, so that no storage is given out twice
        found[name] = sum(seen.values())
        del graph
    return found


def storage(n_classes: int) -> dict[str, int]:
    """Bytes for the targets of a million items."""
    code = make_votes(1, n_classes).codes.dtype.itemsize
    return {
        "hard": STORED * code,
        "votes": STORED * VOTES * code + (STORED + 1) * 8,
        "dense float32": STORED * n_classes * 4,
    }


def epoch(n_classes: int) -> dict[str, dict[str, float]]:
    """Seconds for the labels of an epoch, on the host."""
    votes = make_votes(DELIVERED, n_classes)
    sls, multipass, majority, soft = (
        kind(votes, seed=0) for kind in (StochasticLabelSampling, Multipass, MajorityVote, Soft)
    )
    turns = iter(range(10**9))
    batches = max(1, min(DELIVERED, 10**8 // n_classes) // BATCH)  # of soft rows: 400 MB of them
    whole = DELIVERED / (batches * BATCH)
    at = [np.arange(batch * BATCH, (batch + 1) * BATCH) for batch in range(batches)]
    found = timed(
        {
            "majority": lambda: majority(next(turns)),
            "sls": lambda: sls(next(turns)),
            "multipass": lambda: multipass(next(turns)),
            "soft": lambda: [soft(0, index) for index in at],
        },
        "cpu",
        5,
    )
    found["soft"] = {which: seconds * whole for which, seconds in found["soft"].items()}
    return found


def measure(n_classes: int, device: str) -> dict[str, Any]:
    alone, layer = loss_alone(n_classes, device), last_layer(n_classes, device)
    row: dict[str, Any] = {
        "classes": n_classes,
        "loss_seconds": alone,
        "last_layer_seconds": layer,
        "times_hard": {
            part: {name: round(s["least"] / seconds["hard"]["least"], 2) for name, s in seconds.items()}
            for part, seconds in (("loss", alone), ("last layer", layer))
        },
        "kept_bytes": kept(n_classes, device),
        "storage_bytes": storage(n_classes),
        "epoch_seconds": epoch(n_classes),
    }
    if device == "cuda":
        row["peak_bytes"] = peak(n_classes)
    return row


def peak(n_classes: int) -> dict[str, int]:
    """The most memory that a forward and backward pass of each loss has on the GPU, its target included."""
    found = {}
    for name in ("hard", "soft", "soft from votes"):
        loss = losses(make_votes(BATCH, n_classes), "cuda")[name]
        logits = torch.randn(BATCH, n_classes, device="cuda", requires_grad=True)
        torch.cuda.reset_peak_memory_stats()
        torch.autograd.grad(loss(logits), logits)
        found[name] = torch.cuda.max_memory_allocated()
        del loss, logits
        torch.cuda.empty_cache()
    return found


def for_the_page(results: Sequence[Mapping[str, Any]]) -> str:
    """What the page on soft labels says, of the machines that were measured: soft labels in times of hard ones."""
    told = {
        result["device"].replace("cpu", "CPU"): [
            {
                "classes": row["classes"],
                "loss": row["times_hard"]["loss"]["soft"],
                "last_layer": row["times_hard"]["last layer"]["soft"],
                "kept": _times(row["kept_bytes"]),
                "peak": _times(row["peak_bytes"]) if "peak_bytes" in row else None,
                "rows_bytes": row["storage_bytes"]["dense float32"],
                "votes_bytes": row["storage_bytes"]["votes"],
            }
            for row in result["rows"]
        ]
        for result in results
    }
    return json.dumps(told, indent=1) + "\n"


def _times(found: Mapping[str, int]) -> float:
    return round(found["soft"] / found["hard"], 2)


def measured() -> list[dict[str, Any]]:
    """What lies there, of a CPU and of a GPU."""
    paths = [RESULTS / f"{name}.json" for name in ("target_cost", "target_cost_gpu")]
    return [json.loads(path.read_text("utf-8"))["result"] for path in paths if path.exists()]


def main() -> None:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    rows = []
    for n_classes in CLASSES:
        row = measure(n_classes, device)
        rows.append(row)
        told = "; ".join(
            f"{part}: " + ", ".join(f"{name} {times}x" for name, times in found.items())
            for part, found in row["times_hard"].items()
        )
        print(f"{n_classes} classes: {told}", flush=True)
    load = [round(value, 1) for value in os.getloadavg()]  # above the number of cores: the machine had other work
    name = "target_cost" if device == "cpu" else "target_cost_gpu"
    about = torch.cuda.get_device_name() if device == "cuda" else "cpu"
    told = {"device": about, "batch": BATCH, "votes_an_item": VOTES, "load_average_1_5_15_minutes": load}
    print(write_result(name, {**told, "rows": rows}, "python benchmarks/target_cost.py").name)
    PAGE.write_text(for_the_page(measured()), "utf-8")


if __name__ == "__main__":
    no_options(__doc__)
    main()
