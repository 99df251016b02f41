import numpy as np

from dissensus.experiment.studies import real_sparsity as study
from dissensus.experiment.studies.score import Score


def test_every_arm_is_trained_and_judged_by_the_hundred(small, scores_of):
    original = small.data.votes.subsample(5, seed=9).take(np.arange(90)[::-1])  # in another order
    rows = scores_of(*(study.real_sparsity(small.data, original, seed, small.how) for seed in (0, 1)))
    arms = {(row.condition, row.method) for row in rows}
    assert len(arms) == 3 * 4 + 2 + 3
    trained = [row for row in rows if row.method != study.ALONE]
    assert {row.against for row in trained} == {"hundred"}
    assert len(trained) == 14 * 2 * 4
    assert len(rows) == len(trained) + 2 * 3
    assert study.STUDY.verdicts(study.STUDY.judge(rows))


def test_original_votes_are_brought_into_the_order_of_the_items(small, scores_of):
    shuffled = small.data.votes.take(np.random.default_rng(0).permutation(90))
    rows = scores_of(study.real_sparsity(small.data, shuffled, 0, small.how))
    kl = {
        (row.condition, row.method): row.values["kl"] for row in rows if row.checkpoint == "last" and not row.tempered
    }
    assert kl["original", "soft"] == kl["hundred", "soft"]  # the same votes, whatever their order


def scores(**kl):
    """Ten seeds of every arm, with these KL; the entropy correlation follows it."""
    noise = np.random.default_rng(0).normal(0, 0.001, 10)
    levels = {(condition, method): 0.3 for condition in (*study.FEW, "hundred") for method in study.METHODS}
    for name, value in kl.items():
        condition, method = name.replace("_", " ").rsplit(" ", 1)
        levels[condition, method] = value
    for (condition, method), level in levels.items():
        for seed in range(10):
            for tempered in (False, True):
                arm_noise = noise[(seed * 3 + len(condition + method)) % 10]
                values = {"kl": level + arm_noise, "entropy_correlation": 0.5 - level / 2 + arm_noise, "accuracy": 0.7}
                values |= {"beyond_class": 0.2, "beyond_shares": 0.1}
                yield Score("set", condition, method, seed, "hundred", "best", tempered, 300, values)


def told(**kl):
    return study.STUDY.verdicts(study.STUDY.judge(list(scores(**kl))))


def test_where_nothing_differs_nothing_is_claimed():
    hard, like, gains = told()
    assert hard.endswith("hard delivery neither helps nor hurts for certain (KL of sls same, of multipass same).")
    assert like == "set: real votes are like five that are drawn from the hundred."
    assert "sls same, multipass same" in gains


def test_hard_delivery_helps_or_hurts():
    assert "hard delivery helps (" in told(original_sls=0.2)[0]
    assert "hard delivery hurts (" in told(original_multipass=0.5)[0]
    assert "neither" in told(original_sls=0.2, original_multipass=0.5)[0]


def test_the_choice_of_items_explains_what_it_explains():
    real = {f"original_{method}": 0.6 for method in study.METHODS}
    chosen = {f"three_agree_{method}": 0.6 for method in study.METHODS}
    assert "on kl and entropy_correlation; the choice of items" in told(**real, **chosen)[1]
    assert told(**real, **chosen)[1].endswith("explains it.")
    assert told(**real)[1].endswith("does not explain it.")
    assert told(**real, three_agree_soft=0.5)[1].endswith("explains it in part.")


def test_what_hard_deliveries_gain_is_compared_between_the_kinds_of_votes():
    assert "sls lower" in told(original_sls=0.2)[2]
    assert "sls same" in told(original_sls=0.2, simulated_sls=0.2)[2]


def test_hard_delivery_on_real_votes_in_plain_words():
    (told,) = study.plain(study.STUDY.judge(list(scores(original_sls=0.2, original_multipass=0.5))))
    assert told.startswith("Trained on five real votes, sls is nearer to people than soft labels on set (-0.1")
    assert "; multipass is farther from people than soft labels on set (+0.2" in told
    (same,) = study.plain(study.STUDY.judge(list(scores())))
    assert "sls is as near to people as soft labels on set" in same
