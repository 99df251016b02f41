"""How near so many votes an item come to what everybody would say, guessed from few of them.

What everybody would say of an item is taken for a draw from a Dirichlet distribution, one for all items. Two votes an
item are enough to fit it, and then it says what 10 or 50 of them would tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.base.streams import stream
from dissensus.votes.table import Votes

WIDEST = (-9.0, 9.0)  # of the logarithm of the strength: all alike within an item, all alike between items
NUMBERS = (1, 2, 3, 5, 10, 20, 50, 100)  # of votes an item
FEWEST = 30  # items with two votes, to guess anything
DRAWN = 2_000_000  # shares of classes at most, to count majorities


@dataclass(frozen=True)
class Spread:
    """How what everybody would say differs between items.

    ``shares`` are the means of the classes, and ``strength`` says how near items are to them: near 0 each item has one
    class, with large numbers all items have the same shares. It is the number of imagined votes by which
    :func:`~dissensus.targets.smoothed` draws few votes towards the shares. ``likely`` is its 95 % interval, by
    the ratio of likelihoods.
    """

    shares: NDArray[np.float64]
    strength: float
    likely: tuple[float, float] | None = None

    @classmethod
    def of(cls, votes: Votes) -> Spread:
        """The one under which the votes are most likely (Dirichlet-multinomial).

        >>> many = Votes.from_counts([[9, 1], [1, 9], [5, 5]] * 20)
        >>> round(Spread.of(many).strength, 1)
        2.2
        """
        from scipy.optimize import brentq, minimize_scalar
        from scipy.special import gammaincinv, gammaln

        if votes.multilabel:
            raise InputError(
                "votes that name several classes have no one share of each; the spread is of single labels."
            )
        counts = votes.counts()
        counts = counts[votes.votes_per_item > 0]
        if not (counts.sum(1) > 1).any():
            raise InputError("no item has two votes, so nothing says how far items differ from one another.")
        shares = (counts.sum(0) + 1.0) / (counts.sum() + counts.shape[1])  # one vote more: no class is impossible
        most = int(counts.max()) + 1
        seen = np.bincount((counts + most * np.arange(counts.shape[1])).ravel(), minlength=most * counts.shape[1])
        place, number = np.divmod(np.flatnonzero(seen), most)  # so many votes for this class, on so many items
        times, prior_share = seen[seen > 0], shares[place]
        sizes, items = np.unique(counts.sum(1), return_counts=True)

        def unlikely(logarithm: float) -> float:
            strength = np.exp(logarithm)
            prior = strength * prior_share
            told = times @ (gammaln(number + prior) - gammaln(prior))
            return float(items @ (gammaln(sizes + strength) - gammaln(strength)) - told)

        found = minimize_scalar(unlikely, bounds=WIDEST, method="bounded", options={"xatol": 1e-4})
        best, least = float(found.x), float(found.fun) + gammaincinv(0.5, 0.95)  # half of 95 % of a chi-square
        low, high = (
            float(brentq(lambda at: unlikely(at) - least, end, best)) if unlikely(end) > least else end
            for end in WIDEST
        )
        return cls(shares, float(np.exp(best)), (float(np.exp(low)), float(np.exp(high))))

    def distance(self, votes: int) -> float:
        r"""The KL that is expected between what everybody would say, p, and what so many votes make of it:

        .. math:: E\, KL(p \,\|\, q), \quad q_k = \frac{n_k + s \pi_k}{n + s}.

        Exactly, from the moments of Dirichlet and beta-binomial distributions; no votes at all are the classes' shares.

        >>> even = Spread(np.array([0.5, 0.5]), strength=2.0)
        >>> [round(even.distance(votes), 3) for votes in (0, 1, 10, 100)]
        [0.193, 0.137, 0.039, 0.005]
        """
        from scipy.special import betaln, digamma, gammaln

        prior, others = self.strength * self.shares, self.strength * (1 - self.shares)
        own = self.shares @ (digamma(prior + 1) - digamma(self.strength + 1))
        number = np.arange(votes + 1)[:, None]
        ways = gammaln(votes + 1) - gammaln(number + 1) - gammaln(votes - number + 1)
        chance = np.exp(ways + betaln(number + prior, votes - number + others) - betaln(prior, others))
        told = (number + prior) / (votes + self.strength)
        return float(max(0.0, own - (chance * told * np.log(told)).sum()))

    def same_majority(self, votes: int, seed: int = 0) -> float:
        """On what share of the items most of so many votes name the class that most of all people would, ties by lot.

        >>> even = Spread(np.array([0.5, 0.5]), strength=2.0)
        >>> [round(even.same_majority(votes), 2) for votes in (1, 5, 25)]
        [0.75, 0.84, 0.92]
        """
        random = stream(seed, "majorities")
        people = random.dirichlet(self.strength * self.shares, min(20_000, DRAWN // len(self.shares) + 1))
        if votes in (1, 2):
            return float(people.max(1).mean())  # exactly: two that differ are decided by lot
        cast = random.multinomial(votes, people / people.sum(1, keepdims=True))
        chosen = (cast + random.random(cast.shape)).argmax(1)
        return float((chosen == people.argmax(1)).mean())


@dataclass(frozen=True)
class Near:
    """What so many votes an item are worth."""

    votes: int
    kl: float  # expected, nats
    kl_low: float  # the least and the greatest under any spread that is likely
    kl_high: float
    same_majority: float  # share of the items


def nearness(votes: Votes, numbers: Sequence[int] = NUMBERS) -> list[Near]:
    """For each number of votes how near they come, as far as the votes at hand can tell.

    >>> for near in nearness(Votes.from_counts([[3, 0], [2, 1], [0, 3], [1, 2]] * 9), (1, 5, 25)):
    ...     print(near.votes, round(near.kl, 2), round(near.same_majority, 2))
    1 0.14 0.75
    5 0.06 0.84
    25 0.02 0.92
    """
    spread = Spread.of(votes)
    assert spread.likely is not None
    others = [replace(spread, strength=strength) for strength in np.geomspace(*spread.likely, 9)]
    return [_near(spread, others, number) for number in numbers]


def _near(spread: Spread, others: Sequence[Spread], votes: int) -> Near:
    kl = spread.distance(votes)
    likely = [kl, *(other.distance(votes) for other in others)]  # it rises and falls between the ends
    return Near(votes, kl, min(likely), max(likely), spread.same_majority(votes))
