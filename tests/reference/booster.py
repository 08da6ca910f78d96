"""Newton boosting in NumPy, node by node, in float64: slow, and short enough to be right."""

import heapq

import numpy as np


def boost(codes, target, weight, derivatives, start, *, rounds, rate, depth, l2=1.0, least=1.0):
    """Returns the scores of all rows after every round, and the trees: nested tuples of splits, and steps."""
    scores, history, trees = np.full(codes.shape[1], start), [], []
    for _ in range(rounds):
        gradient, curvature = derivatives(scores, target)
        tree = grow(codes, gradient * weight, curvature * weight, np.arange(codes.shape[1]), depth, l2, least)
        scores = scores + rate * predict(tree, codes)
        history.append(scores)
        trees.append(tree)
    return history, trees


def grow(codes, gradient, curvature, rows, depth, l2, least):
    """A tree of the given rows: a step, or (feature, code, tree up to the code, tree above it)."""
    step = -gradient[rows].sum() / (curvature[rows].sum() + l2)
    split = best_split(codes, gradient, curvature, rows, l2, least) if depth else None
    if split is None:
        return step
    feature, code = split
    is_below = codes[feature, rows] <= code
    sides = (rows[is_below], rows[~is_below])
    return (feature, code, *(grow(codes, gradient, curvature, side, depth - 1, l2, least) for side in sides))


def grow_best_first(codes, gradient, curvature, most, l2=1.0, least=1.0):
    """A tree of at most so many leaves, in the form of `grow`: of all splits that may be made the best is next."""
    saved = lambda at: gradient[at].sum() ** 2 / (curvature[at].sum() + l2)  # noqa: E731
    splits, queue = {}, []

    def wait(path, rows):
        split = best_split(codes, gradient, curvature, rows, l2, least)
        if split is not None:
            is_below = codes[split[0], rows] <= split[1]
            sides = rows[is_below], rows[~is_below]
            heapq.heappush(queue, (saved(rows) - sum(map(saved, sides)), path, split, sides))

    def nested(path, rows):
        if path not in splits:
            return -gradient[rows].sum() / (curvature[rows].sum() + l2)
        split, sides = splits[path]
        return (*split, *(nested((*path, branch), side) for branch, side in enumerate(sides)))

    rows = np.arange(codes.shape[1])
    wait((), rows)
    while queue and len(splits) < most - 1:
        _, path, *splits[path] = heapq.heappop(queue)
        for branch, side in enumerate(splits[path][1]):
            wait((*path, branch), side)
    return nested((), rows)


def best_split(codes, gradient, curvature, rows, l2, least):
    """The first feature and code whose threshold gains most; None if none gains."""
    saved = lambda at: gradient[at].sum() ** 2 / (curvature[at].sum() + l2)  # noqa: E731
    best, split = 1e-9, None
    for feature, own in enumerate(codes):
        for code in np.unique(own[rows])[:-1]:
            sides = rows[own[rows] <= code], rows[own[rows] > code]
            if min(curvature[side].sum() for side in sides) < least:
                continue
            gain = sum(map(saved, sides)) - saved(rows)
            if gain > best * (1 + 1e-9):
                best, split = gain, (feature, code)
    return split


def predict(tree, codes):
    """The step of every row."""
    if not isinstance(tree, tuple):
        return np.full(codes.shape[1], tree)
    feature, code, below, above = tree
    return np.where(codes[feature] <= code, predict(below, codes), predict(above, codes))
