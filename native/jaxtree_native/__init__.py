"""The kernel in C++ that grows jaxtree's trees on CPUs, behind XLA's foreign function interface.

CMake installs this package beside `jaxtree`, which finds it there. Nothing in it calls the kernel.
"""

from pathlib import Path

INTERFACE = 24
"""The version of the kernel's arguments; jaxtree uses it only if it is the one that it knows."""

LIBRARY = next(Path(__file__).parent.glob("kernels.*"))
"""The shared library. `jaxtree_grow` in it is a handler of XLA."""
