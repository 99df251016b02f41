"""The official data sets: what they are, where their publishers offer them, and how they come into the data folder."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from dissensus.base.errors import InputError, unknown
from dissensus.base.files import written_whole
from dissensus.datasets import chaosnli, cifar, cifar10h, cifar10n, lewidi, popquorn, svhn
from dissensus.datasets.folder import data_file, data_folder

if TYPE_CHECKING:
    from dissensus.datasets.download import Progress


@dataclass(frozen=True)
class Download:
    """A file at its publisher, and what comes of it in the data folder: itself, or members of the archive it is."""

    url: str
    size: int  # bytes
    checksum: str
    files: tuple[str, ...]

    @property
    def archive(self) -> bool:
        return self.url.endswith(".tar.gz")

    @property
    def lands(self) -> Path:
        """Where it is put, by us or by hand; archives are unpacked there and removed."""
        return data_folder() / (PurePosixPath(self.url).name if self.archive else self.files[0])


@dataclass(frozen=True)
class Official:
    """A data set by name; ``files`` are those it is read from, each with the reader that checks its structure."""

    title: str  # short, for a table
    items: int
    licence: str
    files: Mapping[str, Callable[[Path], object]] = field(default_factory=dict)
    home: str | None = None  # its publisher's page, where there is no address that gives the same file for years

    @property
    def there(self) -> bool:
        """Whether all files are there; whether they are whole is checked when they are read."""
        return all(data_file(file).is_file() for file in self.files)

    @property
    def size(self) -> int:
        """Bytes to download, for all that it is read from."""
        return sum(download.size for download in self.downloads)

    @property
    def downloads(self) -> list[Download]:
        return [download for download in DOWNLOADS if not self.files.keys().isdisjoint(download.files)]


# The checksums of the CIFAR archives and of SVHN are those that everyone has used for years. CIFAR-10H and CIFAR-10N
# have no published ones: the first is that of a copy whose votes fit the images, the second is what other projects
# recorded of the file at this address. Should that be published anew, a file that was put there by hand is read all the
# same, checked by its structure and by its order.
DOWNLOADS = (
    Download(
        url="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
        size=170_498_071,
        checksum="md5:c58f30108f718f92721af3b95e74349a",
        files=(*cifar.TRAIN, cifar.TEST, "cifar-10-batches-py/batches.meta"),
    ),
    Download(
        url="https://raw.githubusercontent.com/jcpeterson/cifar-10h/master/data/cifar10h-counts.npy",
        size=800_128,
        checksum="sha256:9b36b4550349af56c79083356312eb4af856cc5fd3caf1f669d40b9d0bbb69ff",
        files=(cifar10h.COUNTS,),
    ),
    Download(
        url="https://raw.githubusercontent.com/UCSC-REAL/cifar-10-100n/main/data/CIFAR-10_human.pt",
        size=2_400_000,  # six columns of 50,000 64-bit numbers, and a little more
        checksum="sha256:873e69c39cb9b5e97fb6bae2d60bb59b38a5cbc31d2b868f7903dcb2b9dd2310",
        files=(cifar10n.HUMAN,),
    ),
    Download(
        url="https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
        size=169_001_437,
        checksum="md5:eb9058c3a382ffc7106e4002c42a8d85",
        files=(cifar.TEST_100, "cifar-100-python/train", "cifar-100-python/meta"),
    ),
    Download(
        url="http://ufldl.stanford.edu/housenumbers/test_32x32.mat",
        size=64_275_384,
        checksum="md5:eb5a983be6a315427106f1b164d9cef3",
        files=(svhn.TEST,),
    ),
)

OFFICIAL = {
    "glyphs": Official("drawn shapes, votes of known truth", 3_000, "Apache-2.0"),
    "cifar10": Official(
        "images of 10 classes",
        60_000,
        "none stated",
        dict.fromkeys((*cifar.TRAIN, cifar.TEST), cifar.read_batch),
    ),
    "cifar10h": Official(
        "50 votes on CIFAR-10's test images",
        10_000,
        "CC BY-NC-SA 4.0",
        {cifar10h.COUNTS: cifar10h.read_counts, cifar.TEST: cifar.read_batch},
    ),
    "cifar10n": Official(
        "3 votes on CIFAR-10's train images",
        50_000,
        "CC BY-NC 4.0",
        {cifar10n.HUMAN: cifar10n.read_human} | dict.fromkeys(cifar.TRAIN, cifar.read_batch),
    ),
    "cifar100": Official(
        "images of 100 other classes, test part",
        10_000,
        "none stated",
        {cifar.TEST_100: cifar.read_batch_100},
    ),
    "svhn": Official("house numbers, test part", 26_032, "non-commercial", {svhn.TEST: svhn.read_svhn}),
    "chaosnli-snli": Official(
        "100 votes on pairs of SNLI", 1_514, "CC BY-NC 4.0", chaosnli.readers("chaosnli-snli"), chaosnli.HOME
    ),
    "chaosnli-mnli": Official(
        "100 votes on pairs of MNLI", 1_599, "CC BY-NC 4.0", chaosnli.readers("chaosnli-mnli"), chaosnli.HOME
    ),
    "chaosnli-alpha": Official(
        "100 votes on abductive inference", 1_532, "CC BY-NC 4.0", chaosnli.readers("chaosnli-alpha"), chaosnli.HOME
    ),
    "popquorn-offensiveness": Official(
        "9 ratings 1 to 5 on comments",
        1_500,
        "none stated",
        {popquorn.FILE: popquorn.read_ratings},
        "https://github.com/Jiaxin-Pei/Potato-Prolific-Dataset",
    ),
    "md-agreement": Official(
        "5 votes on tweets, offensive?", 10_753, "none stated", lewidi.readers("md-agreement"), lewidi.HOME
    ),
    "hs-brexit": Official(
        "6 votes on tweets, hate speech?", 1_120, "none stated", lewidi.readers("hs-brexit"), lewidi.HOME
    ),
    "varierr": Official("4 careful votes on pairs of MNLI", 488, "none stated", lewidi.readers("varierr"), lewidi.HOME),
}


def official(name: str) -> Official:
    if name not in OFFICIAL:
        raise InputError(unknown("data set", name, OFFICIAL))
    return OFFICIAL[name]


def data_path(name: str | None = None) -> Path:
    """The data folder, or the folder in it that holds a data set's own files."""
    files = official(name).files if name is not None else {}
    return data_file(next(iter(files))).parent if files else data_folder()


