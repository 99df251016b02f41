"""dissensus on the same job, as it comes, in bf16: one run, and four side by side."""

from __future__ import annotations

from dataclasses import replace
from statistics import mean

from peers_job import RECIPE, SEED, Job

from dissensus import Soft
from dissensus.training import Job as Run
from dissensus.training import fit_many

Row = dict[str, float]


class Enough(Exception):
    """The epochs that were asked for have been carried out."""


def dissensus(job: Job) -> None:
    train(job, runs=1)


def dissensus_four(job: Job) -> None:
    """On a CPU runs go one after the other, so the tiny job has one."""
    train(job, runs=1 if job.tiny else 4)


def train(job: Job, runs: int) -> None:
    """The recipe of 200 epochs, left when the epochs of the job are over in every run."""
    job.clock.runs = runs
    histories: list[list[Row]] = [[] for _ in range(runs)]

    def tell(history: list[Row], row: Row) -> None:
        history.append(row)
        ended = len(job.clock.epochs)
        if all(len(rows) > ended for rows in histories):
            job.clock.end_of_epoch(
                *(mean(rows[ended][name] for rows in histories) for name in ("train_loss", "soft_nll"))
            )
        if len(job.clock.epochs) == job.epochs:
            raise Enough

    held_out = (job.held_out_images, job.held_out_votes.frequencies())
    todo = [
        Run(
            lambda: job.model().to(job.device),
            job.images,
            Soft(job.votes),
            replace(RECIPE, precision="bf16"),
            seed=SEED + number,
            held_out=held_out,
            progress=lambda row, history=history: tell(history, row),
        )
        for number, history in enumerate(histories)
    ]
    try:
        fit_many(todo, width=runs)
    except Enough:
        return
