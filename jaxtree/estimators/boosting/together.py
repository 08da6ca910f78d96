"""Boosting on tables of which every process has a part; see `jaxtree.dataset.collectives`.

Every process reads its own rows and places them on its own devices; the rounds are then those of one mesh. What is
measured, and so decides when to stop, is the same in all processes.
"""

import hashlib
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Shaped

from jaxtree.boosting.data import BoostData, score_type
from jaxtree.boosting.round_tree import ScoredRows
from jaxtree.buckets import pad_to, row_bucket
from jaxtree.dataset.collectives import check_same, gather_arrays, place_part, rows_of_process
from jaxtree.dataset.dataset import Dataset
from jaxtree.losses.loss import BaseLoss


def common_start(given: ScoredRows, num_rows: int, loss: BaseLoss) -> tuple[Shaped[np.ndarray, " score"], Any]:
    """Returns the start of the rows of all processes, which one process would have, and the type of scores.

    Args:
        given: The rows of this process, padded.
        num_rows: Their number.
        loss: The loss.

    Raises:
        InvalidInputError: Processes have other fields.
    """
    check_same(" ".join(sorted(given.extras)), "what the loss asks for must be given in all processes")
    parts = jax.tree.map(lambda own: np.concatenate(gather_arrays(own[:num_rows])), tuple(given[1:]))
    # Padded as one process pads them, so that the start has the bits of its.
    number = row_bucket(len(parts[1]))
    of_all = jax.tree.map(lambda own: pad_to(own, number), parts)
    precision = score_type(ScoredRows(given.codes, *of_all), number)
    return loss.start(*of_all).astype(precision).astype(np.float64), precision


def join_parts(data: BoostData, own: Dataset, seed: int, mesh: Mesh) -> BoostData:
    """Returns the data of all processes on a mesh, with the number of rows that one process would have.

    Args:
        data: The data of this process, padded, with the start of all.
        own: Its rows.
        seed: The seed of what is drawn.
        mesh: The devices of all processes.

    Raises:
        InvalidInputError: Processes have other evaluations, or another seed.
    """
    check_same(seed, "random_state must be an integer over several processes, the same in all")
    check_same(_digest(data.evaluations), "eval_set must hold the same rows in all processes")
    given, num_rows = data.rows, own.sample.num_rows
    rows = ScoredRows(given.codes[:, :num_rows], *jax.tree.map(lambda part: part[:num_rows], given[1:]))
    size = rows_of_process(num_rows, mesh)

    def place(values: Shaped[np.ndarray, "row *part"]) -> jax.Array:
        dtype = data.precision if values.dtype.kind == "f" else values.dtype
        return place_part(values.astype(dtype), size, mesh, axis=0)

    # Types of 64 bits stay as they are whatever the user's setting.
    with jax.enable_x64(True):
        placed = ScoredRows(place_part(rows.codes, size, mesh), *jax.tree.map(place, rows[1:]))
    return data._replace(rows=placed, num_rows=own.num_rows)


def _digest(evaluations: tuple[ScoredRows, ...]) -> Shaped[np.ndarray, " byte"]:
    """Some bytes that differ where tables do."""
    sums = hashlib.sha256()
    for values in jax.tree.leaves(evaluations):
        sums.update(np.ascontiguousarray(values).tobytes())
    return np.frombuffer(sums.digest(), np.uint8)


def any_in_all(asked: Iterable[Any]) -> bool:
    """Returns whether anything is true in any process."""
    return bool(np.any(gather_arrays(np.bool_(any(asked)))))
