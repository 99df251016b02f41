"""Look inside a model that dissensus neither defined nor trained: its card, with the uncertainty of every number."""

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from dissensus.diagnostics import card
from dissensus.diagnostics.registry import titled

rng = np.random.default_rng(0)
torch.manual_seed(0)


def items(n):
    """Points on a plane, and what twenty annotators say of each: near the border of two classes they disagree."""
    x = rng.normal(size=(n, 2)).astype(np.float32)
    chance = np.exp(3 * x @ np.array([[1, -0.5, -0.5], [0, 0.9, -0.9]]))
    votes = np.array([rng.multinomial(20, p / p.sum()) for p in chance])
    return torch.from_numpy(x), votes / 20


# Your own model, trained in your own way.
model = nn.Sequential(nn.Linear(2, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 3))
x, human = items(600)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(100):
    loss = F.cross_entropy(model(x), torch.from_numpy(human).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# Its card, on items that it was not trained on, and beside items from far away.
held_out, said = items(200)
rows = card(model, held_out, said, outside={"a larger plane": 6 * items(200)[0]}, bank=x)
for row in rows:
    where = f"{titled(row)}, against {row.other}" if row.other else titled(row)
    print(f"{where:55} {row.value:10.3f}   [{row.low:.3f}, {row.high:.3f}]")

found = {(row.name, row.slice): row for row in rows}
assert model.training  # as it was: dropout was off and batch-norm frozen only while we looked
assert found["top_eigenvalue", "all"].value < found["trace", "all"].high  # one direction among many
assert found["gradient_variance_entropy", "all"].low > 0.5  # drawn labels vary most where annotators disagree
assert found["knn_auroc", "all"].low > found["msp_auroc", "all"].value  # far from everything seen, and yet sure
