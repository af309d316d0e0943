"""The paper's panels as their authors published them: fetched, checked, kept and turned into tables.

The files belong to others and state no licence, so quorate carries none of them: it knows their address and their
SHA-256, and uses nothing that has another.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from quorate.core.panel import Panel
from quorate.data.cells import read_probabilities, read_votes
from quorate.data.formats import replacing
from quorate.data.table import Table, table_from_arrays, write_table
from quorate.errors import FetchError, InputError, Problem, SettingsError, TableError
from quorate.places import cache_root

REPOSITORY = "https://raw.githubusercontent.com/markellekelly/consensus/38f2ceb1040b21a0e956660594eec3f438a90e34"
"""Where the published files are, at the commit that the hashes belong to; $QUORATE_PUBLISHED_URL names a mirror."""

NOTICE = (
    "These panels belong to others and state no licence; whether you may use them is between you and their owners. "
    "Cite Kelly, Boyd, Showalter, Steyvers and Smyth, Bayesian Inference for Correlated Human Experts and "
    "Classifiers (ICML 2025), and the data set behind each panel."
)

TIMEOUT = 30.0
"""Seconds to wait for a server's next bytes."""

LONGEST = 600.0
"""Seconds that one download may take in all, so that a server which drips does not hold a script for ever."""

LARGEST = 2**24
"""Bytes after which a download is given up; the largest published file has 772,660."""

Progress = Callable[[int, int | None], None]
"""Told the bytes received and, where the server says so, how many there will be."""


@dataclass(frozen=True)
class Published:
    """One published file: where it is, what it must hash to, and how its columns become a table."""

    name: str
    about: str
    cite: str
    path: str  # below REPOSITORY or a mirror
    sha256: str
    experts: int
    classes: tuple[str, ...]
    cases: int  # the first so many rows are kept
    key: str  # the column that names the case
    key_prefix: str = ""  # where that column holds only a number


PUBLISHED = (
    Published(
        name="chestxray",
        about="NIH chest X-rays, 5 radiologists, DenseNet-121",
        cite="Wang et al. 2017; Nabulsi et al. 2021",
        path="data/nih/data_clean.csv",
        sha256="83186ce70d6d40c2422b83ff2bcf03a8a5adb76f169d51158d77715b33ac9696",
        experts=5,
        classes=("normal", "abnormal"),
        cases=810,
        key="img_name",
    ),
    Published(
        name="chaoyang",
        about="colon histology, 3 pathologists, ResNet",
        cite="Zhu et al. 2021",
        path="data/chaoyang/data_clean.csv",
        sha256="84d6e2619eb912e8e868879f40dd79b13233e0f53feaf08055c8d08c48df31e6",
        experts=3,
        classes=("normal", "serrated", "adenocarcinoma", "adenoma"),
        cases=750,
        key="name",
    ),
    Published(
        name="cifar10h",
        about="CIFAR-10 photographs in three merged groups, 3 built experts, ResNet",
        cite="Krizhevsky 2009; Peterson et al. 2019",
        path="data/cifar/data_clean.csv",
        sha256="445fc8e325b998bf31cd501e6afc9777c382204a75e148c690323f2475ac7e36",
        experts=3,
        classes=("airplane/automobile/bird", "cat/deer/dog", "frog/horse/ship/truck"),
        cases=3000,  # of 10,000, as in the paper
        key="",  # the column without a name: the image's number in CIFAR-10's test set
        key_prefix="cifar10_test_",
    ),
    Published(
        name="imagenet16h",
        about="noisy ImageNet photographs in three merged groups, 3 built experts, AlexNet",
        cite="Deng et al. 2009; Steyvers et al. 2022",
        path="data/imagenet/data_clean.csv",
        sha256="e228fce65313b7660ff36e4859cce93b949766678b2dd17bd91d894e57eaade3",
        experts=3,
        classes=("objects", "animals", "transportation"),
        cases=1181,
        key="image_name",
    ),
)


@dataclass(frozen=True)
class Fetched:
    """A published panel that was checked: its table, the file kept in the cache, and whether it was downloaded now."""

    table: Table
    file: Path
    downloaded: bool


