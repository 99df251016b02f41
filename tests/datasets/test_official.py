from __future__ import annotations

import hashlib
import io
import re
import socket
import tarfile

import numpy as np
import pytest

from dissensus.base.errors import InputError
from dissensus.datasets import DATASETS, IMAGES, OFFICIAL, cifar, data_path, get, load, official
from dissensus.datasets.cifar10h import COUNTS
from dissensus.datasets.download import DownloadError
from dissensus.datasets.official import DOWNLOADS, Download

ARCHIVE = "cifar-10-python.tar.gz"


def packed(files, link=None):
    """A tar.gz of these, with a folder and a stranger in it as archives have them."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        folder = tarfile.TarInfo("cifar-10-batches-py")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, content in {**files, "cifar-10-batches-py/readme.html": b"hello", "../escaped": b"harm"}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            if name == link:
                member.type, member.linkname, member.size = tarfile.SYMTYPE, "/etc/passwd", 0
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture
def published(small, folder, server, monkeypatch):
    """A server that publishes the small CIFAR-10 and CIFAR-10H, an empty data folder, and the downloads."""
    members = {file: (folder / file).read_bytes() for file in small} | {"cifar-10-batches-py/batches.meta": b"meta"}
    server.files = {f"/{ARCHIVE}": packed(members), "/cifar10h-counts.npy": (folder / COUNTS).read_bytes()}
    for file in (*small, COUNTS):
        (folder / file).unlink()
    (folder / "cifar-10h").rmdir()
    (folder / "cifar-10-batches-py").rmdir()

    def publish(**changed):
        server.files.update({f"/{name}": body for name, body in changed.items()})
        made = []
        for path, files in ((f"/{ARCHIVE}", tuple(members)), ("/cifar10h-counts.npy", (COUNTS,))):
            body = server.files[path]
            made.append(Download(server.url + path, len(body), "md5:" + hashlib.md5(body).hexdigest(), files))
        monkeypatch.setattr(official, "DOWNLOADS", tuple(made))
        return made

    publish()
    publish.members = members
    return publish


def tree(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# -- the registry


def test_what_can_be_loaded_is_listed():
    assert {*DATASETS, *IMAGES, "cifar10"} == set(OFFICIAL)


@pytest.mark.parametrize("name", OFFICIAL)
def test_every_file_has_a_publisher(name):
    data = OFFICIAL[name]
    downloaded = {file for download in data.downloads for file in download.files}
    assert set(data.files) <= downloaded or (data.home.startswith("https://") and not downloaded)
    assert data.size == sum(download.size for download in data.downloads)
    assert data.items > 0
    assert data.licence


@pytest.mark.parametrize("name", [name for name, data in OFFICIAL.items() if data.home])
def test_a_set_by_hand_says_where_it_comes_from_and_where_it_belongs(name, folder):
    first = next(iter(OFFICIAL[name].files))
    with pytest.raises(InputError) as told:
        get(name)
    assert OFFICIAL[name].home in str(told.value)
    assert str(folder / first) in str(told.value)
    assert data_path(name) == (folder / first).parent


@pytest.mark.parametrize("download", DOWNLOADS, ids=lambda download: download.url)
def test_downloads_are_well_formed(download):
    assert re.fullmatch(r"md5:[0-9a-f]{32}|sha256:[0-9a-f]{64}", download.checksum)
    assert re.fullmatch(r"https?://[\w.~/-]+", download.url)
    assert download.archive or len(download.files) == 1


def test_the_real_votes_have_the_checksum(real):
    (download,) = [one for one in DOWNLOADS if COUNTS in one.files]
    content = real(COUNTS).read_bytes()
    assert "sha256:" + hashlib.sha256(content).hexdigest() == download.checksum
    assert len(content) == download.size


def test_paths(folder):
    assert data_path() == folder
    assert data_path("cifar10h") == folder / "cifar-10h"
    assert data_path("svhn") == folder / "svhn"
    assert data_path("glyphs") == folder
    with pytest.raises(InputError, match="unknown data set 'svnh'; did you mean 'svhn'"):
        data_path("svnh")


def test_glyphs_need_nothing(folder):
    assert OFFICIAL["glyphs"].there
    assert get("glyphs") == []
    assert not folder.exists()


# -- getting


def test_all_that_a_set_needs_comes(published, folder):
    assert not OFFICIAL["cifar10h"].there
    told = {}

    def progress(url):
        return lambda *state: told.__setitem__(url, state)

    came = get("cifar10h", progress)
    assert came == [folder / cifar.TEST, folder / COUNTS]
    assert tree(folder) == sorted([*published.members, COUNTS])  # no archive, no part, no stranger
    assert not (folder.parent / "escaped").exists()
    assert all((folder / file).read_bytes() == content for file, content in published.members.items())
    assert told == {one.url: (one.size, one.size) for one in official.DOWNLOADS}
    assert OFFICIAL["cifar10h"].there
    assert len(load("cifar10h")) == 30


def test_getting_twice_asks_nobody(published, server):
    get("cifar10h")
    asked = len(server.asked)
    assert get("cifar10h") == []
    assert get("cifar10") == []  # the same archive
    assert len(server.asked) == asked


def test_only_what_is_missing_comes(published, folder, server):
    get("cifar10h")
    (folder / COUNTS).unlink()
    server.asked.clear()
    assert get("cifar10h") == [folder / COUNTS]
    assert len(server.asked) == 1


@pytest.mark.parametrize("file", [COUNTS, cifar.TEST])
def test_a_damaged_file_is_replaced(published, folder, file):
    get("cifar10h")
    whole = (folder / file).read_bytes()
    (folder / file).write_bytes(whole[:-20])
    assert get("cifar10h") == [folder / file]
    assert (folder / file).read_bytes() == whole


def test_a_broken_download_goes_on(published, folder, server):
    server.breaks = [2000] * 3
    with pytest.raises(DownloadError, match="broke off 3 times"):
        get("cifar10")
    assert tree(folder) == [ARCHIVE + ".part"]
    have = (folder / (ARCHIVE + ".part")).stat().st_size
    get("cifar10")
    assert server.asked[-1] == f"bytes={have}-"
    assert OFFICIAL["cifar10"].there


def test_a_wrong_checksum_leaves_nothing(published, folder, server):
    server.files[f"/{ARCHIVE}"] += b"!"
    with pytest.raises(DownloadError, match=r"but md5:.* was expected; it was removed"):
        get("cifar10")
    assert tree(folder) == []


def test_offline_says_what_to_do_by_hand(folder, published, monkeypatch):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/{ARCHIVE}"
    gone = Download(url, 1, "md5:0", tuple(published.members))
    monkeypatch.setattr(official, "DOWNLOADS", (gone,))
    with pytest.raises(DownloadError) as error:
        get("cifar10")
    assert f"put {url} at {folder / ARCHIVE} and run this again" in str(error.value)
    assert tree(folder) == []


def test_an_archive_that_was_fetched_by_hand_is_unpacked(published, folder, server):
    (folder / ARCHIVE).write_bytes(server.files[f"/{ARCHIVE}"])
    server.status = 500
    get("cifar10")
    assert tree(folder) == sorted(published.members)


def test_a_wrong_archive_that_was_fetched_by_hand_is_named_and_left(published, folder):
    (folder / ARCHIVE).write_bytes(b"something else")
    with pytest.raises(InputError, match=rf"{ARCHIVE} is not the published file \(md5:.*Remove it"):
        get("cifar10")
    assert (folder / ARCHIVE).read_bytes() == b"something else"


def test_a_file_that_was_fetched_by_hand_is_taken(published, folder, server, put):
    put(folder / COUNTS, server.files["/cifar10h-counts.npy"])
    assert get("cifar10h") == [folder / cifar.TEST]


def test_a_folder_that_cannot_be_made(published, folder):
    (folder / "cifar-10h").write_text("a file where a folder should be")
    with pytest.raises(OSError, match=r"cannot write .*cifar10h-counts.npy"):
        get("cifar10h")


# -- archives that are not what they should be


def test_a_member_is_missing(published, folder):
    members = dict(published.members)
    del members[cifar.TEST]
    published(**{ARCHIVE: packed(members)})
    with pytest.raises(InputError, match=rf"{ARCHIVE} cannot be unpacked: .*test_batch' not found"):
        get("cifar10")
    assert cifar.TEST not in tree(folder)


def test_a_link_is_not_followed(published, folder):
    published(**{ARCHIVE: packed(published.members, link=cifar.TEST)})
    with pytest.raises(InputError, match=r"test_batch in .* is not a plain file"):
        get("cifar10")
    assert cifar.TEST not in tree(folder)


def test_no_archive_at_all(published, folder):
    published(**{ARCHIVE: b"<html>moved</html>"})
    with pytest.raises(InputError, match=f"{ARCHIVE} cannot be unpacked"):
        get("cifar10")
    assert tree(folder) == [ARCHIVE]


def test_a_published_file_of_another_structure_is_named(published, folder):
    buffer = io.BytesIO()
    np.save(buffer, np.zeros((3, 10)))
    published(**{"cifar10h-counts.npy": buffer.getvalue()})
    with pytest.raises(InputError, match=r"cifar10h-counts.npy must hold whole numbers"):
        get("cifar10h")
