from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from dissensus.training import Engine, Recipe, choose
from dissensus.training.choose import learner_for
from dissensus.training.graphs import Graphed
from dissensus.training.inputs import Normalise
from dissensus.training.learner import PlainLearner


@pytest.mark.parametrize("engine", [Engine(), Engine(graph=False)])
@pytest.mark.parametrize("graphable", [True, False, None])
def test_on_a_gpu_steps_are_graphs_unless_engine_or_model_says_no(
    engine: Engine, graphable: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choose, "device_of", lambda model: torch.device("cuda", 0))
    monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: None)
    model = nn.Linear(3, 2)
    if graphable is not None:
        model.graphable = graphable
    found = learner_for(model, Normalise.by(Recipe(), torch.eye(3)), F.cross_entropy, Recipe(), engine)
    assert type(found) is (Graphed if engine.graph and graphable is not False else PlainLearner)
