"""What the page on speed says of training: how fast the engine is, and how true. A part for each measurement.

Each function takes the content of all result files by name, and gives Markdown.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from in_markdown import bold, gpu_name, if_any, joined, table, table_row

Told = dict[str, dict[str, Any]]

STEPS, EPOCHS = 63, 200
LADDER = ("loader", "host", "resident", "channels_last", "bf16", "graph", "compile", "kernels", "2", "4", "8", "tf32-4")
PEERS = {
    "plain": "plain PyTorch, as documented",
    "plain-tuned": "plain PyTorch, tuned",
    "plain-graphs": "plain PyTorch, tuned, with its CUDA graphs",
    "lightning": "Lightning, as documented",
    "lightning-tuned": "Lightning, tuned",
    "hf": "Hugging Face Trainer, as documented",
    "hf-tuned": "Hugging Face Trainer, tuned",
    "dissensus": "dissensus, one run",
    "dissensus-4": "dissensus, four side by side",
}
LOOKS = {1: "", 2: ", at its second look", 3: ", at its third look"}
COLUMNS = {"soft_nll": "soft NLL", "accuracy": "accuracy", "ece": "ECE", "entropy_correlation": "entropy correlation"}


def training(results: Path) -> str:
    """The whole part; nothing where nothing has been measured."""
    told = {name: json.loads(path.read_text("utf-8")) for name in PARTS if (path := results / f"{name}.json").exists()}
    parts = [PARTS[name](told) for name in PARTS if name in told]
    return "\n\n".join(parts) + "\n" if parts else ""


# --- how fast ---------------------------------------------------------------------------------------------------------


def ladder(told: Told) -> str:
    """Rung by rung; the plain loop of the peers, where it was measured, is the ground that the ladder stands on."""
    result, machine = told["ladder"]["result"], told["ladder"]["environment"]["machine"]
    rungs = {name: result["rungs"][name] for name in LADDER if name in result["rungs"]}
    done = {name: rung for name, rung in rungs.items() if "error" not in rung}
    best = min(done, key=lambda name: done[name]["s_a_run"])
    lost = [rung["says"] for rung in rungs.values() if "error" in rung]
    ground = [] if "loader" in done else _ground(told)
    rows = [table_row(rung["says"], *bold(name == best, *_rung(rung))) for name, rung in done.items()]
    return joined(
        f"""One run is the recipe of the Basins paper on CIFAR-10H: ResNet-18, 8,000 images, {EPOCHS} epochs of {STEPS}
        steps, an evaluation after each. On one {gpu_name(machine["gpu"])}, every row with one technique more:""",
        table(
            ("", "ms a step", "s a run", "share of peak", "memory"),
            [*ground, *rows],
        ),
        f"""Evaluations are counted, the start of a process is not. Side by side, a step and a run are one run's share.
        Peak is a bf16 matrix product, {result["matrix_peak_tflops"]} TFLOP/s as measured. The recipe stays what it is;
        bf16 alone changes the arithmetic, and has its own gate."""
        + if_any(lost, " Did not run: {}."),
    )


def _rung(rung: dict[str, Any]) -> tuple[str, ...]:
    return (
        f"{rung['ms_a_step']:.2f}",
        f"{rung['s_a_run']:.1f}",
        f"{rung['share_of_peak']:.0%}",
        f"{rung['memory_gb']:.1f} GB",
    )


def _ground(told: Told) -> list[str]:
    plain = told["peers"]["result"]["peers"].get("plain", {}) if "peers" in told else {}
    if "s_an_epoch" not in plain:
        return []
    step = 1000 * plain["s_an_epoch"] / STEPS
    numbers = f"{step:.2f}", f"{plain['s_a_run_warm']:.1f}", f"{plain['share_of_peak']:.0%}", "–"
    return [table_row("plain PyTorch, images from a `DataLoader`", *numbers)]


def peers(told: Told) -> str:
    """Each peer as documented and tuned, and how many times our time it takes."""
    result = told["peers"]["result"]
    found = {name: result["peers"][name] for name in PEERS if name in result["peers"]}
    done = {name: peer for name, peer in found.items() if "error" not in peer}
    ours = min((name for name in done if name.startswith("dissensus")), key=lambda name: done[name]["s_a_run_warm"])
    rows = [
        table_row(
            PEERS[name] + " ¹" * bool(peer["faults"]),
            *bold(name == ours, *_peer(peer, done[ours]["s_a_run_warm"])),
            f"{peer['cold_start_s']:.0f} s",
        )
        for name, peer in done.items()
    ]
    devices = {one["device"] for ones in result["measured"].values() for one in ones if "device" in one}
    faulty = [PEERS[name] for name, peer in done.items() if peer["faults"]]
    lost = [PEERS[name] for name in found if name not in done]
    return joined(
        f"""The same run with the tools that people have: the same net, initial weights, recipe and evaluations, each
        as its documentation has it and tuned as far as its options go ({gpu_name(*sorted(devices))}):""",
        table(("", "s a run", "runs an hour", "times ours", "start"), rows),
        f"""Median and range of the measured epochs ({_epochs(done.values())}), times {EPOCHS}; the start, which a
        process pays once, is not in them. Tuned is bf16,
        channels_last, torch.compile, fused SGD, and loader workers that stay."""
        + if_any(faulty, " ¹ Fails the check that it learns what the others do.")
        + if_any(lost, " Not measured: {}."),
    )


def _epochs(peers: Iterable[dict[str, Any]]) -> str:
    few, *_, most = sorted(peer["measured_epochs"] for peer in peers)
    return f"{few} of each" if few == most else f"{few} to {most} of each"


def _peer(peer: dict[str, Any], ours: float) -> tuple[str, ...]:
    low, high = (EPOCHS * seconds for seconds in peer["s_an_epoch_spread"])
    return (
        f"{peer['s_a_run_warm']:.1f} ({low:.1f} to {high:.1f})",
        f"{peer['runs_an_hour_warm']:.0f}",
        f"{peer['s_a_run_warm'] / ours:.1f}",
    )


def cpu_loop(told: Told) -> str:
    """Every number of threads against the plain loop and the tuned one."""
    result = told["cpu_loop"]["result"]
    cases = [
        f"{case['plain']['times']:g} and {case['tuned']['times']:g} times as fast with {case['threads']} "
        + ("threads" if case["threads"] > 1 else "thread")
        for case in result["threads"]
    ]
    return joined(
        f"""On a CPU the same code trains a small net. Against a plain PyTorch loop and a tuned one, with
        {result["items"]:,} images, it is {" and ".join(cases)} (`benchmarks/plain_loop.py`)."""
    )


# --- how true ---------------------------------------------------------------------------------------------------------


def gate(told: Told) -> str:
    """What the rule said of bf16, and the comparisons that had to be within."""
    result = told["gate"]["result"]
    cells = {(cell["method"], cell["votes"], cell["checkpoint"], cell["metric"]): cell for cell in result["cells"]}
    rows = [
        table_row(
            method, votes, *(_difference(cells[method, votes, "best", metric]) for metric in ("soft_nll", "accuracy"))
        )
        for method, votes in dict.fromkeys((method, votes) for method, votes, _, _ in cells)
    ]
    verdicts = [_first(cell["verdict"]) for cell in cells.values()]
    counted = [f"{verdicts.count(name)} {name}" for name in ("within", "undecided", "outside") if name in verdicts]
    contrasts = [
        f"{one['tf32']['difference']:+.3f} in TF32, {one['bf16']['difference']:+.3f} in bf16 with {one['votes']} votes"
        for one in result["contrasts"]
        if one["counts"] and "diverged" not in one
    ]
    return joined(
        f"""May bf16 stand for TF32? **{_first(result["verdict"]).capitalize()}**, by a rule that was written before the
        runs (`benchmarks/gate.py`){LOOKS[result.get("look", 1)]}. bf16 minus TF32 at the
        best epoch over {len(result["seeds"])} paired seeds, with 90 % intervals:""",
        table(("method", "votes", "soft NLL (margin .025)", "accuracy (margin .01)"), rows),
        f"""Of all {len(verdicts)} comparisons (five metrics, best and last epoch), {", ".join(counted)}."""
        + if_any(contrasts, " Soft minus multipass in soft NLL: {}.", "; "),
    )


def _difference(cell: dict[str, Any]) -> str:
    if "diverged" in cell:
        return "a run diverged"
    told = f"{cell['difference']:+.4f} [{cell['low']:+.4f}, {cell['high']:+.4f}]"
    return told if cell["verdict"] == "within" else f"{told}, {_first(cell['verdict'])}"


def spread(told: Told) -> str:
    """What a run made again differs by, alone and in company."""
    result = told["spread"]["result"]
    rows = {row["metric"]: row for row in result["rows"] if row["checkpoint"] == "best"}
    named = {"soft NLL": rows["soft_nll"], "accuracy": rows["accuracy"]}
    if result["same_bits"]["identical"] == result["same_bits"]["pairs"]:
        text = "A run made again alone is the same to the last bit."
    else:
        scatter = " and ".join(f"{row['sd_alone']:.4f} in {name}" for name, row in named.items())
        text = f"A run made again is not the same to the last bit: the SD over repetitions is {scatter} (best epoch)."
    if all("beside_minus_alone" in row for row in named.values()):
        change = " and ".join(
            f"{row['beside_minus_alone']:+.4f} ± {row['se_from_spread']:.4f} in {name}" for name, row in named.items()
        )
        seen = any(abs(row["beside_minus_alone"]) > 2 * row["se_from_spread"] for row in named.values())
        text += f""" Up to {max(result["widths"])} side by side change it by {change},
        {"more" if seen else "no more"} than its scatter explains."""
    return joined(text)


def sanity(told: Told) -> str:
    """Ours beside the published means; what differs, with its reason."""
    rows = told["sanity"]["result"]["rows"]
    differ = [row for row in rows if row["verdict"] == "differs"]
    methods: dict[str, dict[str, Any]] = {}
    for row in rows:
        methods.setdefault(row["method"], {})[row["metric"]] = row
    return joined(
        f"""Are these the runs of the paper? Four seeds that no table uses, all votes, bf16, best epoch; in brackets the
        published mean. {len(rows) - len(differ)} of {len(rows)} comparisons, KL and soft Brier included, agree within
        three standard errors{"; marked ones do not" if differ else ""}.""",
        table(
            ("method", *COLUMNS.values()),
            [table_row(method, *(_against(found[metric]) for metric in COLUMNS)) for method, found in methods.items()],
        ),
        *(["\n".join(map(_reason, differ))] if differ else []),
    )


def _against(row: dict[str, Any]) -> str:
    ours = "diverged" if "diverged" in row else f"{row['ours']:.3f}"
    return f"{ours} ({row['published']:.3f})" + " ≠" * (row["verdict"] == "differs")


def _reason(row: dict[str, Any]) -> str:
    what = f"- {row['method']}, {COLUMNS.get(row['metric'], row['metric'].replace('_', ' '))}: "
    numbers = "a run diverged" if "diverged" in row else f"{row['ours']:.3f} against {row['published']:.3f}"
    return what + numbers + (f". {row['note']}" if "note" in row else "")


PARTS: dict[str, Callable[[Told], str]] = {
    "ladder": ladder,
    "peers": peers,
    "gate": gate,
    "spread": spread,
    "sanity": sanity,
    "cpu_loop": cpu_loop,
}


def _first(verdict: str) -> str:
    """Without what the rule advises in brackets."""
    return verdict.partition(" ")[0]
