"""The cores that a computation may use: counted here alone, for Python's threads, the kernel's and batches of trees.

They are those that the system lets the process use (its affinity, the quota of its container, `LOKY_MAX_CPU_COUNT`), at
most `OMP_NUM_THREADS` of them, as in scikit-learn, LightGBM and XGBoost; or as many as `n_jobs` says.
"""

import contextlib
import contextvars
import functools
import os
from collections.abc import Callable, Iterator
from typing import Any

_LIMIT: contextvars.ContextVar[int | None] = contextvars.ContextVar("limit", default=None)
"""The cores of what is computed in this thread; None for all that there are."""


def num_cores() -> int:
    """Returns the cores that what is computed in this thread may use."""
    limit = _LIMIT.get()
    if limit is not None:
        return limit
    number = _count(frozenset(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None)
    wanted = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return min(number, int(wanted)) if wanted.isdigit() and int(wanted) else number


@contextlib.contextmanager
def using_cores(n_jobs: int) -> Iterator[None]:
    """Computes on a number of cores what stands in the block.

    Args:
        n_jobs: The number; -1 for all there are, -2 for all but one. Within another such block there are as many as
            this says.

    Example:
        >>> with using_cores(2), using_cores(3):
        ...     num_cores()
        2
    """
    outer = _LIMIT.get()
    number = n_jobs if n_jobs > 0 else max(1, num_cores() + 1 + n_jobs)
    token = _LIMIT.set(number if outer is None else min(number, outer))
    try:
        yield
    finally:
        _LIMIT.reset(token)


def with_share_of_cores(work: Callable[..., Any], num_threads: int) -> Callable[..., Any]:
    """Returns a function for some threads side by side, in each of which it computes on its share of the cores.

    Threads begin without contexts.
    """
    share = max(1, num_cores() // num_threads)

    @functools.wraps(work)
    def in_thread(*arguments: Any) -> Any:
        token = _LIMIT.set(share)
        try:
            return work(*arguments)
        finally:
            _LIMIT.reset(token)

    return in_thread


@functools.lru_cache(maxsize=8)
def _count(_: frozenset[int] | None) -> int:
    """Counts the cores of a process that may use some of them: joblib reads files, which takes .1 ms and more."""
    import joblib  # with which scikit-learn's estimators run, and nothing that is imported before them

    return joblib.cpu_count()
