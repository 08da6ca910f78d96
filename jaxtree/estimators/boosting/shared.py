"""Boosting on tables of which several processes have a part each; see `jaxtree.dataset.exchange`.

Every process reads its own rows and places them on its own devices; the rounds are then those of one mesh. Metrics, and
so the decision when to stop, are the same in all processes.
"""

import hashlib
from typing import Any

import jax
import numpy as np
from jaxtyping import Shaped

from jaxtree.boosting.data import BoostData, score_type
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.buckets import pad_to, row_bucket
from jaxtree.dataset.dataset import Dataset
from jaxtree.dataset.exchange import SharedExchange
from jaxtree.losses.loss import BaseLoss


def common_start(
    given: ScoredRows, num_rows: int, loss: BaseLoss, exchange: SharedExchange
) -> tuple[Shaped[np.ndarray, " score"], Any]:
    """Returns the start of the rows of all processes, which one process would have, and the type of scores.

    Args:
        given: The rows of this process, padded.
        num_rows: Their number.
        loss: The loss.
        exchange: How the processes know of one another.

    Raises:
        InvalidInputError: Processes have other fields.
    """
    exchange.check_same(" ".join(sorted(given.extras)), "what the loss asks for must be given in all processes")
    parts = jax.tree.map(lambda own: np.concatenate(exchange.gather(own[:num_rows])), tuple(given[1:]))
    # Padded as one process pads them, so that the start has the bits of its.
    number = row_bucket(len(parts[1]))
    of_all = jax.tree.map(lambda own: pad_to(own, number), parts)
    precision = score_type(ScoredRows(given.codes, *of_all), number)
    return loss.start(*of_all).astype(precision).astype(np.float64), precision


def on_mesh(data: BoostData, own: Dataset, seed: int, exchange: SharedExchange) -> BoostData:
    """Returns the data of all processes on their mesh, with the number of rows that one process would have.

    Args:
        data: The data of this process, padded, with the start of all.
        own: Its rows.
        seed: The seed of what is drawn.
        exchange: How the processes know of one another.

    Raises:
        InvalidInputError: Processes have other evaluations, or another seed.
    """
    exchange.check_same(seed, "random_state must be an integer over several processes, the same in all")
    exchange.check_same(_digest(data.evaluations), "eval_set must hold the same rows in all processes")
    given, num_rows = data.rows, own.sample.num_rows
    rows = ScoredRows(given.codes[:, :num_rows], *jax.tree.map(lambda part: part[:num_rows], given[1:]))
    size = exchange.rows_with_padding(num_rows)

    def place(values: Shaped[np.ndarray, "row *part"]) -> jax.Array:
        dtype = data.precision if values.dtype.kind == "f" else values.dtype
        return exchange.place(values.astype(dtype), size, axis=0)

    # Types of 64 bits stay as they are whatever the user's setting.
    with jax.enable_x64(True):
        placed = ScoredRows(exchange.place(rows.codes, size), *jax.tree.map(place, rows[1:]))
    return data._replace(rows=placed, num_rows=own.num_rows)


def _digest(evaluations: tuple[ScoredRows, ...]) -> Shaped[np.ndarray, " byte"]:
    """Some bytes that differ where tables do."""
    sums = hashlib.sha256()
    for values in jax.tree.leaves(evaluations):
        sums.update(np.ascontiguousarray(values).tobytes())
    return np.frombuffer(sums.digest(), np.uint8)
