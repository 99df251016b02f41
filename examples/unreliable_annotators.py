"""Votes that are unreliable rather than divided: Dawid-Skene finds out whom to trust."""

import numpy as np

from dissensus import Soft, metrics, targets
from dissensus.votes.synthetic import annotate, noisy, reliable

rng = np.random.default_rng(0)
seen = np.eye(4)[rng.integers(0, 4, 500)]  # every item has one right answer
pool = [reliable(f"careful-{i}", 4, accuracy=0.9) for i in range(4)] + [noisy(f"guessing-{i}", 4) for i in range(6)]
votes = annotate(seen, pool, votes_per_item=6, seed=0)

plain, weighed = targets.shares(votes), targets.dawid_skene(votes)
error = {name: 1 - metrics.accuracy(target, seen.argmax(1)) for name, target in (("shares", plain), ("ds", weighed))}
print(f"wrong majority: {error['shares']:.1%} of the items by plain shares, {error['ds']:.1%} after Dawid-Skene")

deliver = Soft(weighed)  # any array of probabilities can be delivered
assert deliver(0).shape == (500, 4)
assert error["ds"] < error["shares"] / 2
