"""A kernel that is there and cannot be used is one that is not there."""

import ctypes
import logging
import sys
import types

import numpy as np
import pytest

from jaxtree import DecisionTreeClassifier
from jaxtree.errors import InternalError
from jaxtree.growth import host, native
from jaxtree.growth.inputs.bundles import Limits, limit_ranges
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


@pytest.mark.skipif(library.load() is None, reason="the kernel is not installed")
@pytest.mark.parametrize(
    ("word", "other", "said"),
    [
        ("score_noise", "", r"other limits than this package, without \['score_noise'\] and with \[\]"),
        ("min_gain", "gain", r"other limits than this package, without \['min_gain'\] and with \['gain'\]"),
        ("in_average", "", r"other features than this package, without \['in_average'\] and with \[\]"),
        ("root_seed", "root_seed more", r"other arrays than this package, without \[\] and with \['more'\]"),
        ("split_kind", "kind_of_split", "other nodes than this package, without"),
    ],
)
def test_a_kernel_of_other_fields_is_an_error_when_growth_begins(word, other, said, monkeypatch):
    declared = [[own.replace(word, other) for own in names] for names in library.growth_fields()]
    monkeypatch.setattr(native, "growth_fields", lambda: [" ".join(names).split() for names in declared])
    monkeypatch.setattr(native, "kernel_fields", native.kernel_fields.__wrapped__)
    with pytest.raises(InternalError, match=said):
        DecisionTreeClassifier().fit([[0.0], [1.0]], [0, 1])


@pytest.mark.skipif(library.load() is None, reason="the kernel is not installed")
def test_limits_reach_the_kernel_by_their_names(monkeypatch):
    """Whatever the order in which it declares them."""
    X, y = np.arange(40.0)[:, None], np.arange(40) // 3 % 2
    few = DecisionTreeClassifier(max_depth=2, min_samples_leaf=3).fit(X, y)
    fields = native.kernel_fields()
    rows_of = host._rows
    moved = fields._replace(limits=fields.limits[::-1])

    def rows(names, values, size, dtype):
        table = rows_of(names, values, size, dtype)
        return table[::-1].copy() if names == moved.limits else table

    monkeypatch.setattr(host, "kernel_fields", lambda: moved)
    monkeypatch.setattr(host, "_rows", rows)
    again = DecisionTreeClassifier(max_depth=2, min_samples_leaf=3).fit(X, y)
    assert again.tree_.threshold.tolist() == few.tree_.threshold.tolist()


def test_every_limit_has_a_range_and_a_name_in_the_kernel():
    assert [*limit_ranges(), "parameters"] == list(Limits._fields)
    assert all(own.least < own.most for own in limit_ranges().values())
