"""The best tree by trying all: recursive, in plain Python and float64."""

import functools
import itertools
import math

import numpy as np


def all_splits(codes, num_values, is_categorical):
    """The rows of branch 0 and of branch 1 of every question on a table; each as a tuple of truth values."""
    found = []
    for own, values, by_category in zip(codes, num_values, is_categorical, strict=True):
        missing = own == values
        for code in range(values):
            known = (own == code) if by_category else (own <= code) & ~missing
            found += [known, known | missing]
        found.append(missing)
    return {tuple(own.tolist()) for own in found if own.any() and not own.all()}


def cost_of_leaf(criterion, y, weight, loss):
    """The cost of a leaf with some rows, times weight; for numbers the mean over targets."""
    if criterion in ("squared_error", "poisson"):
        return float(np.mean([cost_of_target(criterion, own, weight) for own in y]))
    if criterion == "regret":  # y has the reward of every action
        return float((weight * (y.max(axis=0) - y)).sum(axis=1).min())
    count = np.bincount(y[0], weight, minlength=len(loss))
    total, share = count.sum(), count[count > 0] / count.sum()
    if criterion == "gini":
        return float(total * (1 - (share**2).sum()))
    if criterion == "entropy":
        return float(-total * (share * np.log2(share)).sum())
    return float((count @ loss).min())


def cost_of_target(criterion, y, weight):
    mean = np.average(y, weights=weight)
    if criterion == "squared_error":
        return float((weight * (y - mean) ** 2).sum())
    if mean <= 0:
        return math.inf
    return float((weight * (np.where(y > 0, y * np.log(np.where(y > 0, y, 1) / mean), 0) - y + mean)).sum())


def best_costs(splits, y, weight, depth, *, criterion, loss=None, least_rows=1):
    """The least cost of trees of at most 1, 2, ... leaves."""
    splits = [np.array(split) for split in splits]

    @functools.cache
    def best(rows, depth):
        member = np.array(rows)
        few = member.sum() < least_rows
        leaf = math.inf if few else cost_of_leaf(criterion, y[:, member], weight[member], loss)
        costs = [leaf] * 2**depth
        for split in splits if depth else ():
            inside, outside = member & split, member & ~split
            if inside.any() and outside.any():
                left, right = best(tuple(inside.tolist()), depth - 1), best(tuple(outside.tolist()), depth - 1)
                for a, b in itertools.product(range(len(left)), repeat=2):
                    costs[a + b + 1] = min(costs[a + b + 1], left[a] + right[b])
        return list(itertools.accumulate(costs, min))

    return best((True,) * y.shape[1], depth)
