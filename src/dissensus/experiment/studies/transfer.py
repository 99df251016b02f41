"""Transfer: does what soft labels taught survive a second training on majority labels?

A model is first trained on one data set, with soft or with majority labels, and then on another, in both cases with the
same majority labels of that one. Does it still know better where people disagree, on the second data set?

=============== ================================================================================
first training  soft, majority, or none (a fresh model), each the best epoch by its own selection items
second training majority labels of the second set, for none of its epochs, a tenth of them, and all
=============== ================================================================================

With a frozen encoder it is the head that is carried over, with the first set's normalisation of features, where both
sets have the same classes in the same order and inputs of one kind (SNLI part to MNLI part, and back; HS-Brexit to
MD-Agreement, which both ask for yes or no of one text: hateful, offensive). When the whole encoder is fine-tuned,
everything but the last layers can be carried over to any set of texts, whose head then is fresh (NLI to MD-Agreement).

**Rule** (each word by :mod:`~dissensus.experiment.studies.finding`; KL, entropy correlation, accuracy on the second
set's evaluation items, at the **last** epoch of the second training, where nothing was selected). Per pair of sets,
after all epochs of the second training, soft against majority in the first:

- Uncertainty **survives** if the entropy correlation is higher by more than the margin, and KL, plain or tempered, is
  nowhere higher by more than it.
- It is **reversed** if the entropy correlation is lower, or KL higher both plain and tempered, by more than the margin.
- It is **lost** if entropy correlation and KL, plain and tempered, are the same within the margins; else it is
  undecided.

The gate is the arm without a first training. "After none" says what there was to lose, and is not part of the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dissensus.base.errors import InputError
from dissensus.base.words import listed
from dissensus.datasets import Dataset, load
from dissensus.experiment.parts import parts
from dissensus.experiment.studies.finding import Contrast, Finding, class_doubt, in_words, spread
from dissensus.experiment.studies.score import Score, Scores
from dissensus.experiment.studies.study import Given, OneSeed, Study
from dissensus.experiment.studies.trial import (
    SELECT,
    TEST,
    After,
    Asked,
    Making,
    People,
    Trial,
    TrialSetting,
    measured,
    setting,
)
from dissensus.metrics import METRICS
from dissensus.targets import majority
from dissensus.votes import Votes

if TYPE_CHECKING:
    from torch import nn

PAIRS = (("chaosnli-snli", "chaosnli-mnli"), ("chaosnli-mnli", "chaosnli-snli"), ("hs-brexit", "md-agreement"))
FURTHER = ("chaosnli-mnli", "md-agreement")  # other classes: for a model that is fine-tuned
FIRST = ("soft", "majority")
BEFORE = (*FIRST, "none")


def transfer(first: Dataset, second: Dataset, seed: int, how: TrialSetting) -> Making:
    """Two trainings, one after the other, for every first training and length of the second."""
    first, second = how.see(first), how.see(second)
    same = first.votes.classes == second.votes.classes
    name, judges = f"{first.name} to {second.name}", People.of("votes", second)
    here = replace(how, recipe=replace(how.recipe, **scale(first, seed)))
    labels = one_vote(second.votes, seed)
    lengths = (0, max(1, how.recipe.epochs // 10), how.recipe.epochs)
    arms = [(before, epochs) for before in BEFORE for epochs in lengths]
    longer = {epochs: replace(here, recipe=replace(here.recipe, epochs=epochs)) for epochs in lengths[1:]}

    def begun(said: Trial) -> Callable[[], nn.Module]:
        return carried(how.make(second), said.state, head=same)

    asked = [Asked(first, first.votes, before, seed, here) for before in FIRST]
    after = {before: After(number, begun) for number, before in enumerate(FIRST)}
    for before, epochs in arms:
        if epochs:
            asked.append(Asked(second, labels, "majority", seed, longer[epochs], after=after.get(before)))

    def scores(said: Sequence[Trial]) -> list[Score]:
        learnt, trained = dict(zip(FIRST, said, strict=False)), iter(said[len(FIRST) :])
        rows = []
        for before, epochs in arms:
            if not epochs and (before == "none" or not same):
                continue  # a fresh head knows nothing
            one = next(trained) if epochs else untrained(second, labels, seed, here, begun(learnt[before]))
            place = {"data": name, "condition": f"after {epochs} epochs", "method": before, "seed": seed}
            rows += measured(one, judges, **place)
        return rows

    return Making(asked, scores)


def one_vote(votes: Votes, seed: int) -> Votes:
    """The majority label of every item as its only vote: all that the second training and its selection may know.

    >>> one_vote(Votes.from_counts([[3, 1], [0, 2]]), seed=0).counts()
    array([[1, 0],
           [0, 1]])
    """
    labels = np.eye(votes.n_classes, dtype=np.int64)[majority(votes, seed)]
    return Votes.from_counts(labels, classes=votes.classes, items=votes.items, ordered=votes.ordered)


def scale(data: Dataset, seed: int) -> dict[str, Any]:
    """Mean and spread of the first training's features: the recipe of both, since a head knows features by them."""
    inputs = data.array[parts(data, TEST, SELECT, seed).train]
    if inputs.ndim != 2:
        return {}  # tokens are no quantities
    spread = inputs.std(0, dtype=np.float64)
    return {
        "mean": tuple(inputs.mean(0, dtype=np.float64).tolist()),
        "std": tuple(np.where(spread, spread, 1.0).tolist()),
    }


