import numpy as np
from scipy.special import softmax

from dissensus.evaluation import Predictions


def test_probs_are_the_softmax_in_float64():
    logits = np.random.default_rng(0).normal(0, 5, (50, 7)).astype(np.float32)
    predictions = Predictions(logits, epoch=4)
    assert predictions.probs.dtype == np.float64
    np.testing.assert_allclose(predictions.probs, softmax(logits.astype(np.float64), axis=1), rtol=1e-12)


def test_large_logits_neither_overflow_nor_vanish_into_nan():
    probs = Predictions(np.array([[1e30, 0.0], [-1e4, -1e4]], np.float32), epoch=0).probs
    np.testing.assert_allclose(probs, [[1, 0], [0.5, 0.5]], atol=1e-300)


def test_features_are_there_only_where_asked_for():
    assert Predictions(np.zeros((1, 2)), epoch=0).features is None
