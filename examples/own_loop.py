"""Two changed lines in a plain PyTorch loop: votes instead of majority labels, and what that does."""

import numpy as np
import torch
import torch.nn.functional as F

from dissensus import MajorityVote, Multipass, Votes, metrics

rng = np.random.default_rng(0)
x = torch.as_tensor(rng.normal(size=(1000, 5)), dtype=torch.float32)
truth = torch.softmax(2 * x @ torch.as_tensor(rng.normal(size=(5, 3)), dtype=torch.float32), 1).numpy()
truth = truth / truth.sum(1, keepdims=True, dtype=np.float64)
votes = Votes.from_counts(rng.multinomial(5, truth))  # five votes an item


def trained(deliver):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(5, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(30):
        for i in torch.randperm(800).split(64):  # the last 200 items are held out
            loss = F.cross_entropy(model(x[i]), torch.as_tensor(deliver(epoch, i)))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return torch.softmax(model(x[800:]).double(), 1).detach().numpy()


train = votes.take(np.arange(800))
kl = {
    name: metrics.kl(trained(delivery(train, seed=0)), truth[800:]).mean()
    for name, delivery in {"majority": MajorityVote, "multipass": Multipass}.items()
}
print(f"KL to the true distribution: {kl['majority']:.3f} with majority votes, {kl['multipass']:.3f} with multipass")
assert kl["multipass"] < kl["majority"]
