"""Which runs are compared with which, and what is refused."""

from __future__ import annotations

import pytest

from dissensus.base.errors import DissensusError, InputError, StoreError
from dissensus.report import collect
from dissensus.report.pairing import LATER, in_order


def test_seeds_without_a_partner_are_left_out_and_said(make_run):
    found = collect([*(make_run("soft", seed) for seed in range(4)), *(make_run("sls", seed) for seed in range(3))])
    assert found.panels[0].seeds == ("0", "1", "2")
    left_out = "At all votes, soft with seed 3 is left out: there is no such run of sls to pair it with."
    assert found.notes == (left_out, "3 seeds can never show a difference here, 6 could.")


def test_numbers_of_votes_stand_in_panels_of_their_own(make_run):
    found = collect(
        [make_run(method, seed, votes=k) for k in ("all", 25, 1) for method in ("soft", "sls") for seed in range(2)]
    )
    assert [panel.votes for panel in found.panels] == ["1 vote an item", "25 votes an item", "all votes"]
    assert len(found.sentences) == 9
    assert found.sentences[0].startswith("1 vote an item. KL: ")


def test_votes_that_are_drawn_with_replacement_are_called_so(make_run):
    """By themselves and beside others: two of one vote are no two votes."""
    drawn = {"resample": "5 votes an item, drawn with replacement", "subsample": "5 votes an item"}
    for how, name in drawn.items():
        (panel,) = collect([make_run("soft", votes=5, draw=how)]).panels
        assert (panel.votes, panel.redrawn) == (name, 5 if how == "resample" else None)
    both = collect([make_run("soft", votes=5, draw=draw) for draw in drawn] + [make_run("soft")])
    assert [panel.votes for panel in both.panels] == [*sorted(drawn.values()), "all votes"]
    assert [panel.slug for panel in both.panels][1] == "5-votes-an-item-drawn-with-replacement"


def test_what_runs_may_differ_in_is_told_with_all_that_occurs(make_run):
    """That votes are drawn is told of runs whose votes are drawn, and of no other."""
    runs = [
        make_run(m, votes=n, draw="resample" if n == 2 else "subsample") for m in ("soft", "sls") for n in (2, "all")
    ]
    assert collect(runs).varying == {
        **{"method": ["soft", "sls"], "votes": [2, "all"], "draw": ["resample"]},
        **{"hold": [1], "target": ["shares"], "recipe.mixup": [0.0], "versions.delivery": [1]},
    }
    assert "draw" not in collect([make_run("soft")]).varying


def test_variants_of_a_method_are_told_apart(make_run):
    found = collect([make_run("sls", hold=hold) for hold in (1, 5)] + [make_run("soft")])
    assert found.methods == ("soft", "sls, hold 1", "sls, hold 5")


def test_mixup_belongs_to_its_method(make_run):
    assert collect([make_run("majority"), make_run("mixup", recipe={"mixup": 1.0})]).methods == ("majority", "mixup")


def test_one_file_that_was_read_in_two_ways_is_told_apart_by_these(make_run):
    runs = [make_run("soft", data={"votes": digest * 64}) for digest in "cd"]
    for run, without in zip(runs, ({}, {"without": ["F-07"]}), strict=True):
        run.about["source"] = {"votes": "labels.csv", "inputs": "x.npy", "options": {"item": "task", **without}}
    told = (
        r"""1 run of labels.csv with data.votes=c{12}\n  1 run of labels.csv \(without=\["F-07"\]\) with data.votes=d"""
    )
    with pytest.raises(InputError, match=told):
        collect(runs)


def test_several_comparisons_are_refused_with_a_way_out(make_run):
    other = {"name": "plants", "votes": "c" * 64}
    runs = [make_run("soft"), make_run("sls"), make_run("soft", data=other)]
    with pytest.raises(
        InputError, match=r"belong to 2 comparisons.*\n  2 runs with data.name=pets.*\n  1 run with"
    ) as error:
        collect(runs)
    assert "--where data.name=pets" in str(error.value)
    assert collect(runs, where={"data.name": "plants"}).methods == ("soft",)
    with pytest.raises(InputError, match=r"no run has data\.name=birds; the runs have: pets, plants"):
        collect(runs, where={"data.name": "birds"})
    with pytest.raises(InputError, match=r"unknown field of a plan 'data\.nane'; did you mean 'data\.name'\?"):
        collect(runs, where={"data.nane": "pets"})


