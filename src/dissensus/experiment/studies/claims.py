"""Whether the paper's first three claims hold in a place, from its findings on soft against majority labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dissensus.experiment.studies.finding import Finding, Place, by_place, in_words


def holds(found: Mapping[Place, Finding], question: str) -> dict[str, str]:
    """S1 lower KL, plain and tempered; S2 higher entropy correlation; S3 the same accuracy.

    A claim "holds", "fails" (what is found is the opposite; for S3: a difference beyond the margin) or is "open".
    """
    kl, tempered, correlation, accuracy = (
        found.get((question, "soft", "majority", metric, warm))
        for metric, warm in (("kl", False), ("kl", True), ("entropy_correlation", False), ("accuracy", False))
    )
    told = {}
    if kl is not None and tempered is not None:
        sides = {kl.side, tempered.side}
        told["S1"] = {-1: "holds", 1: "fails"}.get(sides.pop(), "open") if len(sides) == 1 else "open"
    if correlation is not None:
        told["S2"] = {1: "holds", -1: "fails"}.get(correlation.side, "open")
    if accuracy is not None:
        told["S3"] = "holds" if accuracy.same else "fails" if accuracy.side else "open"
    return told


def claims_told(found: Mapping[Place, Finding], question: str) -> str:
    """In words: S1 holds, S2 is open, S3 fails."""
    words = {"holds": "holds", "fails": "fails", "open": "is open"}
    return ", ".join(f"{claim} {words[word]}" for claim, word in holds(found, question).items())


def s1_in_words(findings: Sequence[Finding], question: str, to: str = "people") -> str:
    """Soft against majority labels on KL, over all data sets; and whether that is sharpness."""

    def told(one: Finding) -> str:
        same = f"are as near to {to} as" if tempered(one, findings).same else "are not told from"
        near = one.said(f"come nearer to {to} than", f"stay farther from {to} than", same, "are not told from")
        return f"soft labels {near} majority labels{if_sharpness(one, findings)}"

    kl = [one for one in findings if one.metric == "kl" and not one.tempered]
    return in_words((one for one in kl if (one.question, one.second) == (question, "majority")), told)


def tempered(one: Finding, findings: Sequence[Finding]) -> Finding:
    """What the numbers say of the same comparison with a temperature in both arms."""
    return by_place(findings, one.data)[one.question, one.first, one.second, one.metric, True].by_numbers


def if_sharpness(one: Finding, findings: Sequence[Finding]) -> str:
    """To be said of a difference that is gone then."""
    gone = one.side and one.side != tempered(one, findings).side
    return ", though not once both have a temperature," if gone else ""
