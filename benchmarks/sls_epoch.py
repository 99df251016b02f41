"""What does an epoch of labels cost for 10^6 items, against the ways one would write it in PyTorch? And at 10^8 votes?

Run: python benchmarks/sls_epoch.py
Three to seven votes an item, 10 and 1,000 classes. The peers are told everything beforehand: the dense probabilities,
their cumulative sums, a padded matrix of votes; only the drawing is timed. Dense peers at 1,000 classes are timed on
10^5 items and taken times ten, since 10^6 rows need 4 GB (which favours them: fewer cache misses). Interleaved, the
median of the repeats, with one thread and with PyTorch's default; ours is NumPy and uses one in both cases. "times" is
the other's time over ours: above 1, ours is faster.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import numpy as np
import torch
from measure import no_options, write_result

from dissensus import Multipass, StochasticLabelSampling, Votes

ITEMS = 10**6
REPEATS = 7
GOALS = {"torch.multinomial": 10.0, "torch.searchsorted": 5.0, "padded gather": 0.5}


def make_votes(n_items: int, n_classes: int) -> Votes:
    """Votes that scatter around a class of the item's own."""
    rng = np.random.default_rng(0)
    offsets = np.zeros(n_items + 1, np.int64)
    np.cumsum(rng.integers(3, 8, n_items), out=offsets[1:])
    codes = np.repeat(rng.integers(0, n_classes, n_items, dtype=np.uint16), np.diff(offsets))
    other = rng.random(len(codes), dtype=np.float32) < 0.3
    codes[other] = rng.integers(0, n_classes, int(other.sum()), dtype=np.uint16)
    small = np.uint8 if n_classes <= 256 else np.uint16
    return Votes(codes=codes.astype(small), offsets=offsets, items=np.arange(n_items), classes=tuple(range(n_classes)))


def padded_peers(votes: Votes) -> dict[str, Callable[[], Any]]:
    sizes = votes.votes_per_item
    padded = np.zeros((votes.n_items, sizes.max()), votes.codes.dtype)
    padded[np.arange(sizes.max()) < sizes[:, None]] = votes.codes
    rng, rows = np.random.default_rng(0), np.arange(votes.n_items)
    table, n, each = torch.from_numpy(padded.astype(np.int64)), torch.from_numpy(sizes), torch.from_numpy(rows)
    return {
        "padded gather, torch": lambda: table[each, (torch.rand(len(n)) * n).long()],
        "padded gather, numpy": lambda: padded[rows, (rng.random(len(rows)) * sizes).astype(np.int64)].astype(np.int64),
    }


def dense_peers(votes: Votes) -> dict[str, Callable[[], Any]]:
    probs = torch.from_numpy(votes.frequencies().astype(np.float32))
    cdf = probs.cumsum(1)
    cdf /= cdf[:, -1:].clone()
    return {
        "torch.multinomial": lambda: torch.multinomial(probs, 1).squeeze(1),
        "torch.searchsorted": lambda: torch.searchsorted(cdf, torch.rand(len(cdf), 1), right=True).squeeze(1),
    }


def timed(candidates: dict[str, Callable[[], Any]], repeats: int = REPEATS) -> dict[str, dict[str, float]]:
    """Seconds of each, interleaved: median, least and most."""
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for turn in range(repeats + 1):
        for name, candidate in candidates.items():
            start = time.perf_counter()
            candidate()
            if turn:  # the first is for warming up
                seconds[name].append(time.perf_counter() - start)
    return {name: {"median": median(s), "least": min(s), "most": max(s)} for name, s in seconds.items()}


