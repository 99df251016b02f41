"""What a reader is told of soft labels follows from the ledger: where, with which numbers, and what else says so."""

from __future__ import annotations

import pytest

from dissensus.base.words import listed
from dissensus.experiment.claims import answers, enough_by_set, judge_claims, votes_needed
from dissensus.experiment.papers import Cell, Evidence

from ..soft_labels_world import ALONE, PAPER, SWEPT, Base, as_claimed, changed, world


def test_how_many_votes_are_enough() -> None:
    found = {(name, method): several for name, method, several in enough_by_set(world())}
    assert set(found) == {(name, method) for name in SWEPT for method in ("soft", "sls", "multipass")}
    assert {one.metric: one.votes for one in found[ALONE, "soft"] if not one.added} == {
        "kl": 10,
        "js_distance": 10,
        "accuracy": 1,
        "entropy_correlation": 5,
    }
    gap = world(changed(accuracy=lambda share, cell: share - 0.1 * (cell.votes == 25)))
    assert _enough(gap, "accuracy") == 50  # 25 fails, so nobody looks at what lies below
    few = enough_by_set(world(seeds=4))
    assert {one.votes for _, _, several in few for one in several} == {None}
    assert {one.metric for one in found[ALONE, "soft"] if one.added} == {"entropy_correlation_pearson", "ece"}
    assert not any(one.barred for several in found.values() for one in several)


def test_votes_of_a_model_that_has_learned_nothing_are_told_and_barred() -> None:
    lost = world(changed(kl=lambda kl, cell: kl + 0.3 * (cell.protocol == ALONE)))
    barred = {name: {one.barred for one in several} for name, _, several in enough_by_set(lost)}
    assert barred == {ALONE: {True}, **{name: {False} for name in SWEPT[1:]}}


def test_a_sweep_that_is_not_made_takes_nothing_from_the_others() -> None:
    """Of a model that was run with all votes only, or with some of the few, nothing is said; the answer stands."""
    later = "chaosnli-snli-fine-tuned"
    whole, both = world(), world(protocols=(*SWEPT, later))
    told = votes_needed(whole)
    begun = {run for run, cell in both.runs.items() if cell.protocol != later or cell.votes in ("all", 50)}
    full = {run for run in begun if both.runs[run].protocol != later or both.runs[run].votes == "all"}
    for runs, sets in ((full, set(SWEPT)), (begun, {*SWEPT, later})):
        part = both.only(runs)
        assert votes_needed(part) == told
        assert {name for name, _, _ in enough_by_set(part)} == sets
    assert later in votes_needed(both).short


@pytest.mark.parametrize(("diverged", "votes"), [(1, 10), (2, None)])
def test_votes_are_enough_without_a_run_that_diverged(diverged: int, votes: int | None) -> None:
    whole = world()
    lost = {
        run
        for run, cell in whole.runs.items()
        if (cell.protocol, cell.method, cell.votes) == (ALONE, "soft", 25) and cell.seed < diverged
    }
    found = [one for one in whole.findings if one.run not in lost]
    assert _enough(Evidence(whole.runs, {run: {"diverged": 3} for run in lost}, found), "kl") == votes


def _enough(evidence: Evidence, metric: str) -> int | str | None:
    """With soft labels."""
    several = next(several for name, method, several in enough_by_set(evidence) if (name, method) == (ALONE, "soft"))
    return next(one.votes for one in several if one.metric == metric)


ASKED = ("S1", "A1", "S2", "S5", "S3", "S4", "hard", "votes", "sure")


def told_of(evidence: Evidence) -> dict[str, str]:
    """All that is told, in short and with it."""
    return {name: one.text for name, one in zip(ASKED, answers(judge_claims(evidence, PAPER), evidence), strict=True)}


def short_of(evidence: Evidence) -> dict[str, str]:
    return {name: one.short for name, one in zip(ASKED, answers(judge_claims(evidence, PAPER), evidence), strict=True)}


