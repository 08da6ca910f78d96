"""The container of a model file: a header of JSON and named arrays, in one file of the safetensors format.

Reading it executes nothing, and takes memory in proportion to the size of the file. A checksum shows damage; what a
file with a right checksum holds is still to be checked by those who take it.
"""

import hashlib
import json
import os
import stat
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import safetensors
import safetensors.numpy
from jaxtyping import Shaped

from jaxtree.errors import InvalidInputError, ModelFileError
from jaxtree.files.writing import write_file

FORMAT = 6
"""The format that is written, and the only one that is read."""

LONGEST_HEADER = 32 * 2**20
"""Bytes of the header of a file, which holds names and categories; a parsed one takes some thirty times as much."""

_SMALL_FILE, _MOST_HOLES, _BLOCK = 2**24, 100, 512
"""A file longer than 16 MiB may be 100 times as long as the blocks of 512 bytes that it takes on the disk."""

_LENGTH = 8
"""Bytes before the header that hold its length."""

_LIBRARY = b"jaxtree library\0"
"""The last bytes of a shared library that has a model file behind it; before them stands the length of that file."""

_HEADER, _CHECKSUM = "jaxtree", "sha256"

_DTYPES = ("|b1", "|u1", "<u2", "<u4", "<i4", "<i8", "<f4", "<f8")
"""The types of arrays in model files."""

Arrays = dict[str, Shaped[np.ndarray, "..."]]


class ModelFile(NamedTuple):
    """The content of a model file.

    Attributes:
        header: Values of JSON.
        arrays: Named arrays.
    """

    header: dict[str, Any]
    arrays: Arrays


def write_model_file(path: str | os.PathLike, content: ModelFile) -> None:
    """Writes a model file at once or not at all, as `jaxtree.files.writing.write_file` does.

    Args:
        path: Where to write.
        content: A header of values that JSON has, and arrays of numbers or truth values.

    Raises:
        InvalidInputError: The header is too long.
    """
    text = json.dumps({"format": FORMAT, **content.header}, allow_nan=False)
    arrays = {name: np.ascontiguousarray(array) for name, array in content.arrays.items()}
    data = _in_order(safetensors.numpy.save(arrays, {_HEADER: text, _CHECKSUM: _checksum(text, arrays)}))
    if _header_length(data) > LONGEST_HEADER:
        raise InvalidInputError(
            f"names and categories of the model take more than {LONGEST_HEADER // 2**20} MiB, which is the most"
        )
    write_file(path, data)


def read_model_file(path: str | os.PathLike) -> ModelFile:
    """Reads a model file, without looking at what its header and arrays mean.

    Raises:
        ModelFileError: It is damaged, of another format, or no model file at all.
        OSError: It cannot be read.
    """
    data, metadata = _read(path)
    text = metadata[_HEADER]
    header = _parse(text)
    _check_format(header)
    try:
        arrays = safetensors.numpy.load(data)
    except (safetensors.SafetensorError, ValueError, TypeError, LookupError, ImportError) as error:
        raise ModelFileError(f"its arrays are damaged ({shortened(error)})") from None
    for name, array in arrays.items():
        if array.dtype.newbyteorder("<").str not in _DTYPES:
            raise ModelFileError(f"array {shortened(name)} has type {array.dtype}, which model files do not use")
    if metadata.get(_CHECKSUM) != _checksum(text, arrays):
        raise ModelFileError("its checksum does not fit: it has changed since it was written")
    return ModelFile(header, arrays)


def as_library(library: bytes, model: bytes) -> bytes:
    """Returns the content of a shared library with a model file behind it, which systems do not load."""
    return library + model + len(model).to_bytes(_LENGTH, "little") + _LIBRARY


def is_library(path: str | os.PathLike) -> bool:
    """Returns whether a file is a shared library with a model file behind it."""
    with open(path, "rb") as opened:
        opened.seek(0, os.SEEK_END)
        size = opened.tell()
        opened.seek(max(size - len(_LIBRARY), 0))
        return opened.read() == _LIBRARY


def shortened(value: object) -> str:
    """A value of unknown origin for a message, in at most 80 characters."""
    text = str(value) if isinstance(value, str | BaseException) else repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


