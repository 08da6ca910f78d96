"""Processes that are forked from one in which JAX has started, and what can be done there.

JAX computes in threads of its own, of which a fork copies none: in the child whoever waits for them waits for ever.
Such a child is *cut off*. NumPy and the kernel in C++ serve it as ever, so that fitted estimators predict, and CART and
ID3 trees are fitted; all else raises an error. A child whose parent has not yet computed anything
starts JAX for itself.
"""

import os
import sys

from jaxtree.errors import ForkedProcessError


class _Process:
    """The state of this process.

    Attributes:
        has_started: Whether JAX had started when the process was last about to fork.
        is_cut_off: Whether JAX had started in the process that this one was forked from, or in one before it.
    """

    has_started = False
    is_cut_off = False


_PROCESS = _Process()


def is_cut_off() -> bool:
    """Whether JAX would wait for threads that this process does not have."""
    return _PROCESS.is_cut_off


def is_on_host() -> bool:
    """Returns whether NumPy and the kernel compute all that they can: JAX is not loaded, or cut off."""
    return _PROCESS.is_cut_off or "jax" not in sys.modules


def check_is_whole(what: str) -> None:
    """Raises ForkedProcessError if this process is cut off.

    Args:
        what: The work that needs JAX, for the message.
    """
    if _PROCESS.is_cut_off:
        raise ForkedProcessError(
            f"{what} needs JAX, whose threads are not in this process ({os.getpid()}): it was forked after JAX had "
            "started. Predictions of fitted estimators work here, and fits of CART and ID3 trees by the kernel. For "
            "all else start processes by 'spawn' or 'forkserver' or with joblib's loky, or fork before anything is "
            "computed"
        )


def _before_fork() -> None:
    # JAX has no public name for this that would not start it.
    bridge = sys.modules.get("jax._src.xla_bridge")
    _PROCESS.has_started = bridge is not None and bridge.backends_are_initialized()


def _after_fork() -> None:
    _PROCESS.is_cut_off |= _PROCESS.has_started


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
