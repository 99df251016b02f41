"""What ``dissensus reproduce`` says of runs before it makes any."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dissensus.cli.standing import told_standing
from dissensus.experiment.papers import Cell
from dissensus.experiment.reproduce import Standing

TOLD, STORED, LEFT = (Cell("published", method, "all", 1, 0) for method in ("sls", "soft", "multipass"))
MEND = "Make such runs in one store, or merge the stores: where that will be done, --to-merge."


@pytest.mark.parametrize(
    ("spent", "why"),
    [
        ({TOLD}, "of 1 only results tell, while runs that are left are compared with what they kept"),
        ({STORED}, "of 1 in the store the weights are gone, while models that are made again need them"),
        (
            {TOLD, STORED},
            "of 1 only results tell, while runs that are left are compared with what they kept; "
            "of 1 in the store the weights are gone, while models that are made again need them",
        ),
    ],
)
def test_runs_that_will_be_made_again_are_told_by_where_they_are(spent: set[Cell], why: str) -> None:
    plans: Any = dict.fromkeys((TOLD, STORED, LEFT))
    done = frozenset({TOLD, STORED})
    now = Standing(plans, {}, done, {}, recorded=frozenset({TOLD}), spent=frozenset(spent))
    repeated: Any = SimpleNamespace(left=lambda _: SimpleNamespace(seconds=60.0, looks=0, runs=0, source="measured"))
    lines = list(told_standing(repeated, now))
    are = "1 run that is" if len(spent) == 1 else "2 runs that are"
    assert lines[:2] == [
        "3 runs: 2 done (of 1 only results tell), 1 left.",
        f"{are} done will be made again: {why}. {MEND}",
    ]
