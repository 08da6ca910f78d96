"""Compiled programs are kept in the user's folder by themselves, and where that is not safe they are not."""

import os
import subprocess
import sys

import jax
import pytest

from jaxtree import program_folder
from jaxtree.compilation import enable_compilation_cache
from tests.marks import in_turn

FIT = """
import jax, numpy as np
from jaxtree.compilation import compiled
compiled()(lambda x: x * 2)(np.arange(3))
print(jax.config.jax_compilation_cache_dir, jax.config.jax_persistent_cache_min_compile_time_secs)
"""


def run(code, **variables):
    """The output of a new process that knows nothing of the cache of these tests."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment | variables, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.fixture
def without_folder():
    """JAX as in a new process: it has no folder."""
    names = ("jax_compilation_cache_dir", "jax_persistent_cache_min_compile_time_secs")
    before = {name: jax.config.values[name] for name in names}
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    for name, value in before.items():
        jax.config.update(name, value)


@pytest.fixture
def caches(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_a_first_program_is_kept_in_the_folder_of_this_jaxlib(tmp_path):
    folder, least = run(FIT, XDG_CACHE_HOME=str(tmp_path)).split()
    assert folder.startswith(f"{tmp_path}/jaxtree/jaxlib-{jax.lib.__version__}-") and float(least) == 0.1
    assert os.stat(folder).st_mode & 0o777 == 0o700


@pytest.mark.slow
def test_what_a_user_says_of_the_cache_stays(tmp_path):
    assert run(FIT, JAX_COMPILATION_CACHE_DIR=str(tmp_path)).split() == [str(tmp_path), "1.0"]
    off = run(
        'import jax; jax.config.update("jax_enable_compilation_cache", False)' + FIT, XDG_CACHE_HOME=str(tmp_path)
    )
    assert off.split()[0] == "None" and not list(tmp_path.iterdir())
    assert run(FIT, JAX_ENABLE_COMPILATION_CACHE="false", XDG_CACHE_HOME=str(tmp_path)).split()[0] == "None"


def test_a_named_folder_is_used_and_the_first_one_stays(without_folder, caches):
    assert enable_compilation_cache(caches / "own") == caches / "own"
    program_folder.keep_programs()
    assert enable_compilation_cache() == caches / "own"


@pytest.mark.parametrize(
    ("mode", "part"), in_turn([0o777, 0o775, 0o770, 0o720, 0o702, 0o2770, 0o1777], ["above", "itself"])
)
def test_a_folder_that_others_can_write_is_not_used(without_folder, caches, mode, part):
    folder = program_folder.default_folder()
    folder.mkdir(parents=True)
    (folder.parent if part == "above" else folder).chmod(mode)
    (folder if part == "above" else folder.parent).chmod(0o700)
    program_folder.keep_programs()
    assert jax.config.values["jax_compilation_cache_dir"] is None


@pytest.mark.parametrize("mode", [0o700, 0o755, 0o750])
def test_a_folder_that_others_can_only_read_is_used(without_folder, caches, mode):
    folder = program_folder.default_folder()
    folder.mkdir(parents=True)
    for part in (folder, folder.parent):
        part.chmod(mode)
    program_folder.keep_programs()
    assert jax.config.values["jax_compilation_cache_dir"] == str(folder)


def test_folders_that_are_made_are_for_the_user_alone(without_folder, caches):
    before = os.umask(0o002)
    try:
        program_folder.keep_programs()
    finally:
        os.umask(before)
    folder = program_folder.default_folder()
    assert jax.config.values["jax_compilation_cache_dir"] == str(folder)
    assert [part.stat().st_mode & 0o777 for part in (folder, folder.parent)] == [0o700, 0o700]
    program_folder.belongs_to_user(folder)


def test_without_a_place_nothing_is_kept_and_nothing_fails(without_folder, caches, monkeypatch):
    (caches / "file").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(caches / "file"))
    program_folder.keep_programs()
    assert jax.config.values["jax_compilation_cache_dir"] is None
    with pytest.raises(OSError):
        enable_compilation_cache()


def test_a_jaxlib_that_prints_while_it_reads_keeps_nothing(without_folder, caches, monkeypatch):
    for version, keeps in (("0.10.0", False), ("0.10.2", True), ("0.12.0.1", True)):
        monkeypatch.setattr(program_folder.importlib.metadata, "version", lambda _, version=version: version)
        program_folder._reads_silently.cache_clear()
        assert program_folder._reads_silently() is keeps
    program_folder._reads_silently.cache_clear()


def test_a_home_that_is_missing_is_no_error(without_folder, monkeypatch):
    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(program_folder.Path, "home", no_home)
    program_folder.keep_programs()
    assert jax.config.values["jax_compilation_cache_dir"] is None
