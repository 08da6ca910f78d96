"""Downloads of tables from the UCI Machine Learning Repository (licence CC BY 4.0) into the folder of a study."""

import io
import urllib.request
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from jaxtree.errors import InvalidInputError
from jaxtree.files.writing import write_file

ARCHIVE = "https://archive.ics.uci.edu/ml/machine-learning-databases/"
SECONDS = 30
"""The time that a server has to answer."""


class Source(NamedTuple):
    """A file and its origin.

    Attributes:
        file: Its place in the folder of the data.
        address: Its place in the archive.
        member: Its name in the zip file that stands there; "" where the file itself does.
    """

    file: str
    address: str
    member: str = ""


SOURCES = {
    "absenteeism": (
        Source("gradtree/absenteeism.csv", "00445/Absenteeism_at_work_AAA.zip", "Absenteeism_at_work.csv"),
    ),
    "balance-scale": (Source("balance-scale/balance-scale.data", "balance-scale/balance-scale.data"),),
    "cmc": (Source("gradtree/cmc.data", "cmc/cmc.data"),),
    "dermatology": (Source("gradtree/dermatology.data", "dermatology/dermatology.data"),),
    "echocardiogram": (Source("gradtree/echocardiogram.data", "echocardiogram/echocardiogram.data"),),
    "heart-cleveland": (Source("gradtree/heart-cleveland.data", "heart-disease/processed.cleveland.data"),),
    "heart-failure": (Source("gradtree/heart-failure.csv", "00519/heart_failure_clinical_records_dataset.csv"),),
    "hepatitis": (Source("gradtree/hepatitis.data", "hepatitis/hepatitis.data"),),
    "horse-colic": (
        Source("gradtree/horse-colic.data", "horse-colic/horse-colic.data"),
        Source("gradtree/horse-colic.test", "horse-colic/horse-colic.test"),
    ),
    "lymphography": (Source("gradtree/lymphography.data", "lymphography/lymphography.data"),),
    "transfusion": (Source("gradtree/transfusion.data", "blood-transfusion/transfusion.data"),),
    "wdbc": (Source("gradtree/wdbc.data", "breast-cancer-wisconsin/wdbc.data"),),
    "zoo": (Source("gradtree/zoo.data", "zoo/zoo.data"),),
}
"""The tables that the archive has as the study reads them."""


def download(
    names: Sequence[str],
    folder: Path,
    on_file: Callable[[str], None],
    open_address: Callable[..., io.IOBase] | None = None,
) -> None:
    """Puts the files of tables into a folder, those that are not there yet; other tables are left out.

    Args:
        names: The names of the tables.
        folder: The folder, which is made where it is absent.
        on_file: Called with the name of every file before it is downloaded.
        open_address: Opens an address; by default that of `urllib`.

    Raises:
        InvalidInputError: A file cannot be downloaded, as without a network; those before it are there.
    """
    for name in names:
        for source in SOURCES.get(name, ()):
            path = folder / source.file
            if path.exists():
                continue
            on_file(source.file)
            content = _content_of(source, path, open_address or urllib.request.urlopen)
            path.parent.mkdir(parents=True, exist_ok=True)
            write_file(path, content)


def _content_of(source: Source, path: Path, open_address: Callable[..., io.IOBase]) -> bytes:
    try:
        with open_address(ARCHIVE + source.address, timeout=SECONDS) as answer:
            content = answer.read()
        if source.member:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                content = archive.read(source.member)
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        reason = getattr(error, "reason", None) or error
        raise InvalidInputError(
            f"cannot download {ARCHIVE + source.address} ({reason}): check the network, or put the file there "
            f"yourself, as {path}"
        ) from None
    return content
