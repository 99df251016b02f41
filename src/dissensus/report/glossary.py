"""What a newcomer has to know to read a verdict: the methods and the judged metrics, a plain clause each."""

from __future__ import annotations

METHODS = {
    "soft": "every epoch shows the shares of the votes, as a distribution",
    "sls": "stochastic label sampling: every epoch shows one of the item's votes, drawn anew",
    "multipass": "every epoch shows the next of the item's votes, in an order shuffled once, so that none is left out",
    "deterministic-control": "multipass in another order; what differs between the two is chance",
    "shuffled-sls": "stochastic label sampling from the votes of another item; a control that must fail",
    "majority": (
        "the votes are collapsed into the most frequent one before training, as most pipelines do; a tie is drawn by "
        "lot, once"
    ),
    "label-smoothing": "the majority label, with a tenth of the weight spread over all classes",
    "mixup": "the majority label; inputs and labels of two items are mixed",
}

CONTROLS = ("deterministic-control", "shuffled-sls")  # there to be compared with: nobody would train on them

DRAWS = {
    "subsample": "without replacement: so many of an item's real votes, each once",
    "resample": "with replacement: an item's votes may come twice, and do where it has fewer",
}

MEASURES = {
    ("kl", False): "how far the predicted probabilities are from the votes, in nats; lower is better",
    ("kl", True): (
        "the same after one temperature was fitted in every method: what is left cannot be had by being less sure"
    ),
    ("entropy_correlation", False): "does the model doubt where people disagree? Higher is better, 1 is perfect",
}


def method_in_words(name: str) -> str | None:
    """A method, or a variant of one, in words.

    >>> method_in_words("soft") == method_in_words("soft, hold 5")
    True
    """
    return METHODS.get(name.split(",")[0])
