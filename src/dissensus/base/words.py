"""Words of messages."""

from __future__ import annotations

from collections.abc import Sequence


def many(number: int, what: str) -> str:
    """A number of things.

    >>> many(1, "run"), many(3, "run")
    ('1 run', '3 runs')
    """
    return f"{number} {what}{'' if number == 1 else 's'}"


def listed(names: Sequence[str]) -> str:
    """Names as a reader expects them.

    >>> listed(["soft"]), listed(["soft", "sls"]), listed(("soft", "sls", "mixup")), listed([])
    ('soft', 'soft and sls', 'soft, sls and mixup', '')
    """
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def shown(name: object) -> str:
    """A name as a reader sees it: in quotes where spaces at its ends could not be seen.

    >>> shown("ok"), shown("ok "), shown(3)
    ('ok', "'ok '", '3')
    """
    text = str(name)
    return repr(text) if text != text.strip() else text


def first(names: Sequence[str], most: int = 20) -> str:
    """The first names, and whether there are others.

    >>> first(["a", "b", "c"]), first(["a", "b", "c"], most=2)
    ('a, b, c', 'a, b, ...')
    """
    return ", ".join((*names[:most], *(["..."] if len(names) > most else [])))


def duration(seconds: float) -> str:
    """A span of time as a person reads it.

    >>> duration(8), duration(100), duration(5400), duration(90_000), duration(400_000)
    ('8 s', '1 min 40 s', '1 h 30 min', '25 h', '4 days 15 h')
    """
    whole = max(1, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min" + (f" {whole % 60} s" if whole % 60 and whole < 600 else "")
    if whole < 48 * 3600:
        return f"{whole // 3600} h" + (f" {whole % 3600 // 60} min" if whole % 3600 >= 60 and whole < 36_000 else "")
    days, hours = divmod(whole // 3600, 24)
    return f"{days} days" + (f" {hours} h" if hours and days < 10 else "")


def run_in_words(
    method: str, votes: int | str, hold: int, seed: int, *, reordered: bool = False, protocol: str = ""
) -> str:
    """A run as a person knows it.

    >>> run_in_words("sls", 5, 1, seed=3, protocol="published")
    'sls, 5 votes, seed 3 (published)'
    >>> run_in_words("sls", "all", 10, seed=0, reordered=True)
    'sls, held for 10 epochs, seed 0, reordered'
    """
    few = "" if votes == "all" else f", {many(int(votes), 'vote')}"
    held = "" if hold == 1 else f", held for {hold} epochs"
    under = f" ({protocol})" if protocol else ""
    return f"{method}{few}{held}, seed {seed}{', reordered' if reordered else ''}{under}"
