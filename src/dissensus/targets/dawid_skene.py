"""What the true class probably is, if there is one and annotators err in ways of their own."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dissensus.base.errors import InputError
from dissensus.votes import Votes

_LEAST = 1e-10  # of a probability: an annotator who never erred so far may still err


def dawid_skene(votes: Votes, iterations: int = 100, tolerance: float = 1e-6) -> NDArray[np.float64]:
    r"""The posterior of one true class an item, under a confusion matrix for each annotator.

    .. math:: t_{ik} \propto \pi_k \prod_{v \in i} e^{a_v}_{y_v k}, \qquad
              e^a_{yk} \propto \sum_{v:\, a_v = a,\, y_v = y} t_{i_v k}, \qquad \pi_k = \operatorname{mean}_i t_{ik},

    by expectation maximisation from the vote shares, until no posterior moves by more than ``tolerance``
    (Dawid & Skene, Applied Statistics 28, 1979). It denies that annotators may rightly disagree: the more votes an
    item has, the nearer its row is to one-hot.

    Eve says the opposite of the others, so where she is alone with Ann, it is no tie:

    >>> items, annotators = [0, 0, 0, 1, 1, 1, 2, 2], ["ann", "bob", "eve", "ann", "bob", "eve", "ann", "eve"]
    >>> votes = Votes.from_records(items=items, annotators=annotators, labels=[0, 0, 1, 1, 1, 0, 0, 1])
    >>> votes.frequencies()[2], dawid_skene(votes)[2].round(3)
    (array([0.5, 0.5]), array([1., 0.]))
    """
    from scipy.sparse import csr_array  # 0.1 s that only this function needs to spend

    if votes.annotators is None:
        raise InputError(
            "dawid_skene needs to know who cast each vote, but these votes have no annotators. Read them with an "
            "annotator column, or use targets.shares or targets.smoothed, which need none."
        )
    if votes.multilabel:
        raise InputError("dawid_skene is about one class a vote, but these votes may name several.")
    if iterations < 1:
        raise InputError(f"iterations must be 1 or more, but it is {iterations!r}.")
    posterior = votes.frequencies()
    # A confusion matrix has a row for each label that its annotator ever used: (annotator, label) pairs.
    label = votes.annotators.astype(np.int64) * votes.n_classes + votes.codes
    pairs, pair = np.unique(label, return_inverse=True)
    item = np.repeat(np.arange(votes.n_items), votes.votes_per_item)
    cast = csr_array((np.ones(votes.n_votes), (pair, item)), shape=(len(pairs), votes.n_items))
    _, owner = np.unique(pairs // votes.n_classes, return_inverse=True)
    owned = csr_array((np.ones(len(pairs)), (owner, np.arange(len(pairs)))))
    for _ in range(iterations):
        errors = np.asarray(cast @ posterior).clip(_LEAST)
        errors /= (owned @ errors)[owner]
        log_joint = cast.T @ np.log(errors) + np.log(posterior.mean(0).clip(_LEAST))
        likely = np.exp(log_joint - log_joint.max(1, keepdims=True))
        before, posterior = posterior, likely / likely.sum(1, keepdims=True)
        if np.abs(posterior - before).max(initial=0.0) < tolerance:
            break
    return posterior