def test_the_answer_says_where() -> None:
    told, short = told_of(world(noise=1e-6)), short_of(world(noise=1e-6))
    assert short["S1"] == "Yes on all 3 that have learned enough to tell (S1)."
    assert f"Supported on {listed(SWEPT)}." in told["S1"]
    assert f"it helps on {listed(SWEPT)} (by 0.020)" in told["hard"]
    few = ", ".join(f"with 2, 5, 10, 25 and 50 votes on {name} (by 0.020)" for name in SWEPT)
    assert short["hard"].startswith(
        f"At the best epoch it helps {few} and with all votes on {listed(SWEPT)} (by 0.020). At the last epoch † it"
    )
    assert short["sure"] == "From 690 trainings, 10 seeds, 3 of 14 data sets and models."
    barred = told_of(world(changed(majority_class=lambda share, cell: 0.9)))
    assert (
        "3 of 14 data sets and models. On 3 of them nothing of S1, S2, S3, S4, S5, A1, A2 is decided, whatever the "
        "numbers: the hard arm does not beat the most frequent class by five points of accuracy."
    ) in barred["sure"]
    assert f" Nothing is decided on {listed(SWEPT)}." in barred["sure"]
    assert "it helps with" in barred["hard"]  # which has a guard of its own


def test_most_are_counted_and_a_few_are_named() -> None:
    """The reader of a short answer needs to know which one stands apart, not all the others."""
    one_fails = changed(
        entropy_correlation=lambda r, cell: r - 0.5 * (cell.method == "soft" and cell.protocol == ALONE)
    )
    four = ("md-agreement-frozen", *SWEPT)
    short = short_of(world(one_fails, protocols=four))["S2"]
    assert short == f"Yes on 3 of the 4 that have learned enough to tell; no on {ALONE} (S2)."
    told = told_of(world(one_fails, protocols=four))["S2"]
    named = [name for name in PAPER.protocols if name in four and name != ALONE]
    assert f"Supported on {listed(named)}." in told
    assert f"Contradicted on {ALONE}, where the claim says above 0: entropy correlation -0.3 [" in told
    assert short_of(world(one_fails, protocols=SWEPT))["S2"] == f"Yes on {SWEPT[1]} and {SWEPT[2]}; no on {ALONE} (S2)."


def test_short_answers_are_short() -> None:
    """Whoever reads no further reads at most a few lines."""
    every = short_of(world(protocols=tuple(PAPER.protocols)))
    assert {name for name, told in every.items() if len(told) > 400} <= {"hard"}
    assert all(told.startswith(told[0].upper()) and told.endswith(".") for told in every.values())


def test_the_votes_to_pay_for_come_first_and_the_margins_after_them() -> None:
    votes = told_of(world())["votes"]
    buys = "more of them, up to a hundred, made no noticeably better model"
    paid = f"Pay for 10 votes an item: {buys} (on {listed(SWEPT)})."
    assert votes.startswith(f"{paid} On {listed(SWEPT)}, measured with soft labels at the best epoch: enough to come ")
    assert "0.02 of accuracy (1 vote) and 0.05 of EntCorr (5 votes) of what all votes reach, which is KL 0.2" in votes
    assert "Not counted" not in votes
    assert "weak" not in votes
    little = told_of(world(changed(majority_class=lambda share, cell: 0.69)))["votes"]
    assert little.startswith("On weak evidence, pay for 10 votes an item: ")
    assert ". But these models hardly learned their task (soft labels' accuracy is 1." in little
    assert " points above that of the most frequent class), so a better one may use more." in little
    assert "Accuracy is left out: with all votes it is 0.700, 0.010 better than the most frequent class, too" in little
    behind = told_of(world(changed(majority_class=lambda share, cell: 0.73)))["votes"]
    assert " points below that of the most frequent class), so a better one may use more." in behind
    lost = told_of(world(changed(kl=lambda kl, cell: kl + 0.3 * (cell.protocol == ALONE))))
    assert f" model (on {SWEPT[1]} and {SWEPT[2]}). " in lost["votes"]
    assert lost["votes"].endswith(f" Not counted: {ALONE}, where soft labels hardly beat the shares of the classes.")


