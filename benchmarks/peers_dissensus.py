"""dissensus on the same job: one run of ``fit`` as it comes, in bf16."""

from __future__ import annotations

from dataclasses import replace

from peers_job import RECIPE, SEED, Job

from dissensus import Soft
from dissensus.training import fit


class Enough(Exception):
    """The epochs that were asked for have been carried out."""


def dissensus(job: Job) -> None:
    """The recipe of 200 epochs, left when the epochs of the job are over."""

    def progress(row: dict[str, float]) -> None:
        job.clock.end_of_epoch(row["train_loss"], row["soft_nll"])
        if len(job.clock.epochs) == job.epochs:
            raise Enough

    try:
        fit(
            lambda: job.model().to(job.device),
            job.images,
            Soft(job.votes),
            replace(RECIPE, precision="bf16"),
            seed=SEED,
            held_out=(job.held_out_images, job.held_out_votes.frequencies()),
            progress=progress,
        )
    except Enough:
        return
