"""The container of a model file: a header of JSON and named arrays, in one file of the safetensors format.

Reading it executes nothing, and takes memory in proportion to the size of the file. A checksum tells damage; what a
file with a right checksum holds is still to be checked by those who take it.
"""

import contextlib
import hashlib
import json
import os
import secrets
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import safetensors
import safetensors.numpy
from jaxtyping import Shaped

from jaxtree.errors import InvalidInputError, ModelFileError

FORMAT = 1
"""The format that is written, and the newest that is read. A change that older readers misread makes a new one."""

LONGEST_HEADER = 32 * 2**20
"""Bytes of the header of a file, which holds names and categories; a parsed one takes some thirty times as much."""

_LENGTH = 8
"""Bytes before the header that tell how long it is."""

_HEADER, _CHECKSUM = "jaxtree", "sha256"

_DTYPES = {
    "BOOL": "?",
    "U8": "u1",
    "U16": "<u2",
    "U32": "<u4",
    "I32": "<i4",
    "I64": "<i8",
    "F32": "<f4",
    "F64": "<f8",
}
"""safetensors' names of the types that model files use."""

Arrays = Mapping[str, Shaped[np.ndarray, "..."]]


class ModelFile(NamedTuple):
    """What a model file holds.

    Attributes:
        header: Values of JSON.
        arrays: Named arrays.
    """

    header: dict[str, Any]
    arrays: dict[str, Shaped[np.ndarray, "..."]]


def write_model_file(path: str | os.PathLike, content: ModelFile) -> None:
    """Writes a model file at once or not at all: what stood at the path stays until the new file is complete.

    Args:
        path: Where to write.
        content: A header of values that JSON has, and arrays of numbers or truth values.

    Raises:
        InvalidInputError: The header is too long.
    """
    text = json.dumps({"format": FORMAT, **content.header}, allow_nan=False)
    arrays = {name: np.ascontiguousarray(array) for name, array in content.arrays.items()}
    metadata = {_HEADER: text, _CHECKSUM: _checksum(text, arrays)}
    data = safetensors.numpy.save(arrays, metadata)
    if _header_length(data) > LONGEST_HEADER:
        raise InvalidInputError(
            f"names and categories of the model take more than {LONGEST_HEADER // 2**20} MiB, which is the most"
        )
    replace_file(Path(os.path.realpath(path)), data)


def read_model_file(path: str | os.PathLike) -> ModelFile:
    """Reads a model file, without looking at what its header and arrays mean.

    Raises:
        ModelFileError: It is damaged, newer than this reader, or no model file at all.
        OSError: It cannot be read.
    """
    data = _read_bytes(path)
    header, text, checksum = _read_header(data)
    try:
        parts = safetensors.deserialize(data)
    except safetensors.SafetensorError as error:
        raise ModelFileError(f"its arrays are damaged ({error})") from None
    arrays = {name: _as_array(name, part) for name, part in parts}
    if checksum != _checksum(text, arrays):
        raise ModelFileError("its checksum does not fit: it has changed since it was written")
    return ModelFile(header, arrays)


def replace_file(path: Path, data: bytes) -> None:
    """Writes a file beside the path, and moves it there when it is complete."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with open(beside, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        if isinstance(error, OSError):
            # The caller knows the path, and not the file beside it.
            error.filename, error.filename2 = os.fspath(path), None
        raise


def _read_bytes(path: str | os.PathLike) -> bytes:
    # Opened without waiting: a pipe that nobody writes to would block.
    with open(path, "rb", opener=_open_at_once) as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError("it is no regular file")
        return opened.read(status.st_size)


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _header_length(data: bytes) -> int:
    return int.from_bytes(data[:_LENGTH], "little")


def _read_header(data: bytes) -> tuple[dict[str, Any], str, str]:
    """The header of a file, its text, and the checksum; of a newer file the header may have any form."""
    length = _header_length(data)
    if len(data) < _LENGTH or not 0 < length <= min(len(data) - _LENGTH, LONGEST_HEADER):
        raise ModelFileError("it is no model file, or cut short")
    whole = _parse(data[_LENGTH : _LENGTH + length])
    metadata = whole.get("__metadata__")
    if not isinstance(metadata, dict) or not isinstance(metadata.get(_HEADER), str):
        raise ModelFileError("it is no model file of jaxtree: its header does not say so")
    header = _parse(metadata[_HEADER])
    version = header.get("format")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"its format must be a positive integer, got {_shown(version)}")
    if version > FORMAT:
        raise ModelFileError(
            f"it has format {_shown(version)}, written by jaxtree {_shown(header.get('jaxtree'))}; this one reads "
            f"formats up to {FORMAT}: install a newer jaxtree"
        )
    checksum = metadata.get(_CHECKSUM)
    if not isinstance(checksum, str):
        raise ModelFileError("it has no checksum")
    return header, metadata[_HEADER], checksum


def _parse(text: str | bytes) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its header is damaged ({_shown(error)})") from None
    if not isinstance(value, dict):
        raise ModelFileError("its header is damaged (it is no object)")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _as_array(name: str, part: dict[str, Any]) -> Shaped[np.ndarray, "..."]:
    if part["dtype"] not in _DTYPES:
        raise ModelFileError(f"array {_shown(name)} has type {_shown(part['dtype'])}, which model files do not use")
    try:
        array = np.frombuffer(part["data"], _DTYPES[part["dtype"]]).reshape(part["shape"])
    except ValueError:
        raise ModelFileError(f"array {_shown(name)} has an impossible shape") from None
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _checksum(text: str, arrays: Arrays) -> str:
    """SHA-256 of the header and of all arrays, in the order of their names."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        kind = array.dtype.newbyteorder("<")
        digest.update(json.dumps([name, kind.str.lstrip("<|"), list(array.shape)]).encode())
        digest.update(array.astype(kind, copy=False).tobytes())
    return digest.hexdigest()


def _shown(value: object) -> str:
    """A value of unknown origin in a message: short."""
    text = str(value) if isinstance(value, str | BaseException) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
