"""Both ways to compute: the kernel in C++, and programs of XLA and NumPy."""

import pytest

from jaxtree.kernels import choose
from tests.growth.native_trees import needs_kernel

ENGINES = [pytest.param("kernel", marks=needs_kernel), "xla"]


def both():
    """Who computes on a CPU."""
    return choose.Engines.of("cpu")


def use(engine, monkeypatch):
    """Lets programs compute although the kernel is there."""
    if engine == "xla":
        monkeypatch.setattr(choose, "is_there", lambda: False)
