"""What to train on, in one sentence. It follows from the verdicts alone, and says where they give no answer."""

from __future__ import annotations

from collections.abc import Sequence

from dissensus.base.words import listed
from dissensus.report.comparison import Comparison, Judgement, learned_little


def in_short(comparison: Comparison) -> str | None:
    """The answer for the most votes that runs were given; None where there is nothing to compare."""
    panel = comparison.panels[-1]
    judgements = [one for one in panel.judgements if one.checkpoint == "best" and one.verdicts and not one.identical]
    if not judgements:
        return None
    if learned_little(panel, comparison.class_shares):
        told = "what to train on cannot be told, since no method has learned much"
    else:
        told = advice(judgements, panel.methods)
    return f"In short{f', with {panel.votes}' if len(comparison.panels) > 1 else ''}: {told}."


def advice(judgements: Sequence[Judgement], methods: Sequence[str]) -> str:
    """Methods that are best wherever any is; else which are best in what; else that none is."""
    ahead = {
        _plain(one.measure.title): [name for name in methods if name in one.best] for one in judgements if one.best
    }
    if not ahead:
        verdicts = [verdict for one in judgements for verdict in one.verdicts]
        if all(verdict.word == "same" for verdict in verdicts):
            return f"train on {_either(methods)}, which are the same in all that is judged"
        return "what to train on is not decided, since no method is ahead of the others"
    if best := [name for name in methods if all(name in names for names in ahead.values())]:
        leads = [verdict for one in judgements for verdict in one.verdicts if verdict.winner in best]
        small = ", though by less than counts as a difference" if all(one.same for one in leads) else ""
        lead = f"ahead in {listed([*ahead])}{small}, and behind in nothing that is judged"
        return f"train on {_either(best)}, which {'is' if len(best) == 1 else 'are'} {lead}"
    return "no method is best in everything: " + "; ".join(
        f"for {title} train on {_either(names)}" for title, names in ahead.items()
    )


def _plain(title: str) -> str:
    """A measure inside a sentence."""
    return title if title.startswith("KL") else title.lower()


def _either(names: Sequence[str]) -> str:
    """
    >>> _either(["soft"]), _either(["soft", "sls", "multipass"])
    ('soft', 'soft, sls or multipass')
    """
    return " or ".join(filter(None, (", ".join(names[:-1]), names[-1])))
