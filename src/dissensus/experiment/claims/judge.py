"""Every claim of a paper, judged from what was measured: by the rules of its file and nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from dissensus.base.words import listed, run_in_words
from dissensus.experiment.claims.claim import Claim, Claims, Part, View, read_claims
from dissensus.experiment.claims.decide import Told, combined, decide, decide_identity
from dissensus.experiment.claims.guard import guarded
from dissensus.experiment.claims.ledger import UNDECIDED, Judged, Ledger, Row
from dissensus.experiment.claims.measured import diverged, measured
from dissensus.experiment.claims.planned import Plans, planned, plans
from dissensus.experiment.claims.quantities import quantities
from dissensus.experiment.claims.told import published
from dissensus.experiment.papers import Cell, Evidence, Paper

TEMPERED = ("soft_nll", "kl")  # what a temperature can buy


def judge_claims(evidence: Evidence, paper: Paper, claims: Claims | None = None) -> Ledger:
    """The ledger: each claim under each view.

    >>> from dissensus.experiment.papers import read_paper
    >>> ledger = judge_claims(Evidence({}), read_paper("basins"))
    >>> ledger.row("B4").verdict, ledger.row("B4").reason
    ('undecided', 'not measured yet')
    """
    claims = claims or read_claims(paper.name)
    by_view = {view: _under(view, evidence, paper, claims) for view in claims.views}
    rows = [by_view[view][claim.name] for claim in claims.claims for view in claims.views]
    return Ledger(paper.name, tuple(rows))


def _under(view: View, evidence: Evidence, paper: Paper, claims: Claims) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    known = frozenset.intersection(*(plans(paper, name, view.checkpoint) for name in view.protocols))
    for claim in claims.claims:
        here, why, beside = guarded(view, claim.guard, evidence)
        parts = tuple(
            _judged(part, claim, here, evidence, paper, claims, known, rows) for part in with_temperature(claim)
        )
        verdict, reason = combined(parts)
        barred = bool(why) and any(part.seeds for part in parts)
        if barred:
            verdict, reason = UNDECIDED, f"nothing can be told: {why}"
        elif beside:
            reason = f"{reason}; {beside}"
        rows[claim.name] = Row(
            claim=claim.name,
            title=claim.title,
            ours=claim.ours,
            places=claim.places,
            view=view.name,
            protocol=view.protocol,
            checkpoint=view.checkpoint,
            verdict=verdict,
            reason=reason,
            parts=parts,
            barred=barred,
            added=view.added,
            changed=bool(claim.changed),
        )
    return rows


def with_temperature(claim: Claim) -> Iterator[Part]:
    """The parts of a claim; beside each that compares soft NLL or KL, the same after a temperature."""
    for part in claim.parts:
        yield part
        metrics = tuple(metric for metric in part.axes["metric"] if metric in TEMPERED)
        if metrics and not any(part.axes["tempered"]) and part.kind in ("better", "lower", "higher", "same"):
            axes = {**part.axes, "metric": metrics, "tempered": (True,)}
            if any(one.axes == axes and one.against == part.against for one in claim.parts):
                continue  # the claim says so itself
            yield replace(
                part,
                name=f"{part.name}, after a temperature",
                says=f"{part.says}: after a temperature",
                weight="beside",
                axes=axes,
                published=None,
            )


def _judged(
    part: Part,
    claim: Claim,
    view: View,
    evidence: Evidence,
    paper: Paper,
    claims: Claims,
    known: Plans,
    rows: Mapping[str, Row],
) -> Judged:
    if part.kind == "identity":
        return decide_identity(part)
    if part.kind == "follows":
        row = rows[part.of]
        return Judged(part.name, part.says, part.weight, row.verdict, f"{row.claim} is {row.verdict}", ())
    named = quantities(part)
    cells = [kept for one in named if (kept := planned(one, known, part.fewer)) is not None]
    not_run = not cells or (len(cells) < len(named) and not part.fewer)
    told = [
        Told.of(
            one,
            published(one, part, paper, claim.places, claims.outside),
            {} if not_run else measured(one, part, evidence, view, claims.outside),
            {} if not_run else diverged(one, evidence, view),
        )
        for one in (named if not_run else cells)
    ]
    judged = decide(part, told)
    if not_run:
        return replace(judged, reason="not run under this protocol", stage="not planned")
    fewer = [f"{len(cells)} of {len(named)} cells"] * (len(cells) < len(named))
    fewer += ["a part of what is averaged"] * (not {*cells} <= {*named})
    if fewer:
        reason = f"{judged.reason}; the protocol plans {' and '.join(fewer)}"
        judged = replace(judged, reason=reason, stage="in part" if judged.stage == "judged" else judged.stage)
    if lost := sorted({cell for one in told for cell in one.diverged}, key=lambda cell: (str(cell.votes), cell.seed)):
        names = listed([_named(cell, evidence.diverged[cell]) for cell in lost])
        judged = replace(judged, reason=f"{judged.reason}; without {names}")
    return judged


def _named(cell: Cell, epoch: int) -> str:
    run = run_in_words(cell.method, cell.votes, cell.hold, cell.seed, reordered=cell.reorder > 0)
    return f"{run} (diverged in epoch {epoch})"
