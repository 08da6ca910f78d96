"""C++ kernels for jaxtree on CPUs, behind XLA's foreign function interface.

Nothing is called from here: where this package is installed, `jaxtree` finds it and uses it.
"""

from pathlib import Path

INTERFACE = 1
"""The version of the kernels' arguments; jaxtree uses them only if it is the one that it knows."""

LIBRARY = next(Path(__file__).parent.glob("kernels.*"))
"""The shared library. `jaxtree_histogram` and `jaxtree_sort_by_slot` in it are handlers of XLA."""
