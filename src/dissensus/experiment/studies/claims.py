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
    """Soft against majority labels on KL, over all data sets."""
    words = {"holds": f"come nearer to {to} than", "fails": f"stay farther from {to} than", "open": "are not told from"}

    def told(one: Finding) -> str:
        return f"soft labels {words[holds(by_place(findings, one.data), question)['S1']]} majority labels"

    kl = [one for one in findings if one.metric == "kl" and not one.tempered]
    return in_words((one for one in kl if (one.question, one.second) == (question, "majority")), told)