def carried(make: Callable[[], nn.Module], state: Mapping[str, Any], *, head: bool) -> Callable[[], nn.Module]:
    """A factory of models that begin with these weights; without the ``head``, that is drawn afresh.

    Of a model that is fine-tuned the head is all that does not come with its encoder; of any other the last layer.
    """

    def begun() -> nn.Module:
        model = make()
        ours = model.state_dict()
        taken = {name: weights for name, weights in state.items() if head or not _in_head(model, name)}
        unlike = [name for name, weights in taken.items() if name not in ours or ours[name].shape != weights.shape]
        if unlike or not taken:
            raise InputError(
                "nothing can be carried over: the second set's inputs or classes need weights of another shape "
                f"({unlike[0] if unlike else 'all belong to the head'}). Take sets of the same kind, or fine-tune."
            )
        model.load_state_dict({**ours, **taken})
        return model

    return begun


def untrained(data: Dataset, votes: Votes, seed: int, how: TrialSetting, make: Callable[[], nn.Module]) -> Trial:
    """What a model says before any training on the data, as if it were a trial."""
    from dissensus.evaluation.predict import predict
    from dissensus.training.inputs import checked, prepare_by

    split, model = parts(data, TEST, SELECT, seed), make()
    prepare = prepare_by(how.recipe, checked("inputs", data.array)).to(next(model.parameters()).device)
    logits, select = (predict(model, data.array[part], prepare) for part in (split.evaluation, split.select))
    state = model.state_dict()
    return Trial(
        split,
        {"best": logits, "last": logits},
        {"best": select, "last": select},
        votes.take(split.select).frequencies(),
        state,
    )


def make(given: Given) -> OneSeed:
    """Between sets of the same classes; when the whole encoder is trained, from NLI on to MD-Agreement too."""
    pairs = PAIRS if given.model == "frozen" else (*PAIRS, FURTHER)
    sets = {name: load(name) for name in dict.fromkeys(name for pair in pairs for name in pair)}
    ways = [(sets[one], sets[other], setting(sets[one], given.model, given.encoder)) for one, other in pairs]
    return lambda seed: [transfer(first, second, seed, how) for first, second, how in ways]


