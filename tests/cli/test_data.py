"""``dissensus data``: sets, and where they come from."""

import hashlib
import json
import re
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import OFFICIAL, official
from dissensus.datasets.official import Download, Official


def test_sets_that_are_brought_by_hand_say_where_they_come_from(run, tmp_path, monkeypatch):
    monkeypatch.setenv("DISSENSUS_DATA", str(tmp_path / "sets"))
    code, out, err = run("data", "list")
    assert code == 0
    assert re.search(r"popquorn-offensiveness .* 1,500 +by hand .* no", out)
    folder = tmp_path / "sets" / "lewidi2023"
    assert "hs-brexit: get HS-Brexit_train.json, HS-Brexit_dev.json, HS-Brexit_test.json from https://" in err
    assert f"into {folder}" in err
    homes = {row["name"]: row["home"] for row in json.loads(run("data", "list", "--json")[1])}
    code, _, err = run("data", "get", "hs-brexit")
    assert code == 2
    assert homes["hs-brexit"] in err
    assert str(folder / "HS-Brexit_train.json") in err
    assert homes["cifar10h"] is None


BODY = bytes(range(256)) * 8000


@pytest.fixture
def publisher(tmp_path, monkeypatch):
    """A web server with one file of two megabytes, which is all of the data set "letters"."""
    site = tmp_path / "site"
    site.mkdir()
    (site / "letters.bin").write_bytes(BODY)
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setenv("DISSENSUS_DATA", str(tmp_path / "sets"))

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments):
            super().__init__(*arguments, directory=str(site))

        def log_message(self, *arguments):
            pass

    def read(path):
        if not path.is_file():
            raise InputError(f"{path} does not exist")

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        address = f"http://127.0.0.1:{server.server_port}/letters.bin"
        checksum = "md5:" + hashlib.md5(BODY).hexdigest()
        monkeypatch.setattr(official, "DOWNLOADS", (Download(address, len(BODY), checksum, ("letters/letters.bin",)),))
        monkeypatch.setitem(OFFICIAL, "letters", Official("letters", 1, "none", {"letters/letters.bin": read}))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield site / "letters.bin"
        server.shutdown()
        thread.join()


def test_a_download_without_a_terminal_is_told_in_lines(run, publisher, tmp_path):
    path = tmp_path / "sets" / "letters" / "letters.bin"
    code, out, err = run("data", "get", "letters")
    assert (code, out.strip(), path.read_bytes()) == (0, str(path), BODY)
    lines = err.splitlines()
    assert lines[-1] == "letters.bin: 2.0 of 2.0 MB"
    assert 2 < len(lines) <= 11
    assert run("data", "get", "letters") == (
        0,
        f"letters needs no download: it is here, and whole: {path.parent}\n",
        "",
    )
    path.unlink()
    assert run("data", "get", "letters", "--quiet")[2] == ""


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda file: file.unlink(), "the server answers 404 File not found"),
        (lambda file: file.write_bytes(BODY[:-1] + b"!"), "was expected; it was removed"),
    ],
)
def test_a_download_that_fails_is_a_sentence(run, publisher, tmp_path, change, message):
    change(publisher)
    code, out, err = run("data", "get", "letters", "--quiet")
    assert (code, out) == (2, "")
    assert err.startswith("DownloadError: ")
    assert message in err
    assert f"at {tmp_path / 'sets' / 'letters' / 'letters.bin'} and run this again" in err
    assert [path for path in (tmp_path / "sets").rglob("*") if path.is_file()] == []