def published(name: str) -> Published:
    """The published panel of a name.

    >>> published("chaoyang").classes
    ('normal', 'serrated', 'adenocarcinoma', 'adenoma')
    """
    for panel in PUBLISHED:
        if panel.name == name:
            return panel
    raise SettingsError(f"no published panel {name!r}; there are {', '.join(panel.name for panel in PUBLISHED)}")


def fetch(
    panel: Published,
    *,
    base: str | None = None,
    folder: Path | None = None,
    timeout: float = TIMEOUT,
    progress: Progress | None = None,
) -> Fetched:
    """A published panel from the cache or, where it is not there as published, by one download that is then kept.

    `base` replaces the address before the file's path, `folder` the cache; without them $QUORATE_PUBLISHED_URL and
    $QUORATE_CACHE_DIR are looked at.
    """
    file = cache_file(panel, folder)
    kept = _read(panel, file)
    if kept is not None and _sha256(kept) == panel.sha256:
        return Fetched(convert(panel, kept), file, downloaded=False)
    source = address(panel, base)
    advice = f"try again later, or download {source} by hand and save it as {str(file)!r}"
    if kept is not None:  # perhaps saved by hand, and then the reader should know that it was looked at
        advice += f" (the file there now has SHA-256 {_sha256(kept)}, not {panel.sha256}, and was not used)"
    _make_folder(panel, file.parent)  # before the download: what cannot be kept is not asked for
    content = _download(panel, source, timeout, progress or (lambda _done, _size: None), advice)
    found = _sha256(content)
    if found != panel.sha256:
        raise FetchError(
            f"{panel.name}: {source} did not give the published file: expected SHA-256 {panel.sha256}, got {found} "
            f"({len(content)} bytes); nothing was kept; a proxy or a login page may have answered instead; {advice}"
        )
    table = convert(panel, content)
    try:
        with replacing(file) as out:
            out.write(content)
    except InputError as error:
        raise FetchError(f"{panel.name}: {error}; {_ELSEWHERE}") from None
    return Fetched(table, file, downloaded=True)


def convert(panel: Published, content: bytes) -> Table:
    """A published file's content as a table; its column `consensus` is left out, the votes say it."""
    experts = [f"expert{h}" for h in range(1, panel.experts + 1)]
    stated = [f"model_p{k}" for k in range(len(panel.classes))]
    cells = _columns(content, panel.cases)
    if any(len(cells.get(name, ())) < panel.cases for name in (panel.key, *experts, *stated)):
        wanted = f"{panel.key!r}, {experts[0]} to {experts[-1]}, {stated[0]} to {stated[-1]}"
        message = f"is not in the published form; expected columns {wanted} and {panel.cases} rows of equal length"
        raise TableError(panel.name, [Problem(None, message)])
    keys = [f"{panel.key_prefix}{key}" for key in cells[panel.key]]
    votes, problems = read_votes([(name, cells[name]) for name in experts], panel.classes, named=True)
    probabilities, more = read_probabilities([[(name, cells[name]) for name in stated]], len(keys))
    if problems or more:
        raise TableError(panel.name, [*problems, *more])
    names = Panel(panel.classes, [f"expert_{h}" for h in range(1, panel.experts + 1)])
    return table_from_arrays(votes, probabilities, panel=names, keys=keys, source=panel.name)


def _columns(content: bytes, rows: int) -> dict[str, tuple[str, ...]]:
    """The first rows of a CSV file by its columns; none where it cannot be read."""
    try:
        header, *lines = csv.reader(io.StringIO(content.decode(), newline=""), strict=True)
        return dict(zip(header, zip(*lines[:rows], strict=True), strict=True))
    except (ValueError, csv.Error):
        return {}


def write_indexed(table: Table, path: str | Path) -> None:
    """Write a table with class indices for votes, which reads with and without the names of the classes."""
    panel = table.panel
    numbered = Panel([str(k) for k in range(len(panel.classes))], panel.experts, panel.classifiers)
    write_table(replace(table, panel=numbered), path)


