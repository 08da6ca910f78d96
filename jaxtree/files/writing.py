"""Files that are written whole or not at all, and what is no regular file, which is written into.

A *descriptor* is a file that this process has open already, under a name such as `/dev/stdout` or `/dev/fd/3`.
"""

import contextlib
import errno
import os
import re
import secrets
import stat
import sys
from pathlib import Path

from jaxtree.errors import InvalidInputError

STANDARD_OUTPUT = 1
"""The descriptor of the standard output."""

_MOST_LINKS = 40
"""Symbolic links that are followed; as many as Linux follows."""

_IN_PLACE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EBUSY)
"""Errors of a folder in which no file can be made or moved, though a file in it may be written: one mounted alone."""


def write_file(path: str | os.PathLike, data: bytes) -> None:
    """Writes a file at once or not at all: what stood at the path stays until the new one is complete.

    A file that is replaced keeps its permissions and, if the system allows it, its owner; a new one has those that
    the process gives new files. A symbolic link stays, and what it points to is written. Anything but a regular file (a
    device, a named pipe, or a file that the process has open already, such as `/dev/stdout`) is written into.

    Args:
        path: Where to write.
        data: The bytes to write.

    Raises:
        OSError: It cannot be written.
    """
    number = descriptor_of(path)
    if number is not None:
        _write_to_descriptor(number, data)
        return
    status = _status(path)
    if status is not None and not stat.S_ISREG(status.st_mode):
        _write_into(path, data)
        return
    _replace(Path(os.path.realpath(path)), data, status)


def descriptor_of(path: str | os.PathLike) -> int | None:
    """Returns the number of the open file that a path is a name of; None if it is a path of another kind."""
    path = os.path.abspath(os.fspath(path))
    own = re.compile(rf"(/dev/fd|/proc/(self|thread-self|{os.getpid()})(/task/\d+)?/fd)")
    for _ in range(_MOST_LINKS):
        folder, name = os.path.split(path)
        if own.fullmatch(folder) or own.fullmatch(os.path.realpath(folder)):
            return int(name) if name.isascii() and name.isdigit() else None
        try:
            path = os.path.abspath(os.path.join(folder, os.readlink(path)))
        except OSError:  # no link, or one of another process
            return None
    return None


def check_writable(path: str | os.PathLike) -> None:
    """Raises InvalidInputError, before the work, if a file cannot be written."""
    path = os.fspath(path)
    if descriptor_of(path) is not None:
        return
    status = _status(path)
    if status is not None and stat.S_ISDIR(status.st_mode):
        raise InvalidInputError(f"{path!r} is a folder; name a file in it")
    if status is not None and not stat.S_ISREG(status.st_mode):
        if not os.access(path, os.W_OK):
            raise InvalidInputError(f"{path} cannot be written to")
        return
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise InvalidInputError(f"the folder of {path} is not there")
    if not os.access(folder, os.W_OK) and (status is None or not os.access(path, os.W_OK)):
        raise InvalidInputError(f"the folder of {path} cannot be written to")


def _status(path: str | os.PathLike) -> os.stat_result | None:
    """The file at a path, at the end of all links; None for nothing."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _write_to_descriptor(number: int, data: bytes) -> None:
    """Writes where an open file is, behind what has been printed."""
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    with open(number, "wb", closefd=False) as opened:
        opened.write(data)


def _write_into(path: str | os.PathLike, data: bytes, *, empties: bool = False) -> None:
    """Writes into what stands at a path, and never makes anything there; a pipe waits for its reader."""
    flags = os.O_WRONLY | (os.O_TRUNC if empties else 0) | getattr(os, "O_BINARY", 0)
    with open(path, "wb", opener=lambda name, _: os.open(name, flags)) as opened:
        opened.write(data)


def _replace(path: Path, data: bytes, status: os.stat_result | None) -> None:
    """Writes a file next to the path, and moves it there when it is complete."""
    part = path.with_name(f".{secrets.token_hex(8)}.part")
    # Nobody may read it before it has the permissions of the file that it replaces.
    mode = 0o666 if status is None else 0o600
    try:
        with open(part, "xb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if status is not None:
            _take_permissions(part, status)
        os.replace(part, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink()
        if isinstance(error, OSError):
            if status is not None and error.errno in _IN_PLACE and os.access(path, os.W_OK):
                _write_into(path, data, empties=True)
                return
            # The caller has named the path, and not the file next to it.
            error.filename, error.filename2 = os.fspath(path), None
        raise


def _take_permissions(path: Path, status: os.stat_result) -> None:
    """Gives a file the owner, where that is allowed, and the mode of another."""
    own = path.stat()
    if hasattr(os, "chown") and (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
        with contextlib.suppress(OSError):
            os.chown(path, status.st_uid, status.st_gid)
    os.chmod(path, stat.S_IMODE(status.st_mode))
