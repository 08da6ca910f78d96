"""The folder that keeps compiled programs between processes: JAX's persistent cache, on unless a user says otherwise.

JAX runs what it finds there, so the folder belongs to its user alone: nobody else may write into it, nor into the one
that it lies in. Its name has the version of jaxlib and the kind
of processor: a program that was compiled for another processor may stop the process that runs it.
"""

import contextlib
import functools
import hashlib
import importlib.metadata
import logging
import os
import platform
import re
import stat
import threading
from pathlib import Path

from jaxtree.lazy import jax

LOGGER = logging.getLogger("jaxtree")

LEAST_SECONDS = 0.1
"""Programs that took less are not kept: to compile them again takes as long as to read and trace them."""

SILENT_SINCE = (0, 10, 2)
"""The first jaxlib that reads a kept program of a processor without printing that it may not run there."""

_LOCK = threading.Lock()


def enable_compilation_cache(folder: str | os.PathLike | None = None) -> Path:
    """Makes JAX keep compiled programs in a folder, so that the next process need not compile them.

    jaxtree calls this itself before it compiles its first program, unless JAX has a folder by then (the environment
    variable `JAX_COMPILATION_CACHE_DIR`, or `jax.config`), or its cache is off: by
    `jax.config.update("jax_enable_compilation_cache", False)` or `JAX_ENABLE_COMPILATION_CACHE=false`, or jaxlib is
    older than 0.10.2. Call it yourself, before the first fit, to name another folder. One that JAX has already stays.

    Args:
        folder: Where to keep the programs; `jaxtree/jaxlib-VERSION-PROCESSOR` in the user's cache folder if not given.

    Returns:
        The folder in use.

    Raises:
        OSError: If the folder cannot be made or written.

    Example:
        >>> import tempfile
        >>> from jaxtree.compilation import enable_compilation_cache
        >>> folder = enable_compilation_cache(tempfile.mkdtemp())
    """
    with _LOCK:
        already = jax.config.values["jax_compilation_cache_dir"]
        if already:
            return Path(already)
        folder = default_folder() if folder is None else Path(folder)
        # Folders above that are made on the way would have the mode that the process gives new ones, which groups may
        # write into.
        for part in (*reversed(folder.parents), folder):
            part.mkdir(mode=0o700, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(f"compiled programs cannot be kept in {folder}: it cannot be written")
        # By default JAX keeps only programs that took a second or more; most of ours take less.
        if "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS" not in os.environ:
            jax.config.update("jax_persistent_cache_min_compile_time_secs", LEAST_SECONDS)
        jax.config.update("jax_compilation_cache_dir", str(folder))
        return folder


def keep_programs() -> None:
    """Enables the cache in the user's folder where nothing is said about it; leaves it off where that is not safe."""
    config = jax.config.values
    if config["jax_compilation_cache_dir"] or not config["jax_enable_compilation_cache"] or not _reads_silently():
        return
    try:
        belongs_to_user(default_folder())
        enable_compilation_cache()
    except (OSError, RuntimeError) as error:
        _say_once(f"compiled programs are not kept: {error}")


def default_folder() -> Path:
    """The folder in the user's cache folder that keeps programs of this jaxlib for this processor.

    Raises:
        RuntimeError: If the user has no home.
    """
    caches = os.environ.get("XDG_CACHE_HOME")
    above = Path(caches) if caches else Path.home() / ".cache"
    return above / "jaxtree" / f"jaxlib-{importlib.metadata.version('jaxlib')}-{_processor()}"


def belongs_to_user(folder: Path) -> None:
    """Checks that nobody else can put a program into a folder, which need not exist yet.

    Raises:
        PermissionError: If another user owns it or the folder that it lies in, or a group or others may write there.
    """
    if not hasattr(os, "getuid"):
        return
    for part in (folder, folder.parent):
        with contextlib.suppress(FileNotFoundError):
            found = part.stat()
            if found.st_uid != os.getuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
                raise PermissionError(f"others can write to {part}: chmod go-w takes that from them")


@functools.cache
def _processor() -> str:
    """The kind of processor as a short word: its architecture, and a hash of its features where Linux lists them."""
    with contextlib.suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        features = next(line for line in lines if line.startswith(("flags", "Features")))
        return f"{platform.machine()}-{hashlib.sha256(features.encode()).hexdigest()[:8]}"
    return platform.machine() or "processor"


@functools.cache
def _reads_silently() -> bool:
    return tuple(map(int, re.findall(r"\d+", importlib.metadata.version("jaxlib"))[:3])) >= SILENT_SINCE


@functools.cache
def _say_once(message: str) -> None:
    LOGGER.info(message)