def test_comparisons_of_ones_own_files_are_told_by_file_the_largest_first(make_run):
    digests = {"small.csv": "a1" * 32, "large.csv": "b2" * 32}
    runs = []
    for file, methods in (("small.csv", ["soft"]), ("large.csv", ["soft", "sls"])):
        for method in methods:
            run = make_run(method, data={"name": "own", "votes": digests[file]})
            run.about["source"] = {"votes": file}
            runs.append(run)
    with pytest.raises(InputError) as error:
        collect(runs)
    assert "\n  2 runs of large.csv with data.votes=b2b2b2b2b2b2\n  1 run of small.csv with" in str(error.value)
    assert str(error.value).endswith("--where data.votes=b2b2b2b2b2b2.")
    assert collect(runs, where={"data.votes": "b2b2b2b2b2b2"}).methods == ("soft", "sls")


def test_the_same_data_under_another_name_are_the_same(make_run):
    other = {"name": "animals"}
    assert collect([make_run("soft"), make_run("sls", data=other)]).methods == ("soft", "sls")


def test_a_field_that_plans_got_later_says_what_was_done_before(make_run):
    """A run of an earlier release, whose plan lacks the field, beside one of today's."""
    pytest.importorskip("pydantic")
    from dissensus.experiment.plan import FIRST

    later = {"optimizer": "sgd", "warmup": 0.0}
    assert {f"recipe.{field}": value for field, value in later.items()} == LATER
    assert later.items() <= FIRST["recipe"].items()
    assert collect([make_run("soft"), make_run("sls", recipe=later)]).methods == ("soft", "sls")
    with pytest.raises(InputError, match=r"recipe\.optimizer=adamw"):
        collect([make_run("soft"), make_run("sls", recipe={"optimizer": "adamw"})])


def test_an_encoder_is_the_same_under_another_name(make_run):
    one, other = ({"encoder": name} for name in ("tiny", "elsewhere"))
    assert collect([make_run("soft", model=one), make_run("sls", model=other)]).methods == ("soft", "sls")


def test_another_recipe_is_another_comparison(make_run):
    with pytest.raises(InputError, match=r"recipe\.epochs=6"):
        collect([make_run("soft"), make_run("sls", recipe={"epochs": 9})])


def test_no_runs():
    with pytest.raises(InputError, match="no runs to compare"):
        collect([])


def test_no_shared_seed(make_run):
    with pytest.raises(InputError, match=r"no seed is shared by all methods at all votes.*soft has 0; sls has 1"):
        collect([make_run("soft", 0), make_run("sls", 1)])


def test_a_seed_twice(make_run):
    again = {"name": "animals"}
    with pytest.raises(InputError, match="are both soft with seed 0; remove one"):
        collect([make_run("soft"), make_run("soft", data=again)])


@pytest.mark.parametrize("key", ["ids", "counts"])
def test_other_items_or_votes_cannot_be_paired(make_run, key):
    def moved(predictions):
        predictions[key] = predictions[key][::-1]

    with pytest.raises(InputError, match=f"same seed but other evaluation {key}"):
        collect([make_run("soft"), make_run("sls", edit=moved)])


def test_a_damaged_run_is_named(make_run):
    run = make_run("soft")
    (run.path / "predictions.npz").write_bytes(b"PK\x03\x04 torn")
    with pytest.raises(StoreError, match=f"run {run.name} is damaged"):
        collect([run, make_run("sls")])


@pytest.mark.parametrize("key", ["counts", "best_logits"])
def test_a_run_that_lacks_something_is_named(make_run, key):
    run = make_run("soft", edit=lambda predictions: predictions.pop(key))
    with pytest.raises(DissensusError, match=f"{run.name}.*{key}"):
        collect([run])


def test_a_run_that_does_not_fit_itself_is_named(make_run):
    run = make_run("soft", edit=lambda p: p.update(best_logits=p["best_logits"][1:]))
    with pytest.raises(DissensusError, match=f"run {run.name} is not whole: its best_logits have the shape"):
        collect([run])


def test_methods_in_the_order_of_the_registry():
    assert in_order(["zebra", "majority", "soft", "sls, hold 5", "ape"]) == [
        "soft",
        "sls, hold 5",
        "majority",
        "ape",
        "zebra",
    ]
