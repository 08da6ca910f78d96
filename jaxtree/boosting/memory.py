"""How many models a batch has: as many as a part of the memory that the device has free takes."""

import os

import jax
import numpy as np

from jaxtree.boosting.booster import Call

MOST_SLOTS_OF_HOST, MOST_SLOTS_OF_DEVICE = 16, 256
"""Slots of a batch: on a processor more save nothing, as the steps of a program take long enough, and their scores and
derivatives stay less long in caches; on an accelerator models that have stopped cost nothing until others come."""

BYTES_PER_ROW, BYTES_PER_NODE = 100, 250
"""Bytes of a row of one score, and of a node, while rounds are made."""

SHARE_OF_DEVICE, SHARE_OF_HOST = 0.5, 0.25
"""The part of the free memory of an accelerator, and of a computer, which others use, too."""

MOST_BYTES_OF_HOST = 2**28
"""More bytes at a time make nothing faster on a processor, whose caches are small."""


def slots_for(call: Call, num_members: int, num_kept: int) -> int:
    """Returns the number of slots of a batch: few enough for memory, and so that the last batch is nearly full.

    Args:
        call: What all models share.
        num_members: The number of models.
        num_kept: The trees of each model that are kept on the device.
    """
    num_rows = sum(rows.weight.size for rows in (call.rows, *call.evaluations))
    of_trees = call.plan.capacity * (num_kept + 1)
    num_bytes = num_rows * BYTES_PER_ROW * call.loss.num_scores + of_trees * BYTES_PER_NODE
    is_host = jax.default_backend() == "cpu"
    most = int(np.clip(bytes_at_a_time() // num_bytes, 1, MOST_SLOTS_OF_HOST if is_host else MOST_SLOTS_OF_DEVICE))
    return -(-num_members // -(-num_members // most))


def bytes_at_a_time() -> int:
    """Returns how many bytes the scores, derivatives and trees of a batch may take.

    Models do not depend on it: it decides how many of them are made at once.
    """
    device = jax.local_devices()[0]
    stats = device.memory_stats() or {}
    if device.platform != "cpu" and "bytes_limit" in stats:
        return int((stats["bytes_limit"] - stats.get("bytes_in_use", 0)) * SHARE_OF_DEVICE)
    free = free_bytes_of_host()
    return MOST_BYTES_OF_HOST if free is None else min(MOST_BYTES_OF_HOST, int(free * SHARE_OF_HOST))


def free_bytes_of_host() -> int | None:
    """Returns the bytes of memory that are free; None where the operating system does not say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None
