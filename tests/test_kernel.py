"""A kernel that is there and cannot be used is one that is not there."""

import ctypes
import logging
import pathlib
import re
import sys
import types

import pytest

from jaxtree.growth.inputs.bundles import LIMIT_RANGES, Limits
from jaxtree.growth.plan.problem import RootLimits
from jaxtree.kernels import library


@pytest.fixture
def installed(monkeypatch, tmp_path):
    """Installs a kernel of a version, whose library is a text."""
    (tmp_path / "kernels.so").write_text("no library")

    def install(interface):
        package = types.SimpleNamespace(INTERFACE=interface, LIBRARY=tmp_path / "kernels.so")
        monkeypatch.setitem(sys.modules, "jaxtree_native", package)

    monkeypatch.delenv("JAXTREE_NATIVE", raising=False)
    library.load.cache_clear()
    yield install
    library.load.cache_clear()


def test_a_library_that_cannot_be_loaded_is_told_of(installed, caplog):
    installed(library.INTERFACE)
    with caplog.at_level(logging.WARNING, "jaxtree"):
        assert library.load() is None
    assert "the kernel in C++ cannot be loaded, and trees grow without it: " in caplog.text


def test_another_version_is_not_opened(installed, monkeypatch):
    monkeypatch.setattr(ctypes, "CDLL", lambda path: pytest.fail("opened"))
    installed(library.INTERFACE + 1)
    assert library.load() is None


def test_it_says_why_it_is_not_there(installed, monkeypatch):
    installed(library.INTERFACE)
    assert (library.why_absent() or "").startswith("the system cannot load it: ")
    installed(library.INTERFACE + 1)
    said = f"it is of version {library.INTERFACE + 1}, and this jaxtree needs {library.INTERFACE}: install again"
    assert library.why_absent() == said
    monkeypatch.setenv("JAXTREE_NATIVE", "0")
    assert library.why_absent() == "JAXTREE_NATIVE=0 switches it off"


@pytest.mark.parametrize(
    ("origin", "reason"),
    [
        ('{"dir_info": {}, "url": "file:///checkout"}', "it was not built with jaxtree"),
        ('{"archive_info": {}, "url": "file:///jaxtree.whl"}', "this is the wheel for every platform, which has none"),
        (None, "this is the wheel for every platform, which has none"),
    ],
)
def test_an_installation_without_it_says_what_it_is(monkeypatch, origin, reason):
    monkeypatch.delenv("JAXTREE_NATIVE", raising=False)
    monkeypatch.setitem(sys.modules, "jaxtree_native", None)
    distribution = types.SimpleNamespace(read_text=lambda name: origin)
    monkeypatch.setattr(library.importlib.metadata, "distribution", lambda name: distribution)
    assert (library.why_absent() or "").startswith(reason)


def test_a_folder_on_the_path_is_no_installation(monkeypatch):
    def absent(name):
        raise library.importlib.metadata.PackageNotFoundError(name)

    monkeypatch.delenv("JAXTREE_NATIVE", raising=False)
    monkeypatch.setitem(sys.modules, "jaxtree_native", None)
    monkeypatch.setattr(library.importlib.metadata, "distribution", absent)
    assert library.why_absent() == "jaxtree is used from a folder and not installed"


def test_the_kernel_takes_limits_in_the_order_of_their_record():
    source = (pathlib.Path(__file__).parents[1] / "native/src/ffi/grow.cc").read_text()
    arguments = re.findall(r"k\w+", source.split("enum Argument : size_t {")[1].split("}")[0])
    first = arguments.index("kMaxDepth")
    names = ["k" + name.title().replace("_", "") for name in RootLimits._fields]
    assert arguments[first : first + len(names)] == names


def test_every_limit_has_a_range():
    assert [*LIMIT_RANGES, "parameters"] == list(Limits._fields)
