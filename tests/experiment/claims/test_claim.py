"""The file of claims: what is wrong with one is said, and where."""

from __future__ import annotations

import pytest

from dissensus.base.errors import InputError
from dissensus.experiment.claims import Claims, parse_claims
from dissensus.experiment.papers import Paper

FILE = """
paper = "basins"
alpha = 0.05
seeds = 10
[margins]
soft_nll = 0.025
[outside]
near = ["cifar100"]
[views]
published = {{ protocol = "published", checkpoint = "best" }}
[[claims]]
name = "C1"
title = "one"
places = ["table1"]
[[claims.parts]]
name = "part"
says = "something"
kind = "lower"
metric = "soft_nll"
method = "sls"
against = {{ method = "soft" }}
{more}
"""


def parsed(paper: Paper, more: str = "", **replaced: str) -> Claims:
    text = FILE.format(more=more)
    for old, new in replaced.items():
        assert old in text
        text = text.replace(old, new)
    return parse_claims(text, paper)


def test_a_small_file(paper: Paper) -> None:
    claims = parsed(paper)
    (claim,) = claims.claims
    (part,) = claim.parts
    assert (part.kind, part.weight, part.seeds, part.alpha) == ("lower", "decides", 10, 0.05)
    assert part.axes["votes"] == ("all",)
    assert part.against == ({"method": ("soft",)},)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"lower"', '"lowr"', "the claim C1, part 1: unknown kind 'lowr'; did you mean 'lower'"),
        ('"soft_nll"\n', '"soft_nl"\n', "the claim C1, part 1: unknown metric 'soft_nl'; did you mean 'soft_nll'"),
        ('method = "sls"', 'method = "sl"', "the claim C1, part 1: unknown method 'sl'"),
        ('method = "soft"', 'methd = "soft"', "the claim C1, part 1: unknown key 'methd'; did you mean 'method'"),
        ('"table1"', '"table99"', "the claim C1: unknown table or figure 'table99'"),
        ('["table1"]', "[]", "the claim C1 names no table or figure"),
        ('"published", checkpoint', '"publshed", checkpoint', "views.published: unknown protocol 'publshed'"),
        ('"best"', '"bst"', "views.published: unknown checkpoint 'bst'"),
        ('"lower"', '"same"\nmargin = "-"', None),
        ('kind = "lower"', 'kind = "lower"\nweight = "beside"', "the claim C1 has no part that decides"),
        ('kind = "lower"', 'kind = "every"', 'sense must be "lower" or "higher"'),
        ('kind = "lower"', 'kind = "best"', "need is missing"),
        ('kind = "lower"', 'kind = "lower"\noutside = "far"', "unknown outside set 'far'"),
        ('"cifar100"', '"cifar10"', "outside.near: unknown set of images 'cifar10'; did you mean 'cifar100'"),
        ('kind = "lower"', 'kind = "lower"\nmean_of = ["vote"]', "unknown list 'vote'"),
        ('kind = "lower"', 'kind = "follows"\nof = "C9"', "unknown earlier claim 'C9'"),
        ('says = "something"\n', "", "the claim C1, part 1: says is missing"),
        ("alpha = 0.05", "alpha = ", "the claims are not valid TOML"),
    ],
)
def test_what_is_wrong_is_said(paper: Paper, old: str, new: str, message: str | None) -> None:
    if message is None:
        assert parsed(paper, **{old: new}).claims
        return
    with pytest.raises(InputError, match=message.replace("(", r"\(")):
        parsed(paper, **{old: new})


def test_sameness_needs_a_margin(paper: Paper) -> None:
    with pytest.raises(InputError, match=r"part 1: top_eigenvalue has no margin\. Say which difference counts as none"):
        parsed(paper, **{'"soft_nll"\n': '"top_eigenvalue"\n', '"lower"': '"same"'})


def test_two_claims_of_one_name(paper: Paper) -> None:
    again = FILE[FILE.index("[[claims]]") :].format(more="")
    with pytest.raises(InputError, match="two claims are called C1"):
        parsed(paper, again)


def test_an_unknown_claim(claims: Claims) -> None:
    with pytest.raises(InputError, match="unknown claim 'B99'"):
        claims["B99"]


def test_margins_are_those_of_the_protocol(claims: Claims) -> None:
    margins = {"soft_nll": 0.025, "kl": 0.025, "accuracy": 0.01, "soft_brier": 0.01, "entropy_correlation": 0.02}
    for name, only in (("B1", {}), ("B5", {}), ("B8", {}), ("B17", {})):
        for part in claims[name].parts:
            if part.kind == "same" and not only:
                assert part.margins == {metric: margins[metric] for metric in part.axes["metric"]}, name
    same = {m for claim in claims.claims for part in claim.parts if part.kind == "same" for m in part.axes["metric"]}
    assert not same & {"ece", "debiased_ece"}


def test_no_verdict_before_all_seeds_are_there(claims: Claims) -> None:
    """Fewer would let the verdict depend on when one looks."""
    assert {part.seeds for claim in claims.claims for part in claim.parts} == {10}
