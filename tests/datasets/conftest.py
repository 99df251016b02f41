"""Small files in the formats of the publishers, and the real ones where ``DISSENSUS_DATA`` has them."""

from __future__ import annotations

import os
import struct
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from dissensus.datasets import cifar, cifar10h

REAL = os.environ.get("DISSENSUS_DATA")
ITEMS = 30  # in a small batch


def python2_pickle(value):
    """A pickle of protocol 2 as Python 2 wrote the CIFAR files: texts and array bytes as 8-bit strings."""

    def text(raw):
        return b"U" + bytes([len(raw)]) + raw if len(raw) < 256 else b"T" + struct.pack("<i", len(raw)) + raw

    def write(value):
        if isinstance(value, dict):
            return b"}(" + b"".join(write(key) + write(one) for key, one in value.items()) + b"u"
        if isinstance(value, list):
            return b"](" + b"".join(map(write, value)) + b"e"
        if isinstance(value, str):
            return text(value.encode())
        if isinstance(value, int):
            return b"J" + struct.pack("<i", value)
        dtype = b"cnumpy\ndtype\n(" + text(value.dtype.str[1:].encode()) + b"K\x00K\x01tR"
        dtype += b"(K\x03" + text(value.dtype.str[:1].encode()) + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        shape = b"(" + b"".join(map(write, value.shape)) + b"t"
        made = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00t" + text(b"b") + b"tR"
        return made + b"(K\x01" + shape + dtype + b"\x89" + text(value.tobytes()) + b"tb"

    return b"\x80\x02" + write(value) + b"."


def batch_of(rng, items=ITEMS, classes=10, key="labels"):
    return {
        "batch_label": "testing batch 1 of 1",
        key: rng.integers(0, classes, items).tolist(),
        "data": rng.integers(0, 256, (items, 3072), dtype=np.uint8),
        "filenames": [f"image_{row}.png" for row in range(items)],
    }


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture(name="python2_pickle")
def _python2_pickle():
    return python2_pickle


@pytest.fixture(name="batch_of")
def _batch_of():
    return batch_of


@pytest.fixture(name="put")
def _put():
    return put


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty data folder in which batches are small, and not those that were published."""
    monkeypatch.setenv("DISSENSUS_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(cifar, "ITEMS", ITEMS)
    monkeypatch.setattr(cifar, "CONTENT", {})
    monkeypatch.setattr(cifar10h, "CONTENT", "")
    return tmp_path / "data"


@pytest.fixture
def small(folder, rng):
    """All of CIFAR-10 and CIFAR-10H, in small; the batches by file."""
    batches = {file: batch_of(rng) for file in (*cifar.TRAIN, cifar.TEST)}
    for file, batch in batches.items():
        put(folder / file, python2_pickle(batch))
    counts = rng.multinomial(3, np.full(10, 0.1), ITEMS)
    counts[np.arange(ITEMS), batches[cifar.TEST]["labels"]] += 47
    (folder / "cifar-10h").mkdir()
    np.save(folder / "cifar-10h" / "cifar10h-counts.npy", counts)
    return batches


@pytest.fixture
def real():
    """A function that gives a real file, or skips the test."""

    def file(name):
        path = Path(REAL or "") / name
        if not REAL or not path.is_file():
            pytest.skip(f"DISSENSUS_DATA names no folder with {name}")
        return path

    return file


class Server(ThreadingHTTPServer):
    """A web server on this machine, and the ways in which it misbehaves."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.files = {}  # by path
        self.asked = []  # the Range of every request, None for all
        self.status = None  # answer with this error
        self.ranges, self.tells_length, self.shift = True, True, 0
        self.breaks, self.stalls = [], []  # the next answers end, or fall silent, after so many bytes

    def handle_error(self, request, client_address):
        pass  # clients may go away


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        server.asked.append(self.headers["Range"])
        body = server.files.get(self.path)
        if server.status or body is None:
            self.send_error(server.status or 404)
            return
        start = int(self.headers["Range"][6:-1]) if self.headers["Range"] and server.ranges else 0
        if start and start >= len(body):
            self.send_error(416)
            return
        start = max(start + server.shift, 0) if start else 0
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(body) - 1}/{len(body)}")
        if server.tells_length:
            self.send_header("Content-Length", str(len(body) - start))
        self.end_headers()
        if server.stalls:
            self.wfile.write(body[start : start + server.stalls.pop(0)])
            time.sleep(0.5)
        elif server.breaks:
            self.wfile.write(body[start : start + server.breaks.pop(0)])
        else:
            self.wfile.write(body[start:])

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("no_proxy", "*")
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()
