"""Answers on pages of crowd-form elements, ``{question: answer}``, as Mechanical Turk and SageMaker give them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dissensus.base.errors import InputError, unknown
from dissensus.base.words import listed
from dissensus.votes.answers import only


def question_of(name: str, forms: Sequence[dict[str, Any]], asked: str | None, what: str) -> str:
    """The question that was asked for, or the only one whose answers may be labels; ``what`` says what they are.

    >>> question_of("batch.csv", [{"mood": {"label": "good"}, "where": {"boundingBoxes": []}}], None, "questions")
    'mood'
    """
    questions = list(dict.fromkeys(question for form in forms for question in form))
    if asked is not None and asked not in questions:
        raise InputError(f"{unknown('question', asked, questions)}.")
    fitting = [one for one in questions if all(may_be_label(form.get(one)) for form in forms)]
    if questions and not {*fitting} & {asked or one for one in questions}:
        told = listed([repr(one) for one in questions if asked in (None, one)])
        raise InputError(f"the answers to {told} are no labels: choices, texts or numbers would be.")
    return asked or only(name, fitting, what)


def may_be_label(answer: Any) -> bool:
    """Whether an answer is one of the shapes of :func:`label_of`, or none at all; boxes, points and spans are not."""
    if not isinstance(answer, dict):
        return isinstance(answer, str | int | float | None)
    if "labels" in answer:
        return isinstance(answer["labels"], list) and all(isinstance(one, str | int) for one in answer["labels"])
    if "label" in answer:
        return isinstance(answer["label"], str | int | float | None)
    return all(isinstance(chosen, bool | None) for chosen in answer.values())


def label_of(answer: Any) -> Any:
    """The class, or the classes, in the shapes of a classifier, of several choices, and of radio buttons.

    >>> label_of({"label": "good"}), label_of({"labels": ["good", "odd"]}), label_of({"good": True, "bad": False})
    ('good', ['good', 'odd'], ['good'])
    """
    if not isinstance(answer, dict):
        return answer
    if "labels" in answer:
        return answer["labels"]
    return answer["label"] if "label" in answer else [name for name, chosen in answer.items() if chosen is True]
