"""Cyclic boosting of additive models as it is defined, in plain NumPy: row by row, and on Gram sums.

All sums are whole numbers, so that the order in which they are made is of no account.
"""

import functools
import operator

import numpy as np

from jaxtree.kernels.layout import TermKind

LARGEST = 2**30


def gram(layout, codes, weight):
    """The weights of the rows that two bins share, for all pairs of bins."""
    matrix = np.zeros((layout.num_places, layout.num_places), np.int64)
    places = [layout.first[term] + layout.bins_of(term, codes) for term in range(layout.num_terms)]
    for one in places:
        for other in places:
            np.add.at(matrix, (one, other), weight)
    return matrix


def sums(layout, codes, values):
    """The sum of the values of the rows of every bin."""
    total = np.zeros(layout.num_places, np.int64)
    for term in range(layout.num_terms):
        np.add.at(total, layout.first[term] + layout.bins_of(term, codes), values)
    return total


def scores(layout, codes, table):
    """The sum of the table's values at the bins of every row."""
    places = [layout.first[term] + layout.bins_of(term, codes) for term in range(layout.num_terms)]
    return sum(table[own] for own in places)


class LeafOfStep:
    """Some bins, in order, of a step."""

    def __init__(self, bins, gradient, hessian, rows, rules):
        self.bins = bins
        self.gradient, self.hessian, self.rows = (int(own[bins].sum()) for own in (gradient, hessian, rows))
        self.score = score_of(self.gradient, self.hessian, rules)
        self.is_allowed = self.rows >= max(rules.min_rows, 1) and self.hessian >= max(rules.min_hessian, 1)

    def value(self, rules):
        """The step as a float64, before it is rounded."""
        held = np.sign(float(self.gradient)) * max(abs(float(self.gradient)) - rules.l1, 0.0)
        step = -held / (float(self.hessian) + rules.l2)
        return rules.learning_rate * min(max(step, -rules.max_step), rules.max_step)

    def step(self, rules):
        """The step as a whole number."""
        return int(np.clip(np.rint(self.value(rules)), -LARGEST, LARGEST))


def added(numbers):
    """A sum made one addition after another; `sum` of floats is more exact from Python 3.12 on."""
    return functools.reduce(operator.add, numbers)


def score_of(gradient, hessian, rules):
    """The saving of a leaf: twice the fall of the quadratic by a whole Newton step, without the limit of steps."""
    held = max(abs(float(gradient)) - rules.l1, 0.0)
    return held * held / (float(hessian) + rules.l2) if hessian > 0 else 0.0


def best_cut(leaf, sums_of, rules, sign):
    """The best division of a leaf in two, as (gain, left, right); of equal gains the first."""
    best = (0.0, None, None)
    for cut in range(1, len(leaf.bins)):
        left, right = (LeafOfStep(bins, *sums_of, rules) for bins in (leaf.bins[:cut], leaf.bins[cut:]))
        if not (left.is_allowed and right.is_allowed):
            continue
        if sign and sign * (right.value(rules) - left.value(rules)) < 0:
            continue
        gain = left.score + right.score - leaf.score
        if gain > best[0]:
            best = (gain, left, right)
    return best


def divide(bins, sums_of, rules, max_leaves, sign=0):
    """Leaves of one axis, best first: of equal gains the leaf that is further left."""
    leaves = [LeafOfStep(bins, *sums_of, rules)]
    while len(leaves) < max_leaves:
        cuts = [best_cut(leaf, sums_of, rules, sign) for leaf in leaves]
        at = int(np.argmax([cut[0] for cut in cuts]))
        if cuts[at][1] is None:
            break
        leaves[at : at + 1] = cuts[at][1:]
    return leaves if len(leaves) > 1 else []


def propose_ordered(shape, sums_of, rules, sign):
    known, missing = np.arange(shape[0] - 1), np.array([shape[0] - 1])
    leaves = divide(known, sums_of, rules, 2 if sign else rules.max_leaves, sign) if len(known) else []
    alone = LeafOfStep(missing, *sums_of, rules)
    return leaves + [alone] * alone.is_allowed


def propose_subset(shape, sums_of, rules, sign):
    gradient, hessian, rows = sums_of
    present = np.flatnonzero(rows > 0)
    denominator = hessian[present].astype(float) + rules.smoothing
    ratio = np.divide(gradient[present].astype(float), denominator, out=np.zeros(len(present)), where=denominator > 0)
    return divide(present[np.argsort(ratio, kind="stable")], sums_of, rules, rules.max_leaves) if len(present) else []


