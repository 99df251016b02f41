from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import fields
from multiprocessing.reduction import ForkingPickler

import pytest

from dissensus.base.errors import PlanError
from dissensus.delivery import DELIVERIES, METHODS
from dissensus.experiment import Plan
from dissensus.experiment.plan import FIRST, RecipePart, refuse_other_versions, versions
from dissensus.models import MODELS
from dissensus.models.text import TEXT_MODELS
from dissensus.records.canonical import content_name
from dissensus.training import Recipe


def values(**changes):
    plan = {
        "data": {"name": "mine", "votes": "a" * 64, "inputs": "b" * 64, "classes": ["no", "yes"]},
        "method": "soft",
        "model": {"name": "mlp"},
        "seeds": 0,
    }
    return plan | changes


def changed(table, **changes):
    return values(**{table: values()[table] | changes})


# The names of runs that exist somewhere. If one of these tests fails, the change renames runs that are done: a field
# was added without its first default in FIRST, or a default was changed.
@pytest.mark.parametrize(
    ("plan", "name"),
    [
        (values(), "9ed0e1b374820ca6"),
        (values(method="multipass", seeds=7, votes=5), "f7639c3b16f10fae"),
        (
            values(
                method="sls",
                hold=10,
                draw="resample",
                votes=25,
                target="smoothed",
                split={"test": 0.25, "select": 0},
                model={"name": "small-cnn", "options": {"width": 8}},
                recipe={"epochs": 20, "lr": 0.05, "flip": True, "mean": [0.5], "std": [0.25]},
                seeds={"split": 1, "init": 2, "order": 3, "delivery": 4},
                versions={"delivery": 2},
            ),
            "71ba3987514bc673",
        ),
    ],
)
def test_names_never_change(plan, name):
    assert Plan(**plan).name == name


def test_the_name_is_that_of_the_content_without_first_defaults():
    content = {"data": {"votes": "a" * 64, "inputs": "b" * 64}, "method": "soft", "model": {"name": "mlp"}}
    content["seeds"] = dict.fromkeys(("split", "init", "order", "delivery"), 0)
    assert Plan(**values()).name == content_name(content)


def test_spelling_out_a_default_moves_no_name():
    spelt_out = Plan.from_dict(Plan(**values()).to_dict())
    assert spelt_out.name == Plan(**values()).name
    assert spelt_out.to_dict()["recipe"]["nesterov"] is False


def test_a_new_field_at_its_first_default_moves_no_name():
    plan = Plan(**values()).to_dict()
    later = plan | {"ema": 0.0, "recipe": plan["recipe"] | {"clip": 0}}
    first = FIRST | {"ema": 0.0, "recipe": FIRST["recipe"] | {"clip": 0}}
    assert content_name(later, first) == content_name(plan, FIRST)


def test_every_default_is_still_the_first_one():
    required = {"data": {"name", "votes", "inputs", "classes", "ordered"}, "model": {"name", "encoder"}}
    complete = Plan(**values()).to_dict()
    del complete["method"], complete["seeds"]
    for table, names in required.items():
        complete[table] = {name: value for name, value in complete[table].items() if name not in names}
    assert complete == FIRST


@pytest.mark.parametrize(
    "other",
    [
        values(method="sls"),
        values(seeds=1),
        values(seeds={"split": 0, "init": 0, "order": 0, "delivery": 1}),
        values(votes=5),
        values(votes=5, draw="resample"),
        values(target="smoothed"),
        values(method="sls", hold=2),
        values(split={"select": 0}),
        values(recipe={"mixup": 1}),
        values(versions={"model": 2}),
        changed("model", options={"width": 4}),
        changed("data", votes="c" * 64),
        changed("data", inputs="c" * 64),
        changed("data", version=2),
    ],
)
def test_whatever_changes_the_run_changes_the_name(other):
    assert Plan(**other).name != Plan(**values()).name


def test_what_data_are_called_is_no_part_of_the_name():
    assert Plan(**changed("data", name="yours")).name == Plan(**values()).name
    assert Plan(**changed("data", ordered=True)).name == Plan(**values()).name  # the votes' digest says it


def test_whole_numbers_and_floats_of_one_value_are_one_plan():
    assert Plan(**values(recipe={"lr": 1})).name == Plan(**values(recipe={"lr": 1.0})).name


def test_one_seed_is_all_four():
    assert Plan(**values(seeds=3)).seeds.model_dump() == {"split": 3, "init": 3, "order": 3, "delivery": 3}


def test_a_plan_survives_json_and_pickle():
    plan = Plan(**values(recipe={"mean": [0.5, 0.25], "std": [1, 1]}))
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
    assert ForkingPickler.loads(ForkingPickler.dumps(plan)) == plan


def test_a_plan_cannot_be_changed():
    with pytest.raises(ValueError, match="frozen"):
        Plan(**values()).method = "sls"