def _contrasts(scores: Scores, metric: str) -> Iterator[Contrast]:
    for data in scores.names("data"):
        here = scores.where(data=data)
        *_, end = conditions = sorted(here.names("condition"), key=_epochs)
        doubt = class_doubt(here.where(condition=end, method="none"))
        for condition in conditions:
            soft, hard, none = (here.where(condition=condition, method=method) for method in BEFORE)
            if none.rows:
                yield Contrast(data, condition, "soft", "none", soft[metric], none[metric], doubt)
            yield Contrast(data, condition, "soft", "majority", soft[metric], hard[metric], doubt)


def _told(data: str, findings: Sequence[Finding]) -> Iterator[str]:
    end, found = _end(data, findings)
    yield f"{data}: {end} of majority labels, uncertainty {_fate(found)}."


def _end(data: str, findings: Sequence[Finding]) -> tuple[str, dict[tuple[str, bool], Finding]]:
    """Soft against majority labels after the longest second training, which comes last."""
    here = [one for one in findings if one.data == data and one.second == "majority"]
    end = here[-1].question
    return end, {(one.metric, one.tempered): one for one in here if one.question == end}


def _epochs(condition: str) -> int:
    return int(condition.split()[1])


def _fate(found: Mapping[tuple[str, bool], Finding]) -> str:
    correlation = found["entropy_correlation", False]
    kl = [found["kl", tempered] for tempered in (False, True)]
    if correlation.beyond < 0 or all(one.beyond > 0 for one in kl):
        return "is reversed"
    if correlation.beyond > 0 and not any(one.beyond > 0 for one in kl):
        return "survives"
    return "is lost" if correlation.same and all(one.same for one in kl) else "may or may not survive: undecided"


def _parts(found: Iterable[Finding]) -> str:
    """What the fate rests on: where something is open or differs its numbers, else those of the entropy correlation."""
    by_name = {_named(one): one for one in found if one.metric != "accuracy"}
    telling = {name: one for name, one in by_name.items() if not one.same} or {
        name: one for name, one in by_name.items() if one.metric == "entropy_correlation"
    }
    told = [f"{name} {spread(one)}{'' if one.side or one.same else ' is open'}" for name, one in telling.items()]
    same = [name for name, one in by_name.items() if one.same and name not in telling]
    return "; ".join([*told, *([f"{listed(same)} {'is' if len(same) == 1 else 'are'} the same"] if same else [])])


def _named(one: Finding) -> str:
    return f"{METRICS[one.metric].title}{' with a temperature' if one.tempered else ''}"


def _in_head(model: nn.Module, name: str) -> bool:
    """Whether a weight is one of those that decide on classes."""
    net = getattr(model, "net", None)
    return name.startswith("head.") if net is None else not name.startswith(f"net.{net.base_model_prefix}.")


def plain(findings: Sequence[Finding]) -> Iterator[str]:
    """What is left of the entropy correlation and of KL, and whether there was anything to lose."""
    ends = {data: _end(data, findings)[1] for data in dict.fromkeys(one.data for one in findings)}
    left = [found["entropy_correlation", False] for found in ends.values()]
    before = {
        one.data: one for one in findings if (one.question, one.metric) == ("after 0 epochs", "entropy_correlation")
    }

    def fate(one: Finding) -> str:
        told = _fate({place: found.by_numbers for place, found in ends[one.data].items()})
        if told == "is lost" and one.data in before and not before[one.data].side:
            return "soft labels and majority labels are the same, but no difference was shown before it either,"
        return f"uncertainty {told}"

    def numbers(one: Finding) -> str:
        return _parts(found.by_numbers for found in ends[one.data].values())

    if told := in_words(left, fate, numbers):
        yield f"After a second training on majority labels, {told}."
    if told := in_words(before.values(), lambda one: f"{'a' if one.side else 'no'} difference was shown"):
        yield f"Before it, {told}."


STUDY = Study(
    "transfer",
    "Does what soft labels taught survive a second training on majority labels?",
    make,
    _contrasts,
    _told,
    plain,
    checkpoint="last",
)
