"""Cyclic boosting on Gram sums: passes through the terms of an additive model, each of which makes a step.

A step changes the gradients of all bins by a product with the weights that they share with the bins of its term, so
that no row is read. Members, such as bags, folds and settings, are boosted independently of each other.
"""

import functools
from collections.abc import Sequence

import jax
import numpy as np
from jaxtyping import Float64, Int32, Int64, UInt

from jaxtree.additive.cyclic_program import MemberInputs, Shared, WeightedRows, boost_members, boost_on_rows
from jaxtree.additive.layout import Layout
from jaxtree.additive.padding import pad_last, pad_terms, sizes_of
from jaxtree.additive.prefix_sums import to_plain, to_running
from jaxtree.additive.proposals import TracedRules
from jaxtree.additive.rules import StepRules
from jaxtree.additive.sums import Gram, bin_sums
from jaxtree.buckets import pad_codes, pad_to, round_up
from jaxtree.cores import num_cores
from jaxtree.devices import current_platform
from jaxtree.kernels.choose import Attributes, Engine, call_kernel, choose

HANDLER, HANDLER_OF_ROWS = "jaxtree_boost_cyclic", "jaxtree_boost_rows"
"""The functions of the kernel."""

REALS = ("learning_rate", "l2", "l1", "max_step", "min_hessian", "smoothing")
WHOLES = ("min_rows", "max_leaves", "greedy_steps")
"""The fields of rules in the order of the kernel, see `native/src/additive/cyclic.cc`."""


def boost(
    layout: Layout,
    grams: Sequence[Gram],
    gradient: Int64[np.ndarray, "member place"],
    rows: Int32[np.ndarray, "gram place"],
    gram_of_member: Int32[np.ndarray, " member"],
    rules: Sequence[StepRules],
    *,
    num_passes: int,
    num_threads: int | None = None,
) -> tuple[Int64[np.ndarray, "member place"], Int64[np.ndarray, "member place"]]:
    """Boosts members, each as `tests/additive/reference.py` defines, with the same bits.

    Args:
        layout: The terms.
        grams: The weights that bins share, which are the second derivatives, of one or more sets of rows.
        gradient: The sums of the gradients of bins.
        rows: The numbers of the rows of bins, of every set.
        gram_of_member: The set of rows of every member.
        rules: The rules of steps of every member.
        num_passes: How many passes through the terms.
        num_threads: The threads of the kernel; as many as there are cores if not given.

    Returns:
        The sums of all steps, and the gradients after them.
    """
    reals, wholes = _numbers(rules)
    diagonal = np.stack([own.diagonal for own in grams])
    if choose(current_platform()) is Engine.XLA:
        matrices = [own.matrix for own in grams]
        shared = matrices, to_running(layout, diagonal), to_running(layout, rows.astype(np.int64))
        return _boost_by_program(layout, shared, gradient, gram_of_member, (reals, wholes), num_passes)
    arrays = (layout.kind, layout.num_bins, layout.monotone, gradient, rows, diagonal, gram_of_member, reals, wholes)
    steps, left = call_kernel(
        HANDLER,
        [(gradient.shape, np.int64)] * 2,
        [*arrays, *(own.matrix for own in grams)],
        Attributes({"num_passes": np.int64(num_passes)}),
        num_threads=num_threads or num_cores(),
    )
    return steps, left


def boost_rows(
    layout: Layout,
    codes: UInt[np.ndarray, "feature row"],
    weight: Int32[np.ndarray, " row"],
    gradient: Int64[np.ndarray, " row"],
    rules: StepRules,
    *,
    num_passes: int,
) -> tuple[Int64[np.ndarray, " place"], Int64[np.ndarray, " row"]]:
    """Boosts one member by reading its rows, with the bits of `boost`.

    It needs no sums over pairs of bins: where these would be larger than memory allows, or the rows are few.

    Args:
        layout: The terms.
        codes: The codes of the rows.
        weight: The weights of the rows, which are second derivatives; rows of weight 0 are not looked at.
        gradient: The gradients of the rows.
        rules: The rules of steps.
        num_passes: How many passes through the terms.

    Returns:
        The sums of all steps, and the gradients of the rows after them.
    """
    if choose(current_platform()) is Engine.XLA:
        return _boost_rows_by_program(layout, codes, weight, gradient, rules, num_passes)
    whole = codes if codes.flags.c_contiguous else pad_codes(codes)
    described = (layout.kind, layout.features, layout.bins, layout.num_bins, whole, layout.monotone)
    steps, left = call_kernel(
        HANDLER_OF_ROWS,
        [((layout.num_places,), np.int64), (gradient.shape, np.int64)],
        [*described, weight, gradient, *_numbers([rules])],
        Attributes({"num_passes": np.int64(num_passes)}),
        num_threads=1,
    )
    return steps, left


def _numbers(rules: Sequence[StepRules]) -> tuple[Float64[np.ndarray, "member 6"], Int64[np.ndarray, "member 3"]]:
    """Returns the numbers of rules as the kernel reads them."""
    reals = np.array([[getattr(own, name) for name in REALS] for own in rules], np.float64).reshape(-1, len(REALS))
    wholes = np.array([[getattr(own, name) for name in WHOLES] for own in rules], np.int64).reshape(-1, len(WHOLES))
    return reals, wholes


def _boost_by_program(layout, shared, gradient, gram_of_member, rules, num_passes):
    """Boosts by a program of XLA; numbers of members that differ little share one."""
    num_members = len(gradient)
    matrices, hessian, rows = shared
    number = round_up(num_members, 1)
    # A member that pads has the rules of the first one, and no gradients.
    reals, wholes = (np.concatenate([own, own[:1].repeat(number - num_members, axis=0)]) for own in rules)
    sizes = sizes_of(layout, int(wholes[:, 1].max()))
    with jax.enable_x64(True):
        total, left = boost_members(
            pad_terms(layout),
            Shared(tuple(matrices), pad_last(hessian, sizes.places), pad_last(rows, sizes.places)),
            MemberInputs(pad_to(gram_of_member, number), TracedRules(*reals.T, *wholes.T)),
            pad_to(pad_last(to_running(layout, gradient), sizes.places), number),
            np.int32(num_passes),
            sizes=sizes,
            is_greedy=bool(wholes[:, 2].max() > 0),
        )
    total, left = (np.array(own)[:num_members, : layout.num_places] for own in (total, left))
    return total, to_plain(layout, left)


def _boost_rows_by_program(layout, codes, weight, gradient, rules, num_passes):
    """Boosts a member by a program of XLA that reads its rows."""
    reals, wholes = (own[0] for own in _numbers([rules]))
    sizes, padded = sizes_of(layout, rules.max_leaves), pad_codes(codes)
    is_read = weight > 0
    sums = [bin_sums(layout, codes, own.astype(np.int64)) for own in (weight, is_read)]
    hessian, number = pad_last(to_running(layout, np.stack(sums)), sizes.places)
    pad = functools.partial(pad_to, size=padded.shape[1])
    with jax.enable_x64(True):
        made = boost_on_rows(
            pad_terms(layout),
            WeightedRows(padded, pad(weight), pad(np.where(is_read, gradient, 0))),
            hessian, number, TracedRules(*reals, *wholes), np.int32(num_passes),
            sizes=sizes, is_greedy=rules.greedy_steps > 0,
        )  # fmt: skip
        left = np.asarray(made.gradient)[: len(gradient)]
        return np.array(made.total)[: layout.num_places], np.where(is_read, left, gradient)
