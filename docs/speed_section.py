"""How fast it is: in short for the README, and tables of votes and metrics for the page on speed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from in_markdown import gpu_name, joined, table, table_row

BASINS = "a training of the Basins paper (ResNet-18, 200 epochs), four side by side"


def in_short(results: Path) -> str:
    """The main measurements, a row each, beside what others take for the same."""
    told = {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(results.glob("*.json"))}
    peers = {name: one["s_a_run_warm"] for name, one in told["peers"]["result"]["peers"].items()}
    curved, beside = told["curvature"]["result"]["tf32"], told["curvature_curvlinops"]["result"]["tf32"]
    read, epochs = told["read_votes"]["result"]["files"], told["sls_epoch"]["result"]["peers"]
    many = [case for case in epochs if case["classes"] == 1000]
    seconds = [case["seconds"]["sls from votes"]["median"] for case in many]
    rows = [
        table_row(
            f"{BASINS}, one {gpu_name(told['curvature']['environment']['machine']['gpu'])}",
            f"**{peers['dissensus-4']:.1f} s**",
            f"all tuned: Hugging Face Trainer {peers['hf-tuned']:.0f} s, Lightning {peers['lightning-tuned']:.0f} s, "
            f"plain PyTorch {peers['plain-tuned']:.0f} s, with its CUDA graphs {peers['plain-graphs']:.0f} s",
        ),
        table_row(
            "its top eigenvalue to 1 % and a trace from 50 probes, on 2,000 images",
            f"**{curved['ours']['median_s']:.1f} s**",
            f"PyHessian's algorithm {curved['pyhessian']['median_s']:.1f} s, curvlinops "
            f"{beside['curvlinops']['median_s']:.1f} s",
        ),
        table_row(
            "reading 10^7 votes, on two cores",
            f"**{_span(file['dissensus']['seconds'] for file in read.values())} s**",
            f"crowd-kit {_span(file['crowd-kit MajorityVote']['seconds'] for file in read.values())} s, pandas "
            f"{_span(file['pandas groupby-size-unstack']['seconds'] for file in read.values())} s, by hand with "
            f"factorize and bincount {_span(file['pandas factorize-bincount']['seconds'] for file in read.values())} s",
        ),
        table_row(
            "an epoch of SLS, 10^6 items, 1,000 classes",
            f"**{1000 * min(seconds):.0f} ms**",
            f"torch.multinomial {min(case['seconds']['torch.multinomial']['median'] for case in many):.0f} s",
        ),
    ]
    return table(("", "here", "elsewhere"), rows) + "\n"


def votes_and_metrics(results: Path) -> str:
    """Ratios of the benchmarks; each was measured in one run on one machine."""
    read, epoch, smooth = (
        json.loads((results / f"{name}.json").read_text("utf-8")) for name in ("read_votes", "sls_epoch", "smooth_ece")
    )
    files = read["result"]["files"]
    rows = []
    for peer in next(iter(files.values())):
        if peer != "dissensus":
            ratios = _span(file[peer]["times_ours"] for file in files.values())
            rows.append(table_row("reading 10^7 votes into `Votes` (four files)", peer, ratios))
    for peer in ("torch.multinomial", "torch.searchsorted"):
        for classes in (10, 1000):
            times = [case["times"][peer] for case in epoch["result"]["peers"] if case["classes"] == classes]
            rows.append(table_row(f"an epoch of SLS, 10^6 items, {classes:,} classes", peer, f"{min(times):,.0f}"))
    ratios = _span(case["times_faster"] for case in smooth["result"]["cases"].values())
    rows.append(table_row("`smooth_ece` of 10^5 predictions, the same value", "relplot", ratios))
    machine: dict[str, Any] = read["environment"]["machine"]
    seconds = _span(file["dissensus"]["seconds"] for file in files.values())
    largest = epoch["result"]["growth"][-1]
    return (
        joined(
            table(("what", "against", "times as fast"), rows),
            f"""Measured on {machine["cores"]} cores ({machine["cpu"]}) by `make bench`. Reading 10^7 votes takes
            {seconds} s; an epoch of SLS with {largest["votes"] / 1e6:.0f} million votes
            {largest["seconds"]["sls epoch"]:.2f} s. All numbers: `benchmarks/results/`.""",
        )
        + "\n"
    )


def _span(values: Any) -> str:
    told = sorted(values)
    return f"{told[0]:.1f} to {told[-1]:.1f}"
