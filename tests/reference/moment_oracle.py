"""Splits by linear moments from their definition: a node solves the moment, and every row has its pseudo-outcome."""

from typing import NamedTuple

import numpy as np

from jaxtree.growth.inputs.moments import LinearMoments, MomentLimits


class Rows(NamedTuple):
    """The rows of a node: outcomes [outcome, row], treatments and instruments [arm, row], and weights."""

    outcome: np.ndarray
    treatment: np.ndarray
    instrument: np.ndarray
    weight: np.ndarray

    def where(self, mask):
        """The rows of a mask."""
        return Rows(*(field[..., mask] for field in self))


def centred(values, weight):
    """Values less their means."""
    return values - (values @ weight / weight.sum())[:, None]


def pseudo_outcomes(rows):
    """The pseudo-outcomes of rows, times their weights [parameter, row]; None if the moment has no single solution."""
    outcome = centred(rows.outcome, rows.weight)
    if not len(rows.treatment):
        return outcome * rows.weight
    treatment, instrument = centred(rows.treatment, rows.weight), centred(rows.instrument, rows.weight) * rows.weight
    products = instrument @ treatment.T
    if np.linalg.matrix_rank(products, tol=1e-9 * np.abs(products).max()) < len(products):
        return None
    effect = np.linalg.solve(products, instrument @ outcome[0])
    terms = instrument * (outcome[0] - effect @ treatment)
    return terms if len(products) == 1 else np.linalg.solve(products, terms)


def variations(rows):
    """The centred sum of squares of every instrument."""
    return (centred(rows.instrument, rows.weight) ** 2) @ rows.weight


def gain(moments: LinearMoments, limits: MomentLimits, rows, pseudo, is_inside, min_samples_leaf):
    """The gain of a division; -inf where a branch is too small."""

    def sizes(part):
        return variations(part) if moments.counts_arms else np.array([part.weight.sum()])

    least = limits.alpha * sizes(rows)
    total = limits.imbalance_penalty / sizes(rows)
    total = total.sum()
    for side in (is_inside, ~is_inside):
        branch = rows.where(side)
        if side.sum() < min_samples_leaf or np.any(sizes(branch) < least):
            return -np.inf
        above = (branch.instrument > 0).sum(axis=1)
        if moments.counts_arms and (side.sum() < limits.rows):
            return -np.inf
        if moments.counts_arms and np.any(np.minimum(above, side.sum() - above) < limits.arm_rows):
            return -np.inf
        total += (pseudo[:, side].sum(axis=1) ** 2).sum() / branch.weight.sum()
        total -= (limits.imbalance_penalty / sizes(branch)).sum()
    return total / rows.weight.sum()


def best_threshold(moments, limits, rows, codes, min_samples_leaf):
    """The greatest gain of a threshold, with its feature and code; None without any."""
    pseudo = pseudo_outcomes(rows)
    if pseudo is None:
        return None
    found = [
        (gain(moments, limits, rows, pseudo, own <= code, min_samples_leaf), -feature, -code)
        for feature, own in enumerate(codes)
        for code in np.unique(own)[:-1].tolist()
    ]
    best, feature, code = max(found, default=(-np.inf, 0, 0))
    return None if best == -np.inf else (best, -feature, -code)