def _read(path: str | os.PathLike) -> tuple[bytes, dict[str, Any]]:
    """Reads a file after a look at its beginning: its bytes, and the texts that safetensors keeps with its arrays.

    A file may be much larger than what it takes on the disk, and its arrays are read only where its header names them.
    """
    # Opened without waiting: a pipe that nobody writes to would block.
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | getattr(os, "O_NONBLOCK", 0))) as opened:
        status = os.fstat(opened.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise ModelFileError("it is no regular file")
        # Not known everywhere; a file system that compresses does not do so by as much.
        on_disk = getattr(status, "st_blocks", 0) * _BLOCK
        if on_disk and status.st_size > max(_SMALL_FILE, _MOST_HOLES * on_disk):
            raise ModelFileError("it has hardly any content for its length")
        file_size = _find_model(opened, status.st_size)
        beginning = opened.read(_LENGTH)
        length = _header_length(beginning)
        if len(beginning) < _LENGTH or not 0 < length <= min(file_size - _LENGTH, LONGEST_HEADER):
            raise ModelFileError("it is no model file, or cut short")
        header = opened.read(length)
        named = _parse(header)
        metadata = _metadata(named)
        _check_format(_parse(metadata[_HEADER]))
        size = file_size - _LENGTH - length
        if size != _bytes_named(named):
            raise ModelFileError("its arrays are damaged (their sizes are not those of the file)")
        return beginning + header + opened.read(size), metadata


def _find_model(opened: BinaryIO, size: int) -> int:
    """Moves to where the model file begins, behind a library if there is one, and returns its length."""
    behind = _LENGTH + len(_LIBRARY)
    if size > behind:
        opened.seek(size - behind)
        length, mark = _header_length(opened.read(_LENGTH)), opened.read()
        if mark == _LIBRARY and length <= size - behind:
            opened.seek(size - behind - length)
            return length
    opened.seek(0)
    return size


def _in_order(data: bytes) -> bytes:
    """Returns a file of safetensors, which writes texts in any order, with these in that of their names.

    So the same model is the same file.
    """
    end = _LENGTH + _header_length(data)
    named = json.loads(data[_LENGTH:end])
    named["__metadata__"] = dict(sorted(named["__metadata__"].items()))
    header = json.dumps(named, separators=(",", ":")).encode()
    header += b" " * (-len(header) % _LENGTH)  # arrays begin at a multiple of eight bytes
    return b"".join([len(header).to_bytes(_LENGTH, "little"), header, memoryview(data)[end:]])


def _header_length(data: bytes) -> int:
    return int.from_bytes(data[:_LENGTH], "little")


def _metadata(named: dict[str, Any]) -> dict[str, Any]:
    """The texts that safetensors keeps with its arrays; among them is our header."""
    metadata = named.get("__metadata__")
    if not isinstance(metadata, dict) or not isinstance(metadata.get(_HEADER), str):
        raise ModelFileError("it is no model file of jaxtree: its header is another")
    return metadata


def _bytes_named(named: dict[str, Any]) -> int:
    """The bytes of all arrays that a header of safetensors names."""
    ends = [0]
    for name, described in named.items():
        match described:
            case {"data_offsets": [int(), int(end)]} if name != "__metadata__":
                ends.append(end)
    return max(ends)


def _check_format(header: dict[str, Any]) -> None:
    """Raises ModelFileError unless the format is the one that is read; in another the header may have any form."""
    version = header.get("format")
    if type(version) is not int or version < 1:
        raise ModelFileError(f"its format must be a positive integer, got {shortened(version)}")
    if version != FORMAT:
        cure = "install a newer jaxtree" if version > FORMAT else "fit the estimator again, or load it with that one"
        raise ModelFileError(
            f"it has format {shortened(version)}, written by jaxtree {shortened(header.get('jaxtree'))}; this one "
            f"reads format {FORMAT}: {cure}"
        )


def _parse(text: str | bytes) -> dict[str, Any]:
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its header is damaged ({shortened(error)})") from None
    if not isinstance(value, dict):
        raise ModelFileError("its header is damaged (it is no object)")
    return value


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _checksum(text: str, arrays: Arrays) -> str:
    """SHA-256 of the header and of all arrays, in the order of their names."""
    digest = hashlib.sha256(text.encode())
    for name in sorted(arrays):
        array = arrays[name]
        kind = array.dtype.newbyteorder("<")
        digest.update(json.dumps([name, kind.str, list(array.shape)]).encode())
        digest.update(array.astype(kind, copy=False).tobytes())
    return digest.hexdigest()
