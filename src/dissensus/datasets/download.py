"""One file from the web to the disk: whole and with the right checksum, or not at all.

A download goes to ``NAME.part`` first. If it breaks off, that file stays, and the next call asks for the rest of it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO, TypeAlias
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from dissensus.base.errors import DissensusError, DownloadError, StoreError

Progress: TypeAlias = Callable[[int, int | None], None]  # bytes that are here, and bytes in all where that is known

TIMEOUT = 30  # seconds without a byte
TRIES = 3  # connections that may break off before we give up
_BLOCK = 1 << 18


def fetch(url: str, path: Path, checksum: str, progress: Progress | None = None) -> None:
    """Bring the file at ``url`` to ``path``; ``checksum`` is its digest, as in ``md5:c58f30...``."""
    part = path.with_name(path.name + ".part")
    by_hand = f"It can be fetched by hand: put {url} at {path} and run this again."
    try:
        part.parent.mkdir(parents=True, exist_ok=True)
        _transfer(url, part, progress, by_hand)
        found = digest(part, checksum)
        if found != checksum:
            part.unlink()
            raise DownloadError(
                f"what {url} gave has the checksum {found}, but {checksum} was expected; it was removed. Run this "
                f"again; if it happens twice, the file at that address is another one than it was. {by_hand}"
            )
        part.replace(path)
    except DissensusError:
        raise
    except OSError as why:
        raise StoreError(f"cannot write {path}: {why.strerror or why}.") from None


def digest(path: Path, like: str) -> str:
    """The digest of a file, of the kind and in the form of ``like``."""
    kind = like.partition(":")[0]
    with path.open("rb") as file:
        return f"{kind}:{hashlib.file_digest(file, lambda: hashlib.new(kind, usedforsecurity=False)).hexdigest()}"


def _transfer(url: str, part: Path, progress: Progress | None, by_hand: str) -> None:
    """Append to ``part`` until it is complete."""
    for _ in range(TRIES):
        have = _size(part)
        answer = _ask(url, have, by_hand)
        if answer is None:  # nothing is left to be sent; whether it is the right file, the checksum tells
            return
        with answer:
            start, total = _extent(answer)
            if start not in (0, have):
                part.unlink(missing_ok=True)  # not what was asked for: begin anew
                continue
            with part.open("ab" if start else "wb") as file:
                ended = _receive(answer, file, start, total, progress)
        if ended and (total is None or _size(part) >= total):
            return
    raise DownloadError(
        f"the download of {url} broke off {TRIES} times, at last after {_size(part):,} bytes. They were kept: run this "
        f"again, and it goes on from there. {by_hand}"
    )


def _ask(url: str, have: int, by_hand: str) -> HTTPResponse | None:
    """The answer to a request for everything after the first ``have`` bytes; None if nothing comes after them."""
    request = Request(url, headers={"User-Agent": "dissensus"} | ({"Range": f"bytes={have}-"} if have else {}))
    try:
        return urlopen(request, timeout=TIMEOUT)
    except HTTPError as answer:
        with answer:
            if answer.code == 416 and have:
                return None
            raise DownloadError(
                f"{url} cannot be had: the server answers {answer.code} {answer.reason}. {by_hand}"
            ) from None
    except (URLError, OSError, HTTPException) as why:
        told = getattr(why, "reason", None) or why
        raise DownloadError(f"{url} cannot be reached ({told}): is there a connection? {by_hand}") from None


def _extent(answer: HTTPResponse) -> tuple[int, int | None]:
    """Where the bytes that are sent begin in the file, and how long it is; servers may send all of it nevertheless."""
    length = answer.headers.get("Content-Length")
    start = 0
    if answer.status == 206:
        told = re.match(r"bytes (\d+)-", answer.headers.get("Content-Range", ""))
        start = int(told[1]) if told else -1
    return start, start + int(length) if length else None


def _receive(answer: HTTPResponse, file: IO[bytes], have: int, total: int | None, progress: Progress | None) -> bool:
    """Write all that comes to ``file``; whether it came to an end, rather than broke off or fell silent."""
    while True:
        try:
            block = answer.read(_BLOCK)
        except (OSError, HTTPException):
            return False
        if not block:
            return True
        file.write(block)
        have += len(block)
        if progress is not None:
            progress(have, total)


def _size(part: Path) -> int:
    return part.stat().st_size if part.exists() else 0