def test_what_a_model_hardly_does_needs_no_votes_and_is_no_finding() -> None:
    votes = told_of(world(changed(entropy_correlation=lambda r, cell: 0.07)))["votes"]
    assert "EntCorr is left out: with all votes it is 0.070, too little for any number of votes to matter." in votes
    assert "of EntCorr" not in votes


def test_a_lead_over_a_guess_that_is_less_than_two_margins_tells_no_number_of_votes() -> None:
    """A model that reaches nothing reaches it with any number of votes."""
    near = changed(kl=lambda kl, cell: kl + 0.13)  # with all votes .41, and the shares of the classes .45
    votes = told_of(world(near))["votes"]
    assert "KL is left out: with all votes it is 0.410, 0.040 better than the shares of the classes, too" in votes
    assert "0.025 of KL" not in votes
    little = {
        "kl": lambda kl, cell: kl + 0.13,
        "accuracy": lambda share, cell: 0.51,
        "entropy_correlation": lambda r, cell: 0.05,
    }
    by_js_alone = changed(js_distance=lambda js, cell: js + 0.3 * (cell.votes in (25, 50)), **little)
    told = told_of(world(by_js_alone))["votes"]
    assert told.startswith("On weak evidence, pay for more than 50 votes an item: with fewer, models were worse")
    nothing = told_of(world(changed(js_distance=lambda js, cell: 0.19, **little)))["votes"]
    names = listed(SWEPT)
    assert nothing.startswith(f"{names} cannot tell: what all votes teach there is less than twice the margins. KL is")
    assert "JS distance is left out: with all votes it is 0.190, 0.010 better than the shares of the cl" in nothing


def test_the_last_epoch_may_need_more_votes() -> None:
    later = changed(kl=lambda kl, cell: kl + 0.1 * (cell.votes == 10))
    assert "At the last epoch" not in told_of(world())["votes"]
    assert "At the last epoch, where none is chosen, it takes 25 votes." in told_of(world(at_last=later))["votes"]


def test_what_contradicts_a_claim_is_told_with_its_numbers() -> None:
    told = told_of(world(changed(best_epoch=lambda epoch, cell: epoch - 15 * (cell.method == "soft")), noise=1e-9))
    both = "best epoch, as a share -0.075 [-0.075, -0.075]; best epoch, in epochs -3 [-3, -3]"
    assert f"No on all 3 that have learned enough to tell (S4). Contradicted on {listed(SWEPT)}." in told["S4"]
    numbers = f"{both}; loss from best to last 0.19 [0.19, 0.19], supported."
    assert f"Contradicted on {ALONE}, where the claim says above 0: {numbers}" in told["S4"]


def test_a_distance_that_says_otherwise_is_told() -> None:
    """KL decides S1; JS distance must not be hidden where it is the other way, nor that a temperature turns it."""

    def sharper(metric: str, cell: Cell, part: str, tempered: bool) -> float:
        value = as_claimed(metric, cell, part, tempered)
        if metric == "js_distance" and not tempered:
            return 0.3 if cell.method == "soft" else 0.2
        return value

    other = told_of(world(sharper, noise=1e-6))["S1"]
    by = "By JS distance, which decides no verdict, soft labels as trained are farther from people on "
    assert by + ALONE in short_of(world(sharper, noise=1e-6))["S1"]
    assert f"By JS distance, soft labels as trained are 50 % farther from people on {ALONE}" in other
    assert "; with a temperature in both arms they are nearer on" in other
    assert "farther" not in told_of(world(noise=1e-6))["S1"]


def test_too_little_confidence_is_no_false_one() -> None:
    def unsure(metric: str, cell: Cell, part: str, tempered: bool) -> float:
        if metric == "entropy_gap":
            return 0.6 if cell.method == "soft" else 0.5
        return as_claimed(metric, cell, part, tempered)

    mended = (
        "both arms are less sure there than people, by 0.50 nats of entropy with majority labels and 0.60 with soft"
    )
    assert mended in told_of(world(unsure))["S5"]
    sure = told_of(world(lambda *what: -unsure(*what) if what[0] == "entropy_gap" else unsure(*what)))["S5"]
    assert "Contradicted" in sure
    assert "less sure there than people" not in sure
    one = told_of(world(lambda *what: -0.1 if what[0] == "entropy_gap" and what[1].method != "soft" else unsure(*what)))
    assert "Contradicted" in one["S5"]
    assert "less sure there than people" not in one["S5"]  # with majority labels it is too sure


