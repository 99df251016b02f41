"""What to train on, in one sentence. It follows from the verdicts alone, and says where they give no answer."""

from __future__ import annotations

from collections.abc import Sequence

from dissensus.base.words import listed
from dissensus.report.comparison import Comparison, Judgement, Panel, learned_little


def in_short(comparison: Comparison) -> str | None:
    """The answer for the most votes that runs were given; None where there is nothing to compare."""
    panel, judgements = _judged(comparison)
    if not judgements:
        return None
    if learned_little(panel, comparison.class_shares):
        told = "what to train on cannot be told, since no method has learned much"
    else:
        told = advice(judgements, panel.methods)
    return f"In short{f', with {panel.votes}' if len(comparison.panels) > 1 else ''}: {told}."


def best_of(comparison: Comparison) -> str | None:
    """The first of the methods that the answer says to train on, or the only one; None where it names none."""
    panel, judgements = _judged(comparison)
    if len(panel.methods) == 1:
        return panel.methods[0]
    if not judgements or learned_little(panel, comparison.class_shares):
        return None
    return next(iter(best(judgements, panel.methods)), None)


def _judged(comparison: Comparison) -> tuple[Panel, list[Judgement]]:
    """The most votes that runs were given, and what was judged of them that is not the same for all methods."""
    panel = comparison.panels[-1]
    return panel, [one for one in panel.judgements if one.checkpoint == "best" and one.verdicts and not one.identical]


def best(judgements: Sequence[Judgement], methods: Sequence[str]) -> list[str]:
    """The methods that are best wherever any is; all of them, where they are the same."""
    ahead = [one.best for one in judgements if one.best]
    if not ahead:
        return [*methods] if all(verdict.word == "same" for one in judgements for verdict in one.verdicts) else []
    return [name for name in methods if all(name in names for names in ahead)]


def advice(judgements: Sequence[Judgement], methods: Sequence[str]) -> str:
    """Methods that are best wherever any is; else which are best in what; else that none is."""
    ahead = {
        _plain(one.measure.title): [name for name in methods if name in one.best] for one in judgements if one.best
    }
    if not ahead:
        if alike := best(judgements, methods):
            return f"train on {_either(alike)}, which are the same in all that is judged"
        return _open(judgements)
    if leading := best(judgements, methods):
        leads = [verdict for one in judgements for verdict in one.verdicts if verdict.winner in leading]
        small = ", though by less than counts as a difference" if all(one.same for one in leads) else ""
        lead = f"ahead in {listed([*ahead])}{small}, and behind in nothing that is judged"
        return f"train on {_either(leading)}, which {'is' if len(leading) == 1 else 'are'} {lead}"
    return "no method is best in everything: " + "; ".join(
        f"for {title} train on {_either(names)}" for title, names in ahead.items()
    )


def _open(judgements: Sequence[Judgement]) -> str:
    """No method is ahead: in what all are shown to be the same, and what is open."""
    same = [one for one in judgements if all(verdict.word == "same" for verdict in one.verdicts)]
    if not same:
        return "what to train on is not decided, since no method is ahead of the others"
    alike = listed([_plain(one.measure.title) for one in same])
    rest = listed([_plain(one.measure.title) for one in judgements if one not in same])
    is_are = "is" if len(same) == len(judgements) - 1 else "are"
    return f"between the methods there is no noticeable difference in {alike}; {rest} {is_are} open"


def _plain(title: str) -> str:
    """A measure inside a sentence."""
    return title if title.startswith("KL") else title.lower()


def _either(names: Sequence[str]) -> str:
    """
    >>> _either(["soft"]), _either(["soft", "sls", "multipass"])
    ('soft', 'soft, sls or multipass')
    """
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
