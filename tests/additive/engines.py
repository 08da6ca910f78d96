"""Both ways to compute: the kernel in C++, and programs of XLA."""

import pytest

from jaxtree.additive import cyclic, sums
from tests.growth.native_trees import needs_kernel

ENGINES = [pytest.param("kernel", marks=needs_kernel), "xla"]


def use(engine, monkeypatch):
    """Lets programs compute although the kernel is there."""
    if engine == "xla":
        for module in (cyclic, sums):
            monkeypatch.setattr(module, "uses_kernel", lambda _: False)