def test_what_a_temperature_turns_into_a_loss_is_told() -> None:
    told = told_of(world(sharp(-0.01), noise=1e-6))["hard"]
    assert f"it helps at the best epoch on {ALONE} (by 0.020)" in told
    assert (
        "but with a temperature in both arms that is not shown; it then loses in 10 of 10 comparisons (by 0.01" in told
    )


def test_models_that_have_learned_too_little_are_told_apart() -> None:
    poor = changed(majority_class=lambda share, cell: 0.9 if cell.protocol == ALONE else 0.35)
    told = told_of(world(poor))
    assert told["S1"].startswith(f"Yes on {SWEPT[1]} and {SWEPT[2]} (S1).")
    assert ALONE not in told["S1"]
    alone = " By the numbers alone there would be S1 supported on 1, A1 supported on 1, S2 supported on 1, "
    assert alone in told["sure"]
    assert "By the numbers alone" not in told_of(world())["sure"]


def test_averages_are_named_and_say_why_nothing_is_decided() -> None:
    frozen = tuple(name for name in PAPER.protocols if name.endswith("-frozen"))
    told = told_of(world(changed(majority_class=lambda share, cell: 0.9), protocols=frozen))
    assert told["S1"] == "Undecided, since no model has learned enough to tell (S1)."
    assert told["sure"].endswith(
        " Means over six text sets with a frozen encoder decide nothing: of each, fewer than two models have learned "
        "enough."
    )
    every = told_of(world(protocols=tuple(PAPER.protocols)))
    assert " Supported on average over six text sets with a frozen encoder: entropy correlation 0.2" in every["S2"]
    assert " Supported on average over all that learned enough †: entropy correlation 0.2" in every["S2"]
    assert "Means over" not in every["sure"]
    assert every["sure"].endswith(" † Added when results had been seen.")
    assert "†" not in told["sure"]


def hard_by(more: float) -> Base:
    """Hard deliveries, which are ahead by .020, with so much more of soft NLL."""
    return changed(soft_nll=lambda nll, cell: nll + more * (cell.method in ("sls", "multipass") and cell.votes != 1))


@pytest.mark.parametrize(("more", "word", "size"), [(-0.04, "helps", "0.060"), (0.04, "loses", "0.020")])
def test_what_hard_delivery_does_to_the_last_epoch_is_told_of_the_average(more: float, word: str, size: str) -> None:
    frozen = tuple(name for name in PAPER.protocols if name.endswith("-frozen"))
    told = told_of(world(hard_by(more), protocols=frozen, noise=1e-6))["hard"]
    mean = f"at the last epoch it {word} on average over the sets on which a frozen encoder has learned something "
    assert f"{mean}(by {size})" in told
    assert mean not in told_of(world(hard_by(more), protocols=SWEPT))["hard"]


def test_the_answer_on_texts_has_images_in_a_sentence_of_their_own() -> None:
    images = ("cifar10h-resnet18", "cifar10h-small-cnn")
    texts, _, apart = told_of(world(noise=1e-6, protocols=(*SWEPT, *images)))["hard"].partition("On images, ")
    assert apart == (
        f"with all votes, it helps on {images[0]} (by 0.020); "
        f"with 5 votes an image, it helps on {images[1]} (by 0.020)."
    )
    assert "cifar10h" not in texts


def test_one_delivery_that_loses_on_images_is_not_nothing() -> None:
    """The claim is about either and stays open; but of this one something is shown."""
    first, second = images = ("cifar10h-resnet18", "cifar10h-small-cnn")

    def one_loses(nll: float, cell: Cell) -> float:
        here = cell.protocol == second
        return nll + (0.02 + 0.05 * (cell.method == "sls")) * (here and cell.method in ("sls", "multipass"))

    seen = world(changed(soft_nll=one_loses), protocols=images)
    assert judge_claims(seen, PAPER).row("A3", second).verdict == "undecided"
    apart = told_of(seen)["hard"].partition("On images, ")[2]
    assert apart.startswith(f"with all votes, it helps on {first} (by 0.02")
    assert f"; with 5 votes an image, sls loses on {second} (by 0.05" in apart
    assert apart.endswith("), while nothing is shown of the other delivery.")


