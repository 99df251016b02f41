from dataclasses import replace

import numpy as np
import pytest
import torch

from dissensus.base.errors import InputError
from dissensus.datasets import Dataset, Texts
from dissensus.experiment.parts import parts
from dissensus.experiment.studies import transfer as study
from dissensus.experiment.studies.score import Score
from dissensus.experiment.studies.trial import SELECT, TEST, After, Asked, setting
from dissensus.models import MLP
from dissensus.votes import Votes

chance = np.random.default_rng(1)
WORDS = ("a", "man", "dog", "cat", "sleeps", "runs", "eats", "is", "not", "outside", "rests", "in", "the", "park")


@pytest.fixture(scope="module")
def other(small):
    """Items of the same kind, whose features lie elsewhere."""
    data = small.data
    moved = (data.array + 1).astype(np.float32)
    return replace(data, name="other", inputs=moved, votes=data.votes.resample(2, seed=4))


def test_two_trainings_for_every_start(small, other, scores_of):
    rows = scores_of(*(study.transfer(small.data, other, seed, small.how) for seed in (0, 1)))
    found = {(row.method, row.condition) for row in rows}
    assert found == {
        ("soft", "after 0 epochs"), ("majority", "after 0 epochs"),
        *((before, f"after {epochs} epochs") for before in study.BEFORE for epochs in (1, 10)),
    }  # fmt: skip
    (told,) = study.STUDY.verdicts(study.STUDY.judge(rows))
    assert told.startswith("small to other: after 10 epochs of majority labels, uncertainty ")


def test_before_a_second_training_a_model_says_what_the_first_one_taught(small, trials):
    """Carried over to its own data set, an untrained model predicts as the best epoch of the first training did."""
    here = replace(small.how, recipe=replace(small.how.recipe, **study.scale(small.data, 0)))
    asked = Asked(small.data, small.data.votes, "soft", 0, here)
    first, _ = trials([asked, replace(asked, after=After(0, lambda said: small.how.make(small.data)))])
    make = study.carried(small.how.make(small.data), first.state, head=True)
    said = study.untrained(small.data, study.one_vote(small.data.votes, 0), 0, here, make)
    np.testing.assert_allclose(said.logits["last"], first.logits["best"], rtol=1e-5, atol=1e-6)


def test_the_scale_is_that_of_the_first_training_items(small):
    scale = study.scale(small.data, 3)
    train = small.data.array[parts(small.data, TEST, SELECT, 3).train]
    np.testing.assert_allclose(scale["mean"], train.mean(0), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(scale["std"], train.std(0), rtol=1e-4)


def test_without_a_head_the_rest_is_carried_over():
    first = MLP((4,), 3, width=8)
    begun = study.carried(lambda: MLP((4,), 2, width=8), first.state_dict(), head=False)()
    torch.testing.assert_close(begun.trunk[0].weight, first.trunk[0].weight)
    assert begun.head.out_features == 2


def test_what_does_not_fit_is_said():
    state = MLP((4,), 3, width=8).state_dict()
    with pytest.raises(InputError, match=r"weights of another shape \(trunk.0.weight\)"):
        study.carried(lambda: MLP((5,), 3, width=8), state, head=True)()
    with pytest.raises(InputError, match="all belong to the head"):
        study.carried(lambda: MLP((5,), 3, width=8), {"head.bias": state["head.bias"]}, head=False)()


def texts(name, items, classes, pairs):
    def sentences():
        return [" ".join(chance.choice(WORDS, 4)) for _ in range(items)]

    votes = Votes.from_counts(chance.multinomial(5, np.full(len(classes), 1 / len(classes)), items), classes=classes)
    return Dataset(name, Texts(sentences(), sentences() if pairs else None), votes)


def test_a_whole_encoder_is_carried_on_to_other_classes(tiny_encoder, scores_of):
    nli, abuse = texts("nli", 60, ("e", "n", "c"), True), texts("abuse", 60, (0, 1), False)
    how = setting(nli, "fine-tuned", str(tiny_encoder), epochs=2, precision="fp32")
    rows = scores_of(study.transfer(nli, abuse, 0, how))
    assert {(row.method, row.condition) for row in rows} == {
        (before, f"after {epochs} epochs") for before in study.BEFORE for epochs in (1, 2)
    }
    kl = {row.method: row.values["kl"] for row in rows if row.condition == "after 2 epochs"}
    assert len(set(kl.values())) == 3  # the three begin at different places


def test_a_fine_tuned_head_is_drawn_afresh_and_its_encoder_is_not(tiny_encoder):
    nli, abuse = texts("nli", 40, ("e", "n", "c"), True), texts("abuse", 40, (0, 1), False)
    how = setting(nli, "fine-tuned", str(tiny_encoder), precision="fp32")
    first = how.make(how.see(nli))()
    with torch.no_grad():
        for parameter in first.parameters():
            parameter.add_(1.0)
    begun = study.carried(how.make(how.see(abuse)), first.state_dict(), head=False)()
    ours, theirs = begun.state_dict(), first.state_dict()
    for name in ours:
        assert torch.equal(ours[name], theirs[name]) == name.startswith("net.bert."), name


def rows_of(correlation, kl, spread=0.002):
    """Ten seeds; what soft labels are ahead by after all epochs."""
    noise = np.random.default_rng(0).normal(0, 0.002, 10)
    open_ = spread / 0.002 * (noise - noise.mean())
    for seed in range(10):
        for method in study.BEFORE:
            for tempered in (False, True):
                ahead = method == "soft"
                values = {"entropy_correlation": 0.3 + ahead * (correlation + noise[seed])}
                values |= {
                    "kl": 0.3 + ahead * (kl + (noise if tempered else open_)[seed]),
                    "accuracy": 0.7,
                    "beyond_class": 0.2,
                }
                yield Score("a to b", "after 9 epochs", method, seed, "votes", "last", tempered, 300, values)


@pytest.mark.parametrize(
    ("correlation", "kl", "fate"),
    [
        (0.1, 0.0, "survives"),
        (0.1, -0.1, "survives"),
        (0.1, 0.1, "is reversed"),
        (-0.1, 0.0, "is reversed"),
        (0.0, 0.0, "is lost"),
        (0.0, -0.1, "may or may not survive: undecided"),
    ],
)
def test_the_rule_has_every_answer(correlation, kl, fate):
    (told,) = study.STUDY.verdicts(study.STUDY.judge(list(rows_of(correlation, kl))))
    assert told == f"a to b: after 9 epochs of majority labels, uncertainty {fate}."


@pytest.mark.parametrize(
    ("ahead", "told", "shown"),
    [
        (0.0, "soft labels and majority labels are the same, but no difference was shown before it either,", "no"),
        (0.2, "uncertainty is lost", "a"),
    ],
)
def test_what_there_was_to_lose_is_told_beside_what_is_lost(ahead, told, shown):
    before = [replace(row, condition="after 0 epochs") for row in rows_of(ahead, 0.0) if row.method != "none"]
    after, start = study.plain(study.STUDY.judge([*before, *rows_of(0.0, 0.0)]))
    assert after.startswith(f"After a second training on majority labels, {told} on a to b (")
    assert start.startswith(f"Before it, {shown} difference was shown on a to b (")


def test_what_is_quoted_is_what_is_open():
    (told,) = study.plain(study.STUDY.judge(list(rows_of(0.0, 0.0, spread=0.1))))
    assert "may or may not survive: undecided on a to b (KL +0.000 [-0.0" in told
    assert told.endswith("] is open; KL with a temperature and EntCorr are the same).")
