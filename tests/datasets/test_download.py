from __future__ import annotations

import hashlib
import re
import socket

import pytest

from dissensus.base.errors import StoreError
from dissensus.datasets import download
from dissensus.datasets.download import DownloadError, digest, fetch

BODY = bytes(range(256)) * 4000  # a megabyte: more than the buffers between server and client hold
SUM = "sha256:" + hashlib.sha256(BODY).hexdigest()
MD5 = "md5:" + hashlib.md5(BODY).hexdigest()


@pytest.fixture
def part(tmp_path):
    return tmp_path / "file.bin.part"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.bin"


def left(folder):
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize("checksum", [SUM, MD5])
def test_a_file_comes_whole(server, path, checksum):
    server.files["/file.bin"] = BODY
    told = []
    fetch(server.url + "/file.bin", path, checksum, lambda *state: told.append(state))
    assert path.read_bytes() == BODY
    assert left(path.parent) == ["file.bin"]
    assert told[-1] == (len(BODY), len(BODY))
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len(told) > 2


def test_folders_are_made(server, tmp_path):
    server.files["/file.bin"] = BODY
    fetch(server.url + "/file.bin", tmp_path / "a" / "b" / "file.bin", SUM)
    assert (tmp_path / "a" / "b" / "file.bin").read_bytes() == BODY


def test_without_a_length(server, path):
    server.files["/file.bin"] = BODY
    server.tells_length = False
    told = []
    fetch(server.url + "/file.bin", path, SUM, lambda *state: told.append(state))
    assert path.read_bytes() == BODY
    assert told[-1] == (len(BODY), None)


# -- broken off


def test_a_broken_connection_is_taken_up_again(server, path):
    server.files["/file.bin"] = BODY
    server.breaks = [300_000, 400_000]
    told = []
    fetch(server.url + "/file.bin", path, SUM, lambda *state: told.append(state))
    assert path.read_bytes() == BODY
    first, second = (int(re.fullmatch(r"bytes=(\d+)-", asked)[1]) for asked in server.asked[1:])
    assert server.asked[0] is None
    assert 0 < first <= 300_000
    assert first < second <= 700_000
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert {total for _, total in told} == {len(BODY)}


def test_after_three_breaks_what_came_is_kept_and_the_next_call_goes_on(server, path, part):
    server.files["/file.bin"] = BODY
    server.breaks = [200_000] * 3
    with pytest.raises(DownloadError, match=r"broke off 3 times, at last after [\d,]+ bytes. They were kept: run"):
        fetch(server.url + "/file.bin", path, SUM)
    assert left(path.parent) == ["file.bin.part"]
    have = part.stat().st_size
    assert part.read_bytes() == BODY[:have]
    assert have > 200_000
    fetch(server.url + "/file.bin", path, SUM)
    assert server.asked[-1] == f"bytes={have}-"
    assert path.read_bytes() == BODY
    assert left(path.parent) == ["file.bin"]


def test_an_interrupted_call_goes_on_later(server, path, part):
    server.files["/file.bin"] = BODY

    def stop(done, total):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch(server.url + "/file.bin", path, SUM, stop)
    have = part.stat().st_size
    assert 0 < have < len(BODY)
    fetch(server.url + "/file.bin", path, SUM)
    assert server.asked == [None, f"bytes={have}-"]
    assert path.read_bytes() == BODY


def test_a_server_without_ranges_begins_anew(server, path, part):
    server.files["/file.bin"] = BODY
    server.ranges = False
    part.write_bytes(b"something else" * 1000)
    told = []
    fetch(server.url + "/file.bin", path, SUM, lambda *state: told.append(state))
    assert path.read_bytes() == BODY
    assert told[-1] == (len(BODY), len(BODY))


def test_a_server_that_sends_another_range_is_asked_for_all(server, path, part):
    server.files["/file.bin"] = BODY
    server.shift = -7
    part.write_bytes(BODY[:5000])
    fetch(server.url + "/file.bin", path, SUM)
    assert server.asked == ["bytes=5000-", None]
    assert path.read_bytes() == BODY


def test_a_part_that_is_complete_is_not_fetched_again(server, path, part):
    server.files["/file.bin"] = BODY
    part.write_bytes(BODY)
    fetch(server.url + "/file.bin", path, SUM)  # the server answers 416: there is no such range
    assert path.read_bytes() == BODY


def test_silence_counts_as_a_break(server, path, monkeypatch):
    monkeypatch.setattr(download, "TIMEOUT", 0.1)
    server.files["/file.bin"] = BODY
    server.stalls = [100_000]
    fetch(server.url + "/file.bin", path, SUM)
    assert path.read_bytes() == BODY
    assert len(server.asked) == 2


# -- wrong


def test_a_wrong_checksum_removes_the_file(server, path):
    server.files["/file.bin"] = BODY[:-1] + b"!"
    with pytest.raises(DownloadError) as error:
        fetch(server.url + "/file.bin", path, SUM)
    assert "has the checksum sha256:" in str(error.value)
    assert f"but {SUM} was expected; it was removed" in str(error.value)
    assert left(path.parent) == []


def test_a_wrong_beginning_is_found_at_the_end(server, path, part):
    server.files["/file.bin"] = BODY
    part.write_bytes(b"wrong")
    with pytest.raises(DownloadError, match="it was removed"):
        fetch(server.url + "/file.bin", path, SUM)
    fetch(server.url + "/file.bin", path, SUM)
    assert path.read_bytes() == BODY


def test_a_wrong_file_does_not_replace_the_one_that_is_there(server, path):
    path.write_bytes(b"old")
    server.files["/file.bin"] = b"other"
    with pytest.raises(DownloadError):
        fetch(server.url + "/file.bin", path, SUM)
    assert path.read_bytes() == b"old"


@pytest.mark.parametrize(("status", "told"), [(404, "404 Not Found"), (403, "403 Forbidden"), (500, "500 Internal")])
def test_the_servers_refusal_is_told(server, path, status, told):
    server.status = status
    url = server.url + "/file.bin"
    with pytest.raises(DownloadError) as error:
        fetch(url, path, SUM)
    assert f"{url} cannot be had: the server answers {told}" in str(error.value)
    assert f"It can be fetched by hand: put {url} at {path} and run this again." in str(error.value)
    assert left(path.parent) == []


def test_offline(path, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/file.bin"
    with pytest.raises(DownloadError) as error:
        fetch(url, path, SUM)
    assert f"{url} cannot be reached" in str(error.value)
    assert "is there a connection?" in str(error.value)
    assert f"put {url} at {path} and run this again" in str(error.value)
    assert left(path.parent) == []


def test_no_such_host(path, monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with pytest.raises(DownloadError, match="cannot be reached"):
        fetch("http://no-such-host.invalid/file.bin", path, SUM)


def test_a_folder_that_cannot_be_written(server, tmp_path):
    server.files["/file.bin"] = BODY
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(StoreError, match=r"cannot write .*file/file.bin"):
        fetch(server.url + "/file.bin", tmp_path / "file" / "file.bin", SUM)


def test_digests(path):
    path.write_bytes(b"abc")
    assert digest(path, "md5:") == "md5:900150983cd24fb0d6963f7d28e17f72"
    assert digest(path, "sha256:0").startswith("sha256:ba7816bf8f01cfea")
