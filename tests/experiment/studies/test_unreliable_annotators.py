import numpy as np

from dissensus.experiment.studies import unreliable_annotators as study
from dissensus.votes.synthetic import expected


def test_pools_are_as_reliable_as_they_are_called():
    truth = np.eye(3)
    np.testing.assert_allclose(np.diag(expected(truth, study.pools(3)["reliable"])), 0.95)
    np.testing.assert_allclose(np.diag(expected(truth, study.pools(3)["half noisy"])), (0.95 + 1 / 3) / 2)


def test_one_answer_or_many():
    kinds = study.truths(np.array([[0.6, 0.4], [0.5, 0.5]]))
    np.testing.assert_array_equal(kinds["divided"], [[0.6, 0.4], [0.5, 0.5]])
    np.testing.assert_array_equal(kinds["agreed"], [[1, 0], [1, 0]])


def test_every_arm_is_judged_by_the_truth(small, scores_of):
    rows = scores_of(*(study.unreliable_annotators(small.data, seed, small.how) for seed in (0, 1)))
    assert len(rows) == 2 * 2 * 2 * 3 * 4
    agreed = next(row for row in rows if row.condition == "agreed, reliable")
    assert np.isnan(agreed.values["entropy_correlation"])
    told = study.STUDY.verdicts(study.STUDY.judge(rows))
    assert len(told) == 2 * 3
    assert "S2" in told[0]
    assert "S2" not in told[3]  # one answer has no entropy


def test_noise_shows(small, scores_of):
    rows = scores_of(*(study.unreliable_annotators(small.data, seed, small.how) for seed in range(3)))
    kl = {
        pool: np.mean([row.values["kl"] for row in rows if row.condition == f"agreed, {pool}" and row.method == "soft"])
        for pool in study.POOLS
    }
    assert kl["half noisy"] > kl["reliable"]


def test_a_large_set_is_cut(small):
    cut = study.some(small.data, 30)
    assert len(cut) == 30
    rows = np.searchsorted(small.data.votes.items, cut.votes.items)
    np.testing.assert_array_equal(cut.inputs, small.data.array[rows])
    np.testing.assert_array_equal(cut.labels, small.data.labels[rows])
    assert study.some(small.data, 90) is small.data
