"""Keeping compiled programs between processes."""

import os
from pathlib import Path

import jax


def enable_compilation_cache(folder: str | os.PathLike | None = None) -> Path:
    """Makes JAX keep every compiled program in a folder, so that the next process need not compile it.

    Call it before the first array is made. A folder that is set already, by the environment variable
    `JAX_COMPILATION_CACHE_DIR` or in `jax.config`, stays.

    Args:
        folder: Where to keep the programs; `jaxtree` in the user's cache folder if not given.

    Returns:
        The folder in use.
    """
    already = jax.config.values["jax_compilation_cache_dir"]
    if already:
        return Path(already)
    if folder is None:
        folder = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "jaxtree"
    jax.config.update("jax_compilation_cache_dir", str(folder))
    # JAX keeps only programs that took a second or more unless told otherwise; most of ours take less.
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    return Path(folder)