def propose_pair(shape, sums_of, rules, sign):
    """The best tree that divides by one axis, and each part by the other, or not; axis 0 first."""
    cells, best, chosen = np.arange(shape[0] * shape[1]).reshape(shape), 0.0, []
    for axis in (0, 1):
        along = cells if axis == 0 else cells.T
        for cut in range(1, len(along)):
            leaves = []
            for part in (along[:cut], along[cut:]):
                whole = LeafOfStep(part.ravel(), *sums_of, rules)
                halves = [
                    [LeafOfStep(half.ravel(), *sums_of, rules) for half in (part[:, :at], part[:, at:])]
                    for at in range(1, part.shape[1])
                ]
                # Among equal scores the undivided part wins, then the first cut.
                options = [[whole]] + [two for two in halves if all(leaf.is_allowed for leaf in two)]
                own = [added(leaf.score for leaf in option) for option in options]
                leaves += options[int(np.argmax(own))]
            gain = added(leaf.score for leaf in leaves)
            if all(leaf.is_allowed for leaf in leaves) and gain > best:
                best, chosen = gain, leaves
    return chosen


PROPOSE = {TermKind.ORDERED: propose_ordered, TermKind.SUBSET: propose_subset, TermKind.PAIR: propose_pair}


def propose(layout, term, gradient, hessian, rows, rules):
    """The gain of the step of a term, -1 if it makes none, and the step of each of its bins.

    The gain is the sum of the leaves' scores, added in the order of leaves, one after another.
    """
    places = layout.places(term)
    sums_of = gradient[places], hessian[places], rows[places]
    leaves = PROPOSE[TermKind(layout.kind[term])](layout.num_bins[term], sums_of, rules, layout.monotone[term])
    step = np.zeros(layout.size[term], np.int64)
    gain = 0.0
    for leaf in leaves:
        step[leaf.bins] = leaf.step(rules)
        gain += leaf.score
    return (gain if leaves else -1.0), step


def boost(layout, gradient, hessian, rows, rules, num_passes, apply):
    """Passes through the terms, each followed by greedy steps.

    Args:
        layout: The terms.
        gradient: The sum of the gradients of every bin; changed in place by `apply`.
        hessian: The sum of second derivatives of every bin.
        rows: The number of rows of every bin.
        rules: The rules of steps.
        num_passes: How many passes.
        apply: Called with a term and its step: changes `gradient` to the sums after the step.

    Returns:
        The sums of all steps, for every bin.
    """
    total = np.zeros(layout.num_places, np.int64)
    gains = np.full(layout.num_terms, -1.0)

    def make(term, step):
        total[layout.places(term)] += step
        apply(term, step)

    for _ in range(num_passes):
        for term in range(layout.num_terms):
            gains[term], step = propose(layout, term, gradient, hessian, rows, rules)
            if gains[term] > 0:
                make(term, step)
        for _ in range(rules.greedy_steps):
            # Gains of other terms are those of their last look: the greatest is looked at anew until it stays so.
            is_new, steps = np.zeros(layout.num_terms, bool), {}
            while not is_new[term := int(np.argmax(gains))]:
                gains[term], steps[term] = propose(layout, term, gradient, hessian, rows, rules)
                is_new[term] = True
            if not gains[term] > 0:
                break
            make(term, steps[term])
    return total


def boost_on_gram(layout, matrix, gradient, hessian, rows, rules, num_passes):
    """Boosts without rows: a step changes the gradients of all bins by a product with the Gram sums."""
    gradient = gradient.copy()

    def apply(term, step):
        gradient[:] += matrix[:, layout.places(term)] @ step

    return boost(layout, gradient, hessian, rows, rules, num_passes, apply), gradient


def boost_on_rows(layout, codes, weight, residual, rules, num_passes):
    """Boosts squared errors row by row: gradients are minus the weighted residuals, second derivatives weights."""
    gradient = sums(layout, codes, -weight * residual)
    hessian, rows = sums(layout, codes, weight), sums(layout, codes, (weight > 0).astype(np.int64))
    left = residual.copy()

    def apply(term, step):
        left[:] -= step[layout.bins_of(term, codes)]
        gradient[:] = sums(layout, codes, -weight * left)

    return boost(layout, gradient, hessian, rows, rules, num_passes, apply), gradient
