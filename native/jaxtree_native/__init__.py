"""C++ kernels for jaxtree on CPUs, behind XLA's foreign function interface.

CMake installs this package beside `jaxtree`, which finds it there. Nothing in it calls the kernels.
"""

from pathlib import Path

INTERFACE = 4
"""The version of the kernels' arguments; jaxtree uses them only if it is the one that it knows."""

LIBRARY = next(Path(__file__).parent.glob("kernels.*"))
"""The shared library. `jaxtree_histogram` and `jaxtree_sort_by_slot` in it are handlers of XLA."""
