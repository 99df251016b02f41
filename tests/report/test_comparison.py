"""Runs to judged numbers: against direct computation, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import log_softmax

from dissensus import stats
from dissensus.metrics import Estimate
from dissensus.report import RULES, Judgement, Measure, collect, write_page
from dissensus.report.comparison import learned_little
from dissensus.votes import Votes


def direct_kl(run) -> float:
    """Mean KL(human || model) from the definition, with SciPy's softmax."""
    counts = run.predictions["counts"]
    human = counts / counts.sum(1, keepdims=True)
    log_probs = log_softmax(run.predictions["best_logits"].astype(np.float64), axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(human > 0, human * (np.log(human) - log_probs), 0.0)
    return float(terms.sum(1).mean())


def test_scores_are_those_of_the_runs(runs, comparison):
    (panel,) = comparison.panels
    assert panel.methods == ("soft", "sls", "multipass", "majority")
    assert panel.seeds == tuple("01234567")
    for method in panel.methods:
        expected = [direct_kl(run) for run in runs if run.plan["method"] == method]
        np.testing.assert_allclose(panel.scores[Measure("kl")][method], expected, rtol=1e-9)
        interval = panel.interval(Measure("kl"), method)
        assert interval == stats.bootstrap(panel.scores[Measure("kl")][method])


def test_verdicts_are_those_of_the_rules(comparison):
    (panel,) = comparison.panels
    judgement = panel.judgement(Measure("kl"))
    direct = stats.judge({m: panel.scores[Measure("kl")][m] for m in panel.methods}, margin=0.025)
    assert list(judgement.verdicts) == direct
    assert judgement.best == ("multipass", "sls", "soft")
    assert comparison.sentences[0].startswith("KL: soft, sls and multipass each beat majority")
    assert [s.partition(":")[0] for s in comparison.sentences] == ["KL", "KL after temperature", "Entropy correlation"]


def test_each_metric_is_judged_in_its_own_direction(make_run):
    def mismatched(predictions):
        for name in ("best_logits", "last_logits"):
            predictions[name] = np.roll(predictions[name], 1, axis=0)

    runs = [make_run(m, seed, edit=edit) for m, edit in (("soft", None), ("sls", mismatched)) for seed in range(6)]
    (panel,) = collect(runs).panels
    assert [verdict.winner for judgement in panel.judgements for verdict in judgement.verdicts] == ["soft"] * 6


def test_who_beats_one_and_is_beaten_by_another_is_not_best():
    spread = np.linspace(0, 0.01, 8)
    verdicts = stats.judge({"soft": 0.3 + spread, "sls": 0.4 + 2 * spread, "majority": 0.5 + 3 * spread}, margin=0.025)
    judgement = Judgement(RULES[0], "best", 8, tuple(verdicts), unfit=())
    assert {verdict.winner for verdict in verdicts} == {"soft", "sls"}
    assert judgement.best == ("soft",)


@pytest.mark.parametrize(
    ("number", "counts", "told"),
    [
        (2, [[1, 0], [0, 1], [2, 0]], "2 of 3 items have only one"),
        (5, [[1, 0], [3, 2], [0, 0]], "1 of 3 items has fewer than 5"),
        (1, [[1, 0], [0, 1]], None),
    ],
)
def test_items_with_fewer_votes_than_are_drawn_are_counted(make_run, number, counts, told):
    votes = Votes.from_counts(counts)
    found = collect([make_run("soft", votes=number, draw="resample")], votes=votes)
    (panel,) = found.panels
    assert found.short_of(panel) == told
    assert found.title_of(panel) == panel.votes + (f"; {told}" if told else "")
    real = collect([make_run("soft", votes=number, draw="subsample")], votes=votes)
    assert real.short_of(real.panels[0]) is None
    unknown = collect([make_run("soft", votes=number, draw="resample")])
    assert unknown.short_of(unknown.panels[0]) is None


def test_both_checkpoints_are_judged(comparison):
    checkpoints = [judgement.checkpoint for judgement in comparison.panels[0].judgements]
    assert checkpoints == ["best"] * 3 + ["last"] * 3


def test_too_few_seeds_are_said(make_run):
    found = collect([make_run(method, seed) for method in ("soft", "majority") for seed in range(3)])
    assert found.sentences[0] == "KL: soft against majority is undecided."
    assert found.notes == ("3 seeds can never show a difference here, 6 could.",)  # once, whatever is judged


def test_scores_that_are_equal_in_every_seed_are_said_to_be():
    """As with one vote an item, where more seeds would show nothing either."""
    scores = np.array([0.3, 0.5, 0.4])
    verdicts = stats.judge({"soft": scores, "sls": scores, "majority": scores}, margin=0.025)
    judgement = Judgement(RULES[0], "best", 3, tuple(verdicts), unfit=())
    assert judgement.words == "soft, sls and majority have the same score in every seed"
    apart = stats.judge({"soft": scores, "sls": scores, "majority": scores[::-1]}, margin=0.025)
    assert not Judgement(RULES[0], "best", 3, tuple(apart), unfit=()).identical


def test_methods_that_gave_the_same_predictions_are_told(make_run, outline_of, tmp_path):
    """As where a method of one's own delivers what another one does; one number apart is not the same."""

    def copied(seed):
        def edit(predictions):
            for name, array in make_run("soft", seed).predictions.items():
                predictions[name] = array.copy()

        return edit

    def nearly(seed):
        def edit(predictions):
            copied(seed)(predictions)
            predictions["last_logits"][7, 1] += 1e-5

        return edit

    told = (
        "soft and mine gave the same predictions, bit for bit, in every seed: they trained alike, whatever their names "
        "say, and are the same for that reason."
    )
    soft = [make_run("soft", seed) for seed in range(2)]
    others = [*(make_run("majority", seed) for seed in range(2)), *soft]
    found = collect([*others, *(make_run("mine", seed, edit=copied(seed)) for seed in range(2))])
    assert [note for note in found.notes if "gave the same" in note] == [told]
    assert told in outline_of(write_page(found, tmp_path / "page").read_text("utf-8")).text
    half = [make_run("half", 0, edit=copied(0)), make_run("half", 1, edit=nearly(1))]
    assert not any("gave the same" in note for note in collect([*others, *half]).notes)
    few = [make_run(method, seed, votes=5) for method in ("soft", "majority") for seed in range(2)]
    several = collect([*others, *few, *(make_run("mine", seed, edit=copied(seed)) for seed in range(2))], None)
    assert "With all votes " + told in several.notes


def test_methods_that_diverged_have_no_predictions_to_be_the_same(make_run):
    def diverged(predictions):
        for name in ("best_logits", "last_logits"):
            predictions[name][:] = np.nan

    runs = [make_run(method, edit=diverged) for method in ("soft", "sls")]
    assert not any("gave the same" in note for note in collect([*runs, make_run("majority")]).notes)


def test_one_seed_decides_nothing(make_run):
    found = collect([make_run("soft"), make_run("majority")])
    assert found.sentences[0] == "KL: one seed decides nothing."
    assert np.isnan(found.panels[0].interval(Measure("kl"), "soft").low)


def test_one_method_has_nothing_to_be_compared_with(make_run):
    found = collect([make_run("soft", seed) for seed in range(3)])
    assert found.sentences[0] == "KL: there is only one method, so nothing to compare."


def test_no_truth(make_run):
    found = collect([make_run("soft", seed, truth=False) for seed in range(2)])
    assert {measure.against for measure in found.panels[0].scores} == {"human"}
    assert "kl" in found.floors


def test_models_that_say_the_same_of_every_item_have_learned_nothing(make_run):
    def blind(predictions):
        shares = (predictions["counts"] / predictions["counts"].sum(1, keepdims=True)).mean(0)
        for name in ("best_logits", "last_logits", "select_best_logits", "select_last_logits"):
            if name in predictions:
                predictions[name][:] = np.log(shares + 1e-9)

    found = collect([make_run(method, seed, edit=blind) for method in ("soft", "sls") for seed in range(2)])
    (alike, note) = found.notes
    assert alike.startswith("soft and sls gave the same predictions")
    assert note.startswith("With all votes no method has learned much: the lowest KL after a temperature is ")
    assert f"of every item scores {found.class_shares['kl'].mean:.3f}. " in note
    one_learned = [make_run("majority", seed) for seed in range(2)]
    found = collect([*one_learned, *(make_run("soft", seed, edit=blind) for seed in range(2))])
    assert not any("learned" in note for note in found.notes)


@pytest.mark.parametrize(("ahead", "little"), [(0.9, True), (1.1, False)])
def test_who_beats_the_shares_by_the_margin_has_learned(make_run, ahead, little):
    """The margin of the rule on KL after a temperature, from the best method to the shares."""
    (panel,) = collect([make_run(method, seed) for method in ("soft", "majority") for seed in range(2)]).panels
    best = min(scores.mean() for scores in panel.scores[Measure("kl", tempered=True)].values())
    (margin,) = (rule.margin for rule in RULES if rule.metric == "kl" and rule.tempered)
    note = learned_little(panel, {"kl": Estimate(float(best) + ahead * margin, 0.0)})
    assert (note is not None) == little


def test_without_selection_items_it_is_said(make_run):
    found = collect([make_run("soft", seed, select=False) for seed in range(2)])
    assert found.panels[0].cross_fitted
    assert "cross-fitted" in found.notes[0]


def test_scores_that_are_not_finite_are_not_judged(make_run):
    def diverged(predictions):
        predictions["best_logits"][:] = np.nan

    runs = [make_run(method, seed) for method in ("soft", "sls") for seed in range(3)]
    runs += [make_run("majority", 0, edit=diverged), make_run("majority", 1), make_run("majority", 2)]
    found = collect(runs)
    assert "majority is not judged, since not every seed has a finite score; soft" in found.sentences[0]
    interval = found.panels[0].interval(Measure("kl"), "majority")
    assert not np.isfinite(interval.mean)
    assert np.isnan(interval.low)
