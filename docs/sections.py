"""The parts of README and docs that hold measured numbers, made from the files that hold the measurements.

``python docs/sections.py`` writes them, each between the two comments that name it; a test compares.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from basins_section import basins
from curvature_section import curvature
from in_markdown import table, table_row, wrapped
from soft_labels_section import soft_labels, soft_labels_in_short
from speed_section import in_short as speed_in_short
from speed_section import votes_and_metrics
from training_section import training

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def demo() -> str:
    """What the demo found, and what it finds under another recipe."""
    told, other = _json("results/demo/result.json"), _json("results/demo-other-recipe/result.json")
    rate = other["setting"]["recipe.lr"]
    return "\n".join(
        [
            "## What the demo finds",
            "",
            "Glyphs are drawn shapes, many of them between two classes, labelled by annotators whose choices are",
            f"known. Eight paired seeds, four methods, {told['seconds']:.0f} s on two cores:",
            "",
            *_scores("results/demo/scores.csv"),
            "",
            *(f"- {sentence}" for sentence in told["sentences"]),
            "",
            "Rules first, runs second: what counts as better or the same is in `src/dissensus/report/rules.py`. A",
            f"verdict is one of a data set, a model and a recipe. With a learning rate of {rate:g} and",
            "without the crop, the same seeds say:",
            "",
            *(f"- {sentence}" for sentence in other["sentences"]),
            "",
        ]
    )


def votes_needed() -> str:
    """How well a pilot of two votes an item foretells what more of them gain."""
    rows = []
    for name, pilots in _json("benchmarks/results/votes_needed.json")["result"].items():
        pilot = next(one for one in pilots if one["pilot"] == 2)
        told = {row["votes"]: f"{row['gain_foretold']:.3f} ({row['gain']:.3f})" for row in pilot["rows"]}
        rows.append(table_row(name, *(told[number] for number in (3, 5, 10, 20))))
    parts = [
        wrapped(
            """`dissensus votes` also guesses, from two votes an item on, what more of them would tell: how far their
            shares are from what everybody would say, and how often their majority is that of all people. What 40 votes
            gain in KL over fewer, guessed from two votes an item, and in brackets as it is:"""
        ),
        table(("from 2 votes an item", "3 votes", "5 votes", "10 votes", "20 votes"), rows),
        wrapped(
            """Where most items are beyond doubt and few votes stray, as in CIFAR-10H, it guesses too high below ten
            votes; where all are equally hard, as when people just err, it guesses the majority too low. It is of votes
            by themselves, as to evaluate models by; how many a model needs, `compare --per-item` tells. All numbers:
            `benchmarks/results/votes_needed.json`."""
        ),
    ]
    return "\n\n".join(parts) + "\n"


MEASURED, RESULTS = ROOT / "benchmarks" / "results", ROOT / "results"

SECTIONS: dict[str, Callable[[], str]] = {
    "demo": demo,
    "votes-needed": votes_needed,
    "basins": lambda: basins(RESULTS / "basins"),
    "soft-labels-in-short": lambda: soft_labels_in_short(RESULTS / "soft-labels"),
    "soft-labels": lambda: soft_labels(RESULTS / "soft-labels", "../results/soft-labels"),
    "speed-in-short": lambda: speed_in_short(MEASURED),
    "training": lambda: training(MEASURED),
    "curvature": lambda: curvature(MEASURED),
    "votes-and-metrics": lambda: votes_and_metrics(MEASURED),
}


def _json(path: str) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((ROOT / path).read_text("utf-8"))
    return content


def _scores(path: str) -> list[str]:
    """A row a method: mean and 95 % interval over seeds at the selected epoch."""
    columns = {
        "KL ↓": ("kl", "0"),
        "KL after temperature ↓": ("kl", "1"),
        "entropy correlation ↑": ("entropy_correlation", "0"),
        "accuracy ↑": ("accuracy", "0"),
    }
    with (ROOT / path).open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["checkpoint"] == "best" and row["against"] == "human"]
    cells: dict[str, dict[tuple[str, str], str]] = {}
    for row in rows:
        told = f"{float(row['mean']):.3f} [{float(row['low']):.3f}, {float(row['high']):.3f}]"
        cells.setdefault(row["method"], {})[row["metric"], row["tempered"]] = told
    head = ["| method | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    return head + [
        f"| {method} | " + " | ".join(row[key] for key in columns.values()) + " |" for method, row in cells.items()
    ]


def main() -> None:
    for path in PAGES:
        text = path.read_text("utf-8")
        for name, section in SECTIONS.items():
            if f"<!-- {name} -->" in text:
                text = re.sub(
                    rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)",
                    lambda m, s=section: m[1] + s() + m[2],
                    text,
                    flags=re.S,
                )
        path.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
