"""Placement of fits: each chooses its device once, by how much it has to do."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jax.sharding import Mesh

from jaxtree.cores import using_cores
from jaxtree.dataset.exchange import LONE, Exchange, SharedExchange, exchange_of
from jaxtree.devices import costs, placed
from jaxtree.devices.costs import Work
from jaxtree.estimators.common.conventions import check_parameters
from jaxtree.table.sources import is_parquet, open_source


@contextlib.contextmanager
def placed_fit(estimator: Any, X: Any, mesh: Mesh | None = None, *, num_fits: int = 1) -> Iterator[Exchange]:
    """Fits an estimator on the device that should finish first (`jaxtree.devices`), on as many cores as `n_jobs` says.

    Gives the exchange of the fit. Where several processes share its rows, a fit that fails in one leaves the estimator
    as it was in all.

    Args:
        estimator: An estimator, with `work_of_fit` if it is grown or trained.
        X: A table or a source; an array of JAX says where.
        mesh: Devices that the fit is divided among.
        num_fits: How many fits of this size there are.
    """
    name, n_jobs = type(estimator).__name__, getattr(estimator, "n_jobs", None)
    cores = contextlib.nullcontext() if n_jobs is None else using_cores(n_jobs)
    exchange = LONE if mesh is None else exchange_of(mesh)
    kept = exchange.keeping(estimator) if isinstance(exchange, SharedExchange) else contextlib.nullcontext()
    with kept, cores, placed(name, lambda: _work_of(estimator, X, num_fits), X, mesh=mesh):
        yield exchange


def _work_of(estimator: Any, X: Any, num_fits: int) -> Work | None:
    """Returns the work of fits; None if the size of the table is not known."""
    shape = shape_of(X)
    if shape is None:
        return None
    if not hasattr(estimator, "work_of_fit"):
        # A model that is made from others takes about as much work as a tree.
        return costs.growth(*shape, levels=costs.levels_of(shape[0], None)).times(num_fits)
    check_parameters(estimator)
    return estimator.work_of_fit(*shape).times(num_fits)


def shape_of(X: Any) -> tuple[int, int] | None:
    """Returns the rows and columns of a table, or of a file; None if they are not known before it is read.

    >>> shape_of([[1.0, 2.0]]), shape_of(iter([]))
    ((1, 2), None)
    """
    shape: Any = getattr(X, "shape", None)
    if isinstance(X, str | os.PathLike) and not (Path(X).exists() and is_parquet(X)):
        return None
    if isinstance(X, str | os.PathLike):
        source = open_source(X)
        shape = source.num_rows, len(source.names or ())
    elif isinstance(X, list | tuple) and X and hasattr(X[0], "__len__"):
        shape = len(X), len(X[0])
    if shape is None or len(shape) != 2 or not all(isinstance(size, int) and size > 0 for size in shape):
        return None
    return shape[0], shape[1]
