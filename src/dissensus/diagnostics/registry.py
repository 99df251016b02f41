"""What every diagnostic is called, and what it says: the one list that tables, the page and the command read."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from dissensus.records import Diagnosis


@dataclass(frozen=True)
class Diagnostic:
    """A name for the heads of tables, a line for those who meet it for the first time, and what it can be at all."""

    title: str
    meaning: str
    digits: int = 3
    least: float = -inf
    most: float = inf

    def within(self, low: float, high: float) -> tuple[float, float]:
        """The ends of an interval, as far as the number can be; an end that is not known stays so."""
        return float(max(low, self.least)), float(min(high, self.most))


_AUROC = "AUROC of {}: the chance that an evaluation item scores higher than an item of another set"
_GAIN = "does a hard delivery gain most over soft labels where few votes miss the annotators? Spearman, {}"

DIAGNOSTICS: dict[str, Diagnostic] = {
    "best_epoch": Diagnostic("best epoch", "the epoch with the lowest soft NLL on the evaluation items, from 0", 1),
    "epochs_to_95": Diagnostic(
        "epochs to 95 %", "the first epoch 95 % of the way from the first one to the best one", 1
    ),
    "area": Diagnostic("mean of the curve", "soft NLL, averaged over the epochs"),
    "overfitting": Diagnostic("overfitting", "soft NLL of the last epoch less that of the best one"),
    "majority_class": Diagnostic("most frequent class", "accuracy of saying the same class of every evaluation item"),
    "top_eigenvalue": Diagnostic("λmax", "the loss's curvature in its steepest direction", 2),
    "trace": Diagnostic("trace", "the loss's curvature summed over all directions", 1),
    "deflated_trace": Diagnostic("trace, deflated", "the same with less noise, from as many products", 1),
    "trace_times_norm": Diagnostic("trace · ‖θ‖²", "the same whatever the scale of the weights is", 0),
    "filter_normalised_top": Diagnostic("λmax, filter-normalised", "the same whatever the scale of each filter is", 2),
    "gradient_variance": Diagnostic(
        "gradient variance", "of the last layer over drawn labels, mean over items", least=0
    ),
    "gradient_variance_entropy": Diagnostic(
        "gradient variance ~ entropy", "Spearman with annotator entropy; much of it holds by construction"
    ),
    "gradient_variance_partial": Diagnostic(
        "gradient variance ~ entropy, partial", "what is left of it beyond what no model can change"
    ),
    "gradient_variance_sampled": Diagnostic(
        "gradient variance ~ entropy, by draws", "Spearman with annotator entropy, from 200 drawn labels an item"
    ),
    "proposition1_deviation": Diagnostic(
        "Proposition 1", "how far its identities are off for the model's predictions, at most: rounding", 16
    ),
    "energy_auroc": Diagnostic("energy", _AUROC.format("the energy"), least=0, most=1),
    "msp_auroc": Diagnostic("MSP", _AUROC.format("the highest probability"), least=0, most=1),
    "odin_auroc": Diagnostic("ODIN", _AUROC.format("ODIN"), least=0, most=1),
    "entropy_auroc": Diagnostic("entropy", _AUROC.format("the entropy, sign turned"), least=0, most=1),
    "margin_auroc": Diagnostic("logit margin", _AUROC.format("the logit margin"), least=0, most=1),
    "knn_auroc": Diagnostic("KNN", _AUROC.format("the distance to the training items, sign turned"), least=0, most=1),
    "cka": Diagnostic("CKA", "how alike two models represent the items that neither was trained on", least=0, most=1),
    "debiased_cka": Diagnostic(
        "CKA, debiased", "the same, 0 on average for features that have nothing in common", least=-1, most=1
    ),
    "cam_stability": Diagnostic(
        "Grad-CAM stability", "how alike two models point at what they see: Pearson of maps", least=-1, most=1
    ),
    "barrier": Diagnostic("barrier", "how far the loss rises on the straight line between two models", least=0),
    "barrier_reset": Diagnostic(
        "barrier, statistics reset", "the same with batch-norm statistics of every point's own", least=0
    ),
    "barrier_aligned": Diagnostic(
        "barrier, aligned", "what is left of it when the second model's units are put in order", least=0
    ),
    "js_gain": Diagnostic("gain ~ JS distance", _GAIN.format("Jensen-Shannon distance")),
    "js_gain_given_entropy": Diagnostic("gain ~ JS distance | entropy", "the same among items of like entropy"),
    "l1_gain": Diagnostic("gain ~ L1 distance", _GAIN.format("sum of absolute differences")),
    "l1_gain_given_entropy": Diagnostic("gain ~ L1 distance | entropy", "the same among items of like entropy"),
}


def titled(found: Diagnosis) -> str:
    """What a number is about, in a few words.

    >>> titled(Diagnosis("trace", 9.0, 8.0, 10.0, items=200, slice="disputed"))
    'trace, most disputed items'
    """
    title = DIAGNOSTICS[found.name].title if found.name in DIAGNOSTICS else found.name.replace("_", " ")
    return title + (", most disputed items" if found.slice == "disputed" else "")