def cache_file(panel: Published, folder: Path | None = None) -> Path:
    """Where a published file is kept as it came, below the user's cache folder."""
    return (cache_folder() if folder is None else folder) / f"{panel.name}.csv"


def cache_folder() -> Path:
    """Where published files are kept as they came."""
    return cache_root() / "panels"


def is_cached(panel: Published, folder: Path | None = None) -> bool:
    """Whether the cache holds a published file with the right hash."""
    with suppress(FetchError):
        content = _read(panel, cache_file(panel, folder))
        return content is not None and _sha256(content) == panel.sha256
    return False


def address(panel: Published, base: str | None = None) -> str:
    """The address of a published file, below `base`, else $QUORATE_PUBLISHED_URL, else the authors' repository.

    >>> address(published("chestxray"), "https://mirror.example/consensus")
    'https://mirror.example/consensus/data/nih/data_clean.csv'
    """
    root = base or os.environ.get("QUORATE_PUBLISHED_URL") or REPOSITORY
    try:
        parts = urlsplit(root)
        usable = parts.scheme in ("https", "http") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port or a bracket that cannot be read
        usable = False
    plain = root.isascii() and root.isprintable() and not set(root) & set(" ?#@")
    if not (usable and plain):
        raise SettingsError(
            f"{root!r} is no address to fetch from; expected one such as https://mirror.example/consensus "
            "(QUORATE_PUBLISHED_URL)"
        )
    return f"{root.rstrip('/')}/{panel.path}"


_ELSEWHERE = "free the place, or set QUORATE_CACHE_DIR to a folder that can be written"


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _read(panel: Published, file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        why = error.strerror or str(error)
        raise FetchError(f"{panel.name}: cannot read {str(file)!r} in the cache: {why}; {_ELSEWHERE}") from None


def _make_folder(panel: Published, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or str(error)
        raise FetchError(f"{panel.name}: cannot make the folder {str(folder)!r}: {why}; {_ELSEWHERE}") from None


class _GivenUpError(Exception):
    """A download that was ended from this side, or one that the server ended too early."""


def _download(panel: Published, source: str, timeout: float, progress: Progress, advice: str) -> bytes:
    """What the server gives in one attempt, or a FetchError that says what went wrong and what to do."""
    host = urlsplit(source).netloc
    headers = {"User-Agent": "quorate", "Accept-Encoding": "identity"}
    request = Request(source, headers=headers)  # noqa: S310  # `address` lets http and https through alone
    try:
        with urlopen(request, timeout=timeout) as response:  # noqa: S310  # as above
            return _receive(response, progress)
    except HTTPError as error:
        error.close()
        why = f"{host} answered {error.code} {error.reason} for {source}"
    except URLError as error:
        reason = error.reason
        late = isinstance(reason, TimeoutError)
        told = f"no answer within {timeout:g} s" if late else getattr(reason, "strerror", None) or reason
        why = f"cannot reach {host} ({told}); check the network"
    except TimeoutError:
        why = f"{host} sent nothing for {timeout:g} s"
    except _GivenUpError as error:
        why = f"{host} {error}"
    except (OSError, HTTPException) as error:
        why = f"the connection to {host} broke ({error or type(error).__name__})"
    raise FetchError(f"{panel.name}: {why}; {advice}")


def _receive(response: HTTPResponse, progress: Progress) -> bytes:
    announced = response.length
    content = bytearray()
    end = time.monotonic() + LONGEST
    while part := response.read1(2**16):  # not read: it would wait for all of a part, however slowly it drips
        content += part
        progress(len(content), announced)
        if len(content) > LARGEST:
            raise _GivenUpError(f"sent more than {LARGEST} bytes, far more than the published file has")
        if time.monotonic() > end:
            raise _GivenUpError(f"sent only {len(content)} bytes in {LONGEST:g} s")
    if announced is not None and len(content) < announced:
        raise _GivenUpError(f"closed the connection after {len(content)} of {announced} bytes")
    return bytes(content)