def sharp(more: float) -> Base:
    """All that hard deliveries are ahead by is sharpness, but for so much."""

    def base(metric: str, cell: Cell, part: str, tempered: bool) -> float:
        value = as_claimed(metric, cell, part, tempered)
        ahead = cell.method in ("sls", "multipass") and cell.votes != 1
        return value + (0.02 - more) * (ahead and tempered) if metric == "soft_nll" else value

    return base


def test_how_much_of_a_gain_is_left_with_a_temperature_is_told() -> None:
    frozen = tuple(name for name in PAPER.protocols if name.endswith("-frozen"))
    left = told_of(world(sharp(0.004), protocols=frozen, noise=1e-6))["hard"]
    mean = "helps on average over the sets on which a frozen encoder has learned something (by 0.020)"
    assert f"{mean}, with a temperature in both arms too (by 0.004)." in left
    gone = told_of(world(sharp(0.0), protocols=frozen))["hard"]
    assert "), but with a temperature in both arms that is not shown." in gone.partition(mean[:60])[2]
    barred = told_of(world(lambda *what: sharp(0.004)(*what) + 0.3 * (what[0] == "kl"), noise=1e-6))["hard"]
    assert (
        f"on {ALONE} with 2, 5, 10, 25 and 50 votes (by 0.020), with a temperature in both arms too (by 0.004)"
        in barred
    )


def test_the_number_of_votes_at_which_hard_delivery_helps_is_told() -> None:
    def at_two(metric: str, cell: Cell, part: str, tempered: bool) -> float:
        value = as_claimed(metric, cell, part, False)
        ahead = cell.method in ("sls", "multipass") and cell.votes != 1
        return value + 0.02 * ahead * (tempered or cell.votes != 2) if metric == "soft_nll" else value

    told = told_of(world(at_two))["hard"]
    assert f"With 2 votes an item it helps at the best epoch on {ALONE} (by 0.0" in told
    assert "), but with a temperature in both arms that is not shown." in told
    later = f"it helps at the last epoch, where none is chosen, on {ALONE} (by 0.0"
    assert later in told
    assert "; added when results had been seen), but" in told


def test_few_votes_of_which_seeds_are_missing_are_not_told_as_a_verdict() -> None:
    told = told_of(world(hard_by(0.04), seeds=7, noise=1e-6))["hard"]
    assert told.count(f"Whether it helps on {ALONE} with any of 2 to 50 votes is not known yet (only 7 of 10") == 1
    assert "not shown to help with any of" not in told
    assert "is not known yet (" not in told_of(world(hard_by(0.04), noise=1e-6))["hard"]


def test_numbers_of_models_that_have_learned_too_little_stand_apart() -> None:
    told = told_of(world(changed(kl=lambda kl, cell: kl + 0.3)))["hard"]
    assert (
        "By the numbers alone, since soft labels are hardly better than the shares of the classes by then, or" in told
    )
    short = short_of(world(changed(kl=lambda kl, cell: kl + 0.3)))["hard"]
    assert f"less by the numbers: on {len(SWEPT)} of {len(SWEPT)} sets and models with 2, 5, 10, 25 and 50 vo" in short
    assert short.endswith("; with a temperature in both arms it still helps in 30 of 30 comparisons.")
    for name in SWEPT:
        assert f"on {name} with 2, 5, 10, 25 and 50 votes (by 0.0" in told
    assert "it helps at the last epoch, where none is chosen," not in told
    assert "By the numbers alone" not in told_of(world())["hard"]


def test_a_loss_that_is_sure_is_told_with_its_size() -> None:
    told = told_of(world(hard_by(0.04), noise=1e-6))["hard"]
    assert f"loses to soft labels on {listed(SWEPT)} (by 0.020)" in told
    assert f"At the best epoch on {ALONE} it is not shown to help with any of 2 to 50 votes; it loses in 10 of" in told
