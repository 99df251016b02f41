"""Tables that the paper does not have: after a temperature, whatever the scale of the weights, with controls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from dissensus.base.words import many
from dissensus.report.paper.grid import (
    SLICES,
    Grid,
    Line,
    box,
    digits_of,
    filled,
    record,
    title_of,
    votes_in_words,
)
from dissensus.report.paper.measured import HARD, METHODS, VOTES, Sought, difference, measured
from dissensus.report.tables import Box, p_value
from dissensus.stats import holm, wilcoxon
from dissensus.stats.paired import SINGLE

if TYPE_CHECKING:
    from dissensus.experiment.papers import Paper
    from dissensus.experiment.papers.evidence import Evidence

Parts = Mapping[str, Mapping[str, Any]]  # in words -> what it says of what is sought

EPOCHS: Parts = {"best epoch": {"checkpoint": "best"}, "last epoch": {"checkpoint": "last"}}
READINGS: Parts = {
    "best epoch": {},
    "last epoch": {"checkpoint": "last"},
    "audited": {"protocol": "audited"},
    "audited, last epoch": {"protocol": "audited", "checkpoint": "last"},
}
FROM = {"barrier": "barrier", "barrier_reset": "statistics reset", "barrier_aligned": "units aligned"}


def matrix(
    evidence: Evidence, name: str, title: str, groups: Parts, lines: Parts, columns: Parts, notes: tuple[str, ...] = ()
) -> Grid | None:
    """Groups of lines times columns, each box a number of what the three say together; None where nothing is there."""
    made: list[Line] = []
    records: list[Mapping[str, Any]] = []
    for group, of_group in groups.items():
        for line, of_line in lines.items():
            sought = [Sought(**{**of_group, **of_line, **of_column}) for of_column in columns.values()]
            found = [measured(evidence, one) for one in sought]
            most = max(len(one.seeds) for one in found)
            boxes = [box(one, digits_of(s.metric), expected=most) for s, one in zip(sought, found, strict=True)]
            made.append(Line(group, ", ".join(filter(None, (line, many(most, "seed")))), tuple(boxes)))
            records += [record(one, **asdict(s)) for s, one in zip(sought, found, strict=True) if one]
    made = [line for line in made if filled([line])]
    used = [i for i in range(len(columns)) if any(line.boxes[i].text != "–" for line in made)]
    kept = tuple(Line(one.group, one.name, tuple(one.boxes[i] for i in used), one.kind) for one in made)
    head = ("", "", *(list(columns)[i] for i in used))
    return Grid(name, title, head, kept, tuple(records), notes) if made else None


def _each(methods: Iterable[str]) -> Parts:
    return {method: {"method": method} for method in methods}


def temperature(evidence: Evidence, metric: str, protocol: str, checkpoint: str) -> Grid | None:
    """Is the gain of a hard delivery more than sharpness? Plain and after a temperature, and the gain over soft."""
    lines: list[Line] = []
    records: list[Mapping[str, Any]] = []
    base = partial(Sought, metric=metric, protocol=protocol, checkpoint=checkpoint)
    votes = [k for k in VOTES if any(measured(evidence, base(method=m, votes=k)) for m in METHODS)]
    digits = digits_of(metric)
    gains = {tempered: _gains(evidence, base, votes, tempered) for tempered in (False, True)}
    for method in METHODS:
        for tempered, said in ((False, "as trained"), (True, "tempered")):
            found = [measured(evidence, base(method=method, votes=k, tempered=tempered)) for k in votes]
            most = max((len(one.seeds) for one in found), default=0)
            boxes = tuple(box(one, digits, expected=most) for one in found)
            lines.append(Line(method, f"{said}, {many(most, 'seed')}", boxes))
            for k, one in zip(votes, found, strict=True):
                shared = asdict(base(method=method, votes=k, tempered=tempered))
                gain, p, adjusted = gains[tempered].get((method, k), (None, None, None))
                if one:
                    more = {} if gain is None else {"gain": gain.mean, "p": p, "p_holm": adjusted}
                    records.append(record(one, **shared) | more)
            if any((method, k) in gains[tempered] for k in votes):
                told = [gains[tempered].get((method, k)) for k in votes]
                lines.append(Line(method, f"gain over soft, {said}", tuple(map(_gain_box, told)), "test"))
                lines.append(Line(method, f"its p, {said}", tuple(map(_p_box, told)), "test"))
    lines = [line for line in lines if line.kind == "test" or filled([line])]
    if not filled(lines):
        return None
    where = "over two halves of the evaluation items" if protocol == "published" else "on the selection items"
    notes = (
        f"Temperature: one number a run, fitted by soft cross-entropy {where}, never on the items that are scored.",
        "Gain: soft minus the method, seed by seed. p: two-sided exact Wilcoxon, after Holm over the hard deliveries "
        "and numbers of votes of the table.",
    )
    name = f"temperature-{metric.replace('_', '-')}-{protocol}-{checkpoint}"
    title = f"{title_of(metric)[:-2]}, {protocol} protocol, {checkpoint} epoch"
    return Grid(name, title, ("", "", *map(votes_in_words, votes)), tuple(lines), tuple(records), notes)


def _gains(
    evidence: Evidence, base: Callable[..., Sought], votes: Sequence[int | str], tempered: bool
) -> dict[Any, Any]:
    """(method, votes) -> gain over soft, its p-value, and that after Holm."""
    found = {}
    for k in votes:
        soft = measured(evidence, base(method="soft", votes=k, tempered=tempered))
        for method in HARD:
            own = measured(evidence, base(method=method, votes=k, tempered=tempered))
            gain = difference(soft, own)
            if len(gain.values) > 1:
                values = list(gain.values.values())
                found[method, k] = gain, wilcoxon(values, [0.0] * len(values), resolution=SINGLE).pvalue
    adjusted = holm([p for _, p in found.values()])
    return {key: (*told, float(more)) for (key, told), more in zip(found.items(), adjusted, strict=True)}


def _gain_box(told: Any) -> Box:
    return Box() if told is None else box(told[0], 4)


def _p_box(told: Any) -> Box:
    return Box() if told is None else Box(p_value(told[1]), f"Holm {p_value(told[2])}")


def more_metrics(evidence: Evidence) -> Grid | None:
    names = (
        *("label_accuracy", "smooth_ece", "debiased_ece", "entropy_correlation_pearson"),
        *("js_distance", "total_variation", "aurc"),
    )
    columns = {title_of(name): {"metric": name} for name in names}
    title = "More metrics, with all votes"
    return matrix(evidence, "more-metrics", title, _each(METHODS), READINGS, columns)


def brier(evidence: Evidence) -> Grid | None:
    """The numbers of Figure 10."""
    names = ("brier_reliability", "brier_resolution", "brier_uncertainty")
    return matrix(
        evidence,
        "brier",
        "Brier decomposition, with all votes",
        _each(METHODS),
        READINGS,
        {title_of(name): {"metric": name} for name in names},
        ("15 bins of equal mass, with the within-bin terms, so that the parts add up exactly.",),
    )


def free_of_scale(evidence: Evidence) -> Grid | None:
    """λmax grows with the norm of the weights and with how sharp the outputs are; these do not grow with the first."""
    groups = {
        f"{method}, {votes_in_words(k)}": {"method": method, "votes": k}
        for k in ("all", 5, 10, 25, 50)
        for method in ("soft", *HARD, "shuffled-sls")
    }
    columns = {
        f"{title_of(name)}, {words}": {"metric": name, "slice": part}
        for part, words in SLICES.items()
        for name in ("trace_times_norm", "filter_normalised_top")
    }
    notes = (
        "Two networks that compute the same function can have any λmax: batch norm lets the weights be scaled. These "
        "two measures do not change with the scale of the weights, or of each filter.",
    )
    title = "Curvature whatever the scale of the weights"
    return matrix(evidence, "curvature-free-of-scale", title, groups, EPOCHS, columns, notes)


def gains_by_distance(evidence: Evidence) -> Grid | None:
    """B6: does the gain over soft labels grow with the distance of the sparse target, beyond what entropy explains?"""
    groups = {
        f"{method}, {protocol}": {"method": method, "other": "soft", "protocol": protocol}
        for protocol in ("published", "audited")
        for method in HARD
    }
    lines = {
        f"{distance}{given}, {where} items{', most disputed' if part == 'disputed' else ''}": {
            "metric": f"{name}_gain{'_given_entropy' if given else ''}",
            "where": where,
            "slice": part,
        }
        for part in SLICES
        for where in ("evaluation", "training")
        for name, distance in (("js", "JS"), ("l1", "L1"))
        for given in ("", " given entropy")
    }
    notes = (
        "Spearman correlation over items of the gain over soft labels with the distance of the sparse target from the "
        "full one. That distance and annotator entropy are nearly one thing (.96 for five votes), so only what is left "
        "given entropy speaks for the distance itself.",
    )
    columns = {votes_in_words(k): {"votes": k} for k in VOTES}
    title = "Does the gain grow with the distance of the sparse target?"
    return matrix(evidence, "gain-by-distance", title, groups, lines, columns, notes)


def gradient_variance(evidence: Evidence) -> Grid | None:
    names = ("gradient_variance_entropy", "gradient_variance_sampled", "gradient_variance_partial")
    notes = (
        "The variance of a drawn label follows entropy by construction (.999), whatever the model does: the partial "
        "correlation is what is left beyond that.",
    )
    columns = {title_of(name): {"metric": name} for name in names}
    title = "Gradient variance and annotator entropy"
    return matrix(evidence, "gradient-variance", title, _each(("sls", "soft")), EPOCHS, columns, notes)


def barriers(evidence: Evidence) -> Grid | None:
    """The barrier with its controls: the same method again, from the same initial weights."""
    pairs = (("sls", "soft"), ("sls", "sls+reorder"), ("soft", "soft+reorder"))
    groups = {_pair(*pair): {"method": pair[0], "other": pair[1]} for pair in pairs}
    columns = {words: {"metric": name} for name, words in FROM.items()}
    notes = (
        "Control: the same method, split and initial weights with another batch order and other labels. Two methods "
        "lie in different basins only as far as their barrier is higher than those.",
        "Between two models the batch-norm statistics of neither fit; reset, they are computed anew at every point.",
    )
    return matrix(evidence, "barriers", "Loss barriers, with their controls", groups, EPOCHS, columns, notes)


def _pair(first: str, second: str) -> str:
    """
    >>> _pair("sls", "soft"), _pair("sls", "sls+reorder")
    ('sls to soft', 'sls to sls again')
    """
    return f"{first} to {second.replace('+reorder', ' again')}"


def similarities(evidence: Evidence) -> Grid | None:
    """The numbers of Figures 9 and 12."""
    groups = {method: {"method": method, "other": method} for method in ("sls", "soft")}
    columns = {
        "CKA": {"metric": "cka"},
        "CKA, debiased": {"metric": "debiased_cka"},
        "Grad-CAM, all items": {"metric": "cam_stability"},
        "Grad-CAM, most disputed items": {"metric": "cam_stability", "slice": "disputed"},
    }
    notes = ("Means over all pairs of seeds, with the jackknife's interval: pairs share seeds.",)
    return matrix(evidence, "similarities", "Agreement over seeds", groups, EPOCHS, columns, notes)


def extra_tables(evidence: Evidence, paper: Paper) -> Iterator[Grid]:
    """All of them that have a number."""
    for metric in ("soft_nll", "kl"):
        for protocol in paper.protocols:
            for checkpoint in ("best", "last"):
                if (found := temperature(evidence, metric, protocol, checkpoint)) is not None:
                    yield found
    for make in (
        more_metrics,
        brier,
        free_of_scale,
        gains_by_distance,
        gradient_variance,
        barriers,
        similarities,
    ):
        if (made := make(evidence)) is not None:
            yield made
