"""A kernel that is there and cannot be used is one that is not there."""

import ctypes
import logging
import sys
import types

import pytest

from jaxtree import kernel


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Installs a kernel of a version, whose library is a text."""
    (tmp_path / "kernels.so").write_text("no library")

    def install(interface):
        package = types.SimpleNamespace(INTERFACE=interface, LIBRARY=tmp_path / "kernels.so")
        monkeypatch.setitem(sys.modules, "jaxtree_native", package)

    monkeypatch.delenv("JAXTREE_NATIVE", raising=False)
    kernel.load.cache_clear()
    yield install
    kernel.load.cache_clear()


def test_a_library_that_cannot_be_loaded_is_told_of(installed, caplog):
    installed(kernel.INTERFACE)
    with caplog.at_level(logging.WARNING, "jaxtree"):
        assert kernel.load() is None
    assert "the kernel in C++ cannot be loaded, and trees grow without it: " in caplog.text


def test_another_version_is_not_opened(installed, monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda path: pytest.fail("opened"))
    installed(kernel.INTERFACE + 1)
    assert kernel.load() is None