def against_peers(n_classes: int, threads: int) -> dict[str, Any]:
    torch.set_num_threads(threads)
    votes = make_votes(ITEMS, n_classes)
    fewer = 1 if n_classes <= 100 else 10
    part = votes.take(slice(0, ITEMS // fewer))
    epochs = iter(range(10**9))
    deliver = StochasticLabelSampling(votes, seed=0)
    from_probabilities = StochasticLabelSampling(part.frequencies(), seed=0)
    dense = {"sls from probabilities": lambda: from_probabilities(next(epochs)), **dense_peers(part)}
    seconds = timed({"sls from votes": lambda: deliver(next(epochs)), **padded_peers(votes), **dense})
    for name in dense:
        seconds[name] = {which: s * fewer for which, s in seconds[name].items()}
    ours = seconds["sls from votes"]["median"]
    times = {name: round(s["median"] / ours, 2) for name, s in seconds.items() if name != "sls from votes"}
    fastest_gather = min(value for name, value in times.items() if name.startswith("padded"))
    reached = {
        "torch.multinomial": times["torch.multinomial"],
        "torch.searchsorted": times["torch.searchsorted"],
        "padded gather": fastest_gather,
    }
    return {
        "classes": n_classes,
        "threads": threads,
        "seconds": {name: {which: round(s, 6) for which, s in taken.items()} for name, taken in seconds.items()},
        "ns_an_item": round(ours / ITEMS * 1e9, 2),
        "times": times,
        "goals": {
            name: {"at_least": goal, "reached": reached[name], "met": reached[name] >= goal}
            for name, goal in GOALS.items()
            if name != "torch.searchsorted" or n_classes == 1000
        },
    }


def share_of_a_training_epoch() -> dict[str, Any]:
    """Against an epoch of the least that one would train: a two-layer perceptron on 64 features, one thread."""
    torch.set_num_threads(1)
    n_items = 10**5
    votes = make_votes(n_items, 10)
    deliver = StochasticLabelSampling(votes, seed=0)
    torch.manual_seed(0)
    x = torch.randn(n_items, 64)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    labels = torch.from_numpy(deliver(0))

    def train() -> None:
        for i in torch.randperm(n_items).split(128):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(x[i]), labels[i]).backward()
            optimizer.step()

    seconds = timed({"labels": lambda: deliver(1), "training": train}, 5)
    share = seconds["labels"]["median"] / seconds["training"]["median"]
    return {"items": n_items, "seconds": seconds, "share": share, "goal": 0.01, "met": share < 0.01}


def growth(n_votes: int) -> dict[str, Any]:
    """An epoch of all items and a batch of 128, as the table grows; five votes an item on average, ten classes."""
    votes = make_votes(n_votes // 5, 10)
    deliver = StochasticLabelSampling(votes, seed=0)
    batch = np.random.default_rng(1).integers(0, votes.n_items, 128)
    start = time.perf_counter()
    multipass = Multipass(votes, seed=0)
    shuffle = time.perf_counter() - start
    candidates = {
        "sls epoch": lambda: deliver(3),
        "multipass epoch": lambda: multipass(3),
        "sls batch of 128": lambda: deliver(3, batch),
    }
    seconds = {name: s["median"] for name, s in timed(candidates, 3).items()}
    return {
        "votes": votes.n_votes,
        "items": votes.n_items,
        "seconds": {**seconds, "multipass shuffle, once": shuffle},
        "sls_ns_an_item": round(seconds["sls epoch"] / votes.n_items * 1e9, 2),
        "peak_memory_gb_so_far": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9, 2),
    }


def main() -> None:
    default = torch.get_num_threads()
    grown = [growth(n_votes) for n_votes in (10**6, 10**7, 10**8)]
    peers = [against_peers(classes, threads) for classes in (10, 1000) for threads in sorted({1, default})]
    training = share_of_a_training_epoch()
    for row in peers:
        told = ", ".join(f"{name} {times}x" for name, times in row["times"].items())
        print(f"{row['classes']} classes, {row['threads']} threads: {row['ns_an_item']} ns an item; {told}")
    for row in grown:
        print(f"{row['votes']} votes: {row['sls_ns_an_item']} ns an item")
    print(f"share of a training epoch: {training['share']:.2%}")
    load = [round(value, 1) for value in os.getloadavg()]  # above the number of threads: the machine had other work
    result = {"peers": peers, "growth": grown, "training": training, "load_average_1_5_15_minutes": load}
    print(write_result("sls_epoch", result, "python benchmarks/sls_epoch.py").name)


if __name__ == "__main__":
    no_options(__doc__)
    main()