def test_the_recipe_of_a_plan_is_that_of_training():
    assert RecipePart().model_dump() == {field.name: field.default for field in fields(Recipe)}
    assert RecipePart().as_recipe() == Recipe()


def test_every_method_can_be_planned():
    assert len({Plan(**values(method=method)).name for method in METHODS}) == len(METHODS)


def test_all_mistakes_are_told_at_once():
    wrong = values(
        method="sotf",
        votes="most",
        hold=0,
        target="share",
        split={"test": 1.0},
        recipe={"epochs": -3, "epoch": 5, "lr": "fast", "flip": 1},
        seed=3,
    )
    del wrong["model"]
    with pytest.raises(PlanError) as error:
        Plan(**wrong)
    message = str(error.value)
    assert message.startswith("this plan has 11 mistakes:\n")
    for sentence in (
        "method: unknown method 'sotf'; did you mean 'soft'? Choose one of: ",
        "model is missing; it must be a table of name, encoder, options.",
        "votes must be \"all\" or a whole number of at least 1, but is 'most'.",
        "hold must be a whole number of at least 1, but is 0.",
        "target: unknown target 'share'; did you mean 'shares'? Choose one of: shares, smoothed, dawid-skene",
        "split.test must be a share above 0 and below 1, but is 1.0.",
        "recipe.epochs must be a whole number of at least 1, but is -3.",
        "unknown key 'recipe.epoch'; did you mean 'recipe.epochs'? Choose one of: recipe.epochs, recipe.batch_size, ",
        "recipe.lr must be a number above 0, but is 'fast'.",
        "recipe.flip must be true or false, but is 1.",
        "unknown key 'seed'; did you mean 'seeds'? Choose one of: data, method, ",
    ):
        assert message.count(f"\n  {sentence}") == 1, sentence


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (values(recipe={"epochs": 2.0}), "recipe.epochs must be a whole number of at least 1, but is 2.0."),
        (values(recipe={"epochs": True}), "recipe.epochs must be a whole number of at least 1, but is True."),
        (values(recipe={"lr": float("nan")}), "recipe.lr must be a number above 0, but is nan."),
        (
            values(recipe={"schedule": "cosin"}),
            'recipe.schedule must be "cosine", "constant" or "linear", but is \'cosin\'.',
        ),
        (values(recipe={"nesterov": True, "momentum": 0}), "nesterov needs a momentum above 0"),
        (values(recipe={"mean": [0.5]}), "mean and std belong together, but only mean was given"),
        (values(recipe=5), "recipe must be a table of epochs, batch_size, "),
        (values(seeds=-1), "seeds must be a whole number of at least 0, or a table"),
        (values(seeds="3"), "seeds must be a whole number of at least 0, or a table of split, init, order, delivery"),
        (values(seeds={"split": 1}), "seeds.init is missing; it must be a whole number of at least 0."),
        (values(votes=0), 'votes must be "all" or a whole number of at least 1, but is 0.'),
        (values(votes=True), 'votes must be "all" or a whole number of at least 1, but is True.'),
        (values(draw="sample"), 'draw must be "subsample" or "resample", but is \'sample\'.'),
        (changed("data", votes="labels.csv"), "data.votes must be a SHA-256 in 64 hex digits, but is 'labels.csv'."),
        (changed("model", options={"width": [1]}), "model.options must be a table of options"),
    ],
)
def test_a_mistake_is_told_with_its_place(wrong, sentence):
    with pytest.raises(PlanError) as error:
        Plan(**wrong)
    assert sentence in str(error.value)


def test_a_single_mistake_is_one():
    with pytest.raises(PlanError, match=r"^this plan has a mistake:\n  hold must be a whole number"):
        Plan(**values(hold=0))


@pytest.mark.parametrize(
    ("meaning", "part", "method", "model"),
    [
        (DELIVERIES["sls"], "delivery", "sls", "mlp"),
        (DELIVERIES["majority"], "delivery", "mixup", "mlp"),
        (MODELS["mlp"], "model", "soft", "mlp"),
        (TEXT_MODELS["frozen"], "model", "soft", "frozen"),
        (Recipe, "recipe", "soft", "mlp"),
    ],
)
def test_what_means_something_else_by_now_makes_other_plans(meaning, part, method, model, monkeypatch):
    told = {"method": method, "model": {"name": model}}
    before = Plan(**values(**told, versions=versions(method, model)))
    monkeypatch.setattr(meaning, "version", 7)
    assert versions(method, model) == before.versions.model_dump() | {part: 7}
    assert Plan(**values(**told, versions=versions(method, model))).name != before.name
    with pytest.raises(PlanError, match=f"version 1 of its {part}, but this release has version 7"):
        refuse_other_versions(before, part)


def test_plans_and_comparisons_need_no_torch():
    code = "import sys; from dissensus.experiment import *; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_the_room_needs_no_pydantic():
    code = "import sys, dissensus.experiment; assert 'pydantic' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