def get(name: str, progress: Callable[[str], Progress] | None = None) -> list[Path]:
    """Bring what is missing or damaged of a data set into the data folder; the files that came, none if all was there.

    ``progress(url)`` gives the function that is told how far the download of that address is.
    """
    data = official(name)
    if data.home is not None:
        _refuse_absent(name, data)
    came: list[Path] = []
    for download in data.downloads:
        wanted = [file for file in data.files if file in download.files]
        if all(_whole(data_file(file), data.files[file]) for file in wanted):
            continue
        _bring(download, progress(download.url) if progress is not None else None)
        for file in wanted:
            data.files[file](data_folder() / file)
            came.append(data_folder() / file)
    return came


def _refuse_absent(name: str, data: Official) -> None:
    """Of a set that is to be brought by hand: which files are lost, and what is wrong with one that is there."""
    lost = [file for file in data.files if not data_file(file).is_file()]
    if lost:
        raise InputError(
            f"{name} cannot be downloaded from here: its publisher has no address that is known to give the same file "
            f"for years. Get it from {data.home}, under the terms that are said there, and put it at "
            f"{', '.join(str(data_folder() / file) for file in lost)}; then run this again."
        )
    for file, read in data.files.items():
        read(data_file(file))


def _whole(path: Path, read: Callable[[Path], object]) -> bool:
    try:
        read(path)
    except InputError:
        return False
    return True


def _bring(download: Download, progress: Progress | None) -> None:
    from dissensus.datasets.download import fetch  # urllib takes a tenth of a second to import

    path = download.lands
    if not download.archive:
        fetch(download.url, path, download.checksum, progress)
        return
    if path.is_file():
        _refuse_wrong(path, download)
    else:
        fetch(download.url, path, download.checksum, progress)
    _unpack(path, download.files)
    path.unlink()


def _refuse_wrong(path: Path, download: Download) -> None:
    """An archive that was put there by hand, or that we could not unpack the last time."""
    from dissensus.datasets.download import digest

    if digest(path, download.checksum) != download.checksum:
        raise InputError(
            f"{path} is not the published file ({download.checksum}). Remove it and run this again, or fetch "
            f"{download.url} by hand."
        )


def _unpack(archive: Path, files: tuple[str, ...]) -> None:
    """Write the members that we know by name, to places that we know by name: the archive decides nothing."""
    import tarfile

    try:
        with tarfile.open(archive) as members:
            for file in files:
                source = members.extractfile(file) if members.getmember(file).isfile() else None
                if source is None:
                    raise InputError(f"{file} in {archive} is not a plain file.")
                with written_whole(data_folder() / file) as part, part.open("wb") as target:
                    shutil.copyfileobj(source, target)
    except (tarfile.TarError, EOFError, KeyError) as why:
        raise InputError(f"{archive} cannot be unpacked: {why.args[0]}. Remove it and get it again.") from None
