"""SageMaker Ground Truth: the output manifest of a job that keeps what all workers said, or the folder of responses.

In the manifest, a line a data object, ``{"source": ..., JOB: {"annotationsFromAllWorkers": [{"workerId": ...,
"annotationData": {"content": "{...}"}}]}}``, JSON within JSON. In a folder, one file a data object:
``worker-response/iteration-1/7/TIME.json``, where 7 is the line of the object in the manifest, from 0.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import polars as pl

from dissensus.base.errors import InputError
from dissensus.votes.answers import Answer, votes_of
from dissensus.votes.ask import Ask, refuse_given
from dissensus.votes.crowd_form import label_of, question_of
from dissensus.votes.source import Document, Folder, Source, TypedTable
from dissensus.votes.table import Votes

ALL = "annotationsFromAllWorkers"
SOURCES = ("source-ref", "source")  # what a data object is: an address, or the text itself
RESPONSE = re.compile(r"(?:^|/)iteration-\d+/([^/]+)/[^/]+\.json$")


class Said(NamedTuple):
    """What one worker said of one data object, or, without a form, that nobody said anything of it."""

    item: Any
    worker: Any
    form: dict[str, Any] | None
    where: str


def fits(source: Source, ask: Ask) -> bool:
    if isinstance(source, Folder):
        return any(map(RESPONSE.search, source.files))
    return bool(_jobs(source))


def read(source: Source, ask: Ask) -> Votes:
    refuse_given(ask, ["annotator"], "Ground Truth names workers in 'workerId'")
    said = _from_folder(source, ask) if isinstance(source, Folder) else _from_manifest(source, ask)
    forms = [one.form for one in said if one.form is not None]
    question = question_of(source.name, forms, ask.label, "questions") if forms else ""
    job = question.rpartition(":")[0]
    rows = [one for one in said if one.form is None or not job or any(key.startswith(f"{job}:") for key in one.form)]
    return votes_of(
        [Answer(one.item, one.worker, label_of(one.form.get(question)) if one.form else None) for one in rows],
        ask,
        place=lambda at: rows[at].where,
    )


# -- the manifest


def _jobs(source: Source) -> list[str]:
    """The keys under which a job's annotations stand."""
    if isinstance(source, TypedTable):
        schema = source.frame.collect_schema()
        return [name for name, kind in schema.items() if isinstance(kind, pl.Struct) and ALL in dict(kind)]
    rows = source.content if isinstance(source, Document) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        return []
    return list(dict.fromkeys(key for row in rows for key, value in row.items() if _annotated(value)))


def _annotated(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get(ALL), list)


def _from_manifest(source: Source, ask: Ask) -> list[Said]:
    jobs = _jobs(source)
    rows: list[dict[str, Any]]
    place: Callable[[int], str]
    if isinstance(source, TypedTable):
        rows, place = source.frame.collect().to_dicts(), source.place
    else:
        assert isinstance(source, Document)
        rows, place = source.content, f"{source.name}, entry {{}}".format
    said: list[Said] = []
    for at, row in enumerate(rows):
        key = ask.item or next((name for name in SOURCES if row.get(name) is not None), SOURCES[0])
        if row.get(key) is None:
            raise InputError(f"{place(at)}: there is no {key!r}; name the key of the items", give=["item"])
        given = [(job, one) for job in jobs for one in (row.get(job) or {}).get(ALL) or ()]
        said += [_said(row[key], job if len(jobs) > 1 else "", one, place(at)) for job, one in given]
        if not given:
            said.append(Said(row[key], None, None, place(at)))
    return said


def _said(item: Any, job: str, given: Any, where: str) -> Said:
    data = given.get("annotationData") if isinstance(given, dict) else None
    if not isinstance(data, dict):
        raise InputError(f"{where}: {ALL} holds {given!r:.60}, but {{'workerId', 'annotationData'}} was expected.")
    form = _form(data.get("content"), where, given.get("workerId"))
    return Said(item, given.get("workerId"), {f"{job}:{key}" if job else key: form[key] for key in form}, where)


# -- the folder


def _from_folder(source: Folder, ask: Ask) -> list[Said]:
    refuse_given(ask, ["item"], "items are named by the folders of their responses")
    said: list[Said] = []
    for file in source.files:
        if match := RESPONSE.search(file):
            where = f"{source.name}, {file}"
            answers = _answers(source, file)
            said += [
                Said(match[1], one.get("workerId"), _form(one["answerContent"], where, one.get("workerId")), where)
                for one in answers
            ]
            if not answers:
                said.append(Said(match[1], None, None, where))
    return said


def _answers(source: Folder, file: str) -> list[dict[str, Any]]:
    try:
        answers = json.loads(source.text(file))["answers"]
    except (ValueError, LookupError, TypeError):
        answers = None
    if not isinstance(answers, list) or not all(isinstance(one, dict) and "answerContent" in one for one in answers):
        raise InputError(
            f"{source.name}, {file} is not {{'answers': [{{'workerId', 'answerContent'}}]}}, as responses of workers "
            "are. Download it again, or leave it out."
        )
    return answers


def _form(content: Any, where: str, worker: Any) -> dict[str, Any]:
    """What a worker sent, a question a key; in most files it is JSON in a text."""
    try:
        form = json.loads(content) if isinstance(content, str) else content
    except ValueError:
        form = None
    if not isinstance(form, dict):
        raise InputError(f"{where}: what worker {worker!r} sent is no JSON object, but {content!r:.60}.")
    return {key: value for key, value in form.items() if value is not None}
