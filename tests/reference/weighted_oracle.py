"""A slow, obvious grower for all that `oracle` leaves out: recursion over a vector of row weights, in float64.

Weights, numbers, several outputs, missing values in three ways, subsets, monotone constraints, and all limits. Every
candidate is a branch for every row; -1 says that the row is missing and goes down all branches. Among gains that are
equal up to rounding the first candidate wins: features in order, codes in order.
"""

import dataclasses
import itertools
from collections.abc import Callable, Iterator

import numpy as np

THRESHOLD, MULTIWAY, ONE_VS_REST, SUBSET = range(4)
EQUAL = 1e-9
NOISE = 1e-12  # of the impurity: gains of numbers that are 0
FEW = 8  # codes up to which all subsets are tried


@dataclasses.dataclass(frozen=True)
class Problem:
    """A table in codes and everything that growth is told; code `num_values[f]` of a feature means missing."""

    codes: np.ndarray
    target: np.ndarray  # (output, row), classes or numbers
    impurity: Callable[[np.ndarray, np.ndarray], float]  # of targets (output, row) with weights
    kinds: np.ndarray
    num_codes: np.ndarray
    num_values: np.ndarray
    num_classes: int = 0
    missing: str = "branch"
    counts_rows: bool = False
    needs_positive: bool = False
    monotone: np.ndarray | None = None
    next_separable: np.ndarray | None = None
    max_depth: int = 10**9
    min_samples_split: float = 2
    min_samples_leaf: float = 1
    min_weight_leaf: float = 0
    min_gain: float = 0
    min_impurity_decrease: float = 0


@dataclasses.dataclass
class Candidate:
    """A split: a branch for every row and the branch of missing values, None where no row has one."""

    feature: int
    code: int
    branch: np.ndarray
    num_branches: int
    missing_branch: int | None
    gain: float = -np.inf


@dataclasses.dataclass
class Node:
    """The weight of every row at the node, and its split if it has one."""

    weight: np.ndarray
    depth: int
    split: Candidate | None = None
    children: list = dataclasses.field(default_factory=list)


# Impurities, from their definitions


def by_class(of_shares):
    """The impurity of shares, as the mean over the outputs of a target of classes."""

    def impurity(target, weight):
        values = []
        for classes in target:
            counts = np.array([weight[classes == c].sum() for c in np.unique(classes[weight > 0])])
            values.append(of_shares(counts / counts.sum()))
        return float(np.mean(values))

    return impurity


gini = by_class(lambda share: 1 - (share**2).sum())
entropy = by_class(lambda share: -(share * np.log2(share)).sum())
misclassification = by_class(lambda share: 1 - share.max())


def squared_error(target, weight):
    """The variance, the mean over the outputs."""
    mean = target @ weight / weight.sum()
    return float(np.mean(((target - mean[:, None]) ** 2) @ weight / weight.sum()))


def poisson(target, weight):
    """Half the mean Poisson deviance, the mean over the outputs."""
    target, weight = target[:, weight > 0], weight[weight > 0]
    mean = (target @ weight / weight.sum())[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(target > 0, target * np.log(target / mean), 0.0)
    return float(np.mean((logs - target + mean) @ weight / weight.sum()))


# Growth


def grow(problem: Problem, weight: np.ndarray) -> Node:
    """Grows a tree on rows with the given weights."""
    whole = weight.sum()
    center = (problem.target[:, weight > 0].min(axis=1) + problem.target[:, weight > 0].max(axis=1)) / 2
    center = center * (problem.num_classes == 0 and not problem.needs_positive)

    def value(weight):
        """The number that monotone constraints order: the share of class 1, or the mean (beside the middle of all
        targets)."""
        above = problem.target[0] == 1 if problem.num_classes else problem.target[0] - center[0]
        return (above * weight).sum() / weight.sum()

    def grow_node(weight, depth, lower, upper):
        node = Node(weight, depth)
        if not may_split(problem, weight, depth):
            return node
        found = [best_of_feature(problem, f, weight, value, lower, upper) for f in range(len(problem.codes))]
        split = first_of_best(problem, weight, [candidate for candidate in found if candidate])
        if split is None or split.gain < problem.min_gain:
            return node
        if split.gain * weight.sum() / whole < problem.min_impurity_decrease:
            return node
        node.split = split
        parts = share_out(split, weight)
        bounds = [(lower, upper)] * len(parts)
        sign = sign_of(problem, split.feature)
        if sign:
            middle = (value(parts[0]) + value(parts[1])) / 2
            bounds = [(lower, middle), (middle, upper)][::sign]
        node.children = [grow_node(part, depth + 1, *bound) for part, bound in zip(parts, bounds, strict=True)]
        return node

    return grow_node(weight, 0, -np.inf, np.inf)


def may_split(problem, weight, depth):
    """Whether the limits and the targets let a node be split."""
    rows = weight > 0
    if not rows.any() or depth >= problem.max_depth:
        return False
    amount = rows.sum() if problem.counts_rows else weight.sum()
    is_mixed = (problem.target[:, rows] != problem.target[:, rows][:, :1]).any()
    return amount >= problem.min_samples_split and is_mixed


def sign_of(problem, feature):
    """The monotone constraint of a feature; 0 is none."""
    return 0 if problem.monotone is None else int(problem.monotone[feature])


def best_of_feature(problem, feature, weight, value, lower, upper):
    """The best candidate of a feature, or None."""
    found = []
    for candidate in candidates(problem, feature, weight):
        candidate.gain = gain(problem, candidate, weight)
        if is_admissible(problem, candidate, weight, value, lower, upper):
            found.append(candidate)
    if problem.missing == "learn":
        found = [first_of_best(problem, weight, list(same)) for _, same in itertools.groupby(found, lambda c: c.code)]
    return first_of_best(problem, weight, found)


def first_of_best(problem, weight, found):
    """The first of the candidates whose gain is the greatest, up to rounding."""
    if not found:
        return None
    best = max(candidate.gain for candidate in found)
    impurity = problem.impurity(problem.target, weight)
    slack = EQUAL * impurity if problem.num_classes else EQUAL * max(best, 0) + NOISE * impurity
    chosen = next(candidate for candidate in found if candidate.gain >= best - slack)
    return dataclasses.replace(chosen, gain=max(best, 0.0) if best > -slack else best)


def known_parts(candidate, weight):
    """The weights of every branch, of rows that go down one branch."""
    return [np.where(candidate.branch == b, weight, 0) for b in range(candidate.num_branches)]


def share_out(candidate, weight):
    """The weights of every branch; rows without a branch go down all, in the proportion of the others' weight."""
    parts = known_parts(candidate, weight)
    known, held = sum(part.sum() for part in parts), np.where(candidate.branch < 0, weight, 0)
    return [part + held * (part.sum() / known) for part in parts]


def gain(problem, candidate, weight):
    """Impurity less that of the branches; of the known rows, times their share, where missing ones are shared out."""
    known = np.where(candidate.branch >= 0, weight, 0)
    used = [part for part in known_parts(candidate, weight) if part.any()]
    if len(used) < 2:
        return -np.inf
    left = sum(part.sum() * problem.impurity(problem.target, part) for part in used) / known.sum()
    return (problem.impurity(problem.target, known) - left) * known.sum() / weight.sum()


def is_admissible(problem, candidate, weight, value, lower, upper):
    """Whether a candidate has two branches, each heavy enough, and keeps the values in order."""
    parts = known_parts(candidate, weight)
    if problem.kinds[candidate.feature] == MULTIWAY:
        # The minimum is asked of the known rows.
        own = problem.codes[candidate.feature]
        asked = own < problem.num_values[candidate.feature] if problem.missing == "learn" else True
        parts = [part for part in known_parts(candidate, np.where(asked, weight, 0)) if part.any()]
    if len(parts) < 2 or not all(part.any() for part in parts):
        return False
    amount = [(part > 0).sum() if problem.counts_rows else part.sum() for part in parts]
    heavy = min(part.sum() for part in parts) >= problem.min_weight_leaf
    if min(amount) < problem.min_samples_leaf or not heavy:
        return False
    is_binary = problem.kinds[candidate.feature] != MULTIWAY
    if problem.needs_positive and is_binary and min((problem.target @ part).min() for part in parts) <= 0:
        return False
    sign = sign_of(problem, candidate.feature)
    if not sign:
        return True
    below, above = value(parts[0]), value(parts[1])
    return (below - above) * sign <= 0 and lower <= min(below, above) and max(below, above) <= upper


# Candidates


def candidates(problem: Problem, feature: int, weight: np.ndarray) -> Iterator[Candidate]:
    """The splits on a feature, in the order in which ties are decided."""
    codes, kind, missing_code = problem.codes[feature], problem.kinds[feature], problem.num_values[feature]
    present = np.unique(codes[weight > 0]).tolist()
    make = {THRESHOLD: thresholds, MULTIWAY: multiway, ONE_VS_REST: one_vs_rest, SUBSET: subsets}[kind]
    is_missing = codes == missing_code
    has_missing = bool((is_missing & (weight > 0)).any())
    for code, branch, num_branches, missing_branch in make(problem, feature, codes, present, weight, missing_code):
        if problem.missing == "fraction":
            branch = np.where(is_missing, -1, branch)
        elif problem.missing == "learn":
            branch = np.where(is_missing, missing_branch, branch)
        yield Candidate(feature, code, branch, num_branches, missing_branch if has_missing else None)


def sides(problem):
    """The branches that missing values of a binary split may take, in the order in which ties are decided."""
    return {"branch": (1,), "learn": (1, 0), "fraction": (None,)}[problem.missing]


def thresholds(problem, feature, codes, present, weight, missing_code):
    known = [code for code in present if code != missing_code]
    for code in known:
        following = min((other for other in present if other > code), default=None)
        apart = 0 if problem.next_separable is None else problem.next_separable[feature][code]
        if following is None or following < apart:
            continue
        for side in sides(problem):
            yield code, (codes > code).astype(int), 2, side


def multiway(problem, feature, codes, present, weight, missing_code):
    if problem.missing != "learn":
        num_branches = problem.num_codes[feature] if problem.missing == "branch" else missing_code
        yield present[0], codes.astype(int), num_branches, missing_code if problem.missing == "branch" else None
        return
    known = [code for code in present if code != missing_code]
    for host in known if missing_code in present else known[:1]:
        yield present[0], codes.astype(int), missing_code, host


def one_vs_rest(problem, feature, codes, present, weight, missing_code):
    for code in present:
        if problem.missing == "learn":
            for side in (1,) if code == missing_code else (0, 1):
                yield code, (codes == code).astype(int), 2, side
        elif problem.missing == "branch":
            yield code, (codes == code).astype(int), 2, int(code == missing_code)
        elif code != missing_code:
            yield code, (codes == code).astype(int), 2, None


def subsets(problem, feature, codes, present, weight, missing_code):
    """Branch 0 is the lower side; missing is a code as any other unless it is shared out."""
    used = [code for code in present if problem.missing != "fraction" or code != missing_code]
    for lower in lower_sides(problem, codes, used, weight, missing_code):
        branch = (~np.isin(codes, lower)).astype(int)
        yield 0, branch, 2, None if problem.missing == "fraction" else int(missing_code not in lower)


def lower_sides(problem, codes, used, weight, missing_code):
    """The codes of branch 0 of every candidate: cuts of the orders, or all subsets."""
    if problem.num_classes * len(problem.target) > 2 and missing_code < FEW:
        for number in range(1, 2 ** (FEW - 1)):
            yield [code for code in used if code == 0 or not (number >> (code - 1)) & 1]
        return
    for key in orders(problem, codes, used, weight):
        for code in used:
            yield [other for other in used if (key[other], other) <= (key[code], code)]


def orders(problem, codes, used, weight):
    """The numbers that put the codes in order: the share of class 1, the mean, or the share of each class, or each
    mean."""
    if not problem.num_classes:
        above = list(problem.target)
    elif problem.num_classes * len(problem.target) == 2:
        above = [problem.target[0] == 1]
    else:
        above = [target == c for target in problem.target for c in range(problem.num_classes)]
    for values in above:
        yield {code: (values * weight)[codes == code].sum() / weight[codes == code].sum() for code in used}


# Comparison


def assert_same_tree(tree, node: Node, problem: Problem, number: int = 0) -> None:
    """Compares a grown table with a recursive tree, node for node."""
    where = f"node {number} at depth {node.depth}"
    np.testing.assert_allclose(tree.weight[number], node.weight.sum(), rtol=1e-9, err_msg=where)
    assert tree.num_rows[number] == (node.weight > 0).sum(), where
    if problem.num_classes:
        counts = [[node.weight[own == c].sum() for c in range(problem.num_classes)] for own in problem.target]
        np.testing.assert_allclose(tree.count[number], np.ravel(counts), rtol=1e-9, atol=1e-9, err_msg=where)
    else:
        sums = problem.target @ node.weight
        np.testing.assert_allclose(tree.target_sum[number], sums, rtol=1e-9, atol=1e-9, err_msg=where)
    if node.weight.any():
        impurity = problem.impurity(problem.target, node.weight)
        np.testing.assert_allclose(tree.impurity[number], impurity, rtol=1e-6, atol=1e-7, err_msg=where)
    if node.split is None:
        assert tree.is_leaf[number], f"{where} splits on {tree.feature[number]}, the oracle does not"
        return
    assert not tree.is_leaf[number], f"{where} is a leaf, the oracle's splits on {node.split.feature}"
    assert tree.feature[number] == node.split.feature, where
    np.testing.assert_allclose(tree.gain[number], node.split.gain, rtol=1e-6, atol=1e-7, err_msg=where)
    assert tree.num_children[number] == node.split.num_branches, where
    assert_same_split(tree, node, problem, number, where)
    for branch, child in enumerate(node.children):
        assert_same_tree(tree, child, problem, int(tree.first_child[number]) + branch)


def assert_same_split(tree, node, problem, number, where):
    split, codes = node.split, problem.codes[node.split.feature]
    kind, missing_code = problem.kinds[split.feature], problem.num_values[split.feature]
    if kind in (THRESHOLD, ONE_VS_REST):
        assert tree.code[number] == split.code, where
    if kind == SUBSET:
        for code in np.unique(codes[(node.weight > 0) & (split.branch >= 0)]).tolist():
            if code != missing_code:
                bit = (int(tree.subset[number][code // 32]) >> (code % 32)) & 1
                assert bit == split.branch[(codes == code) & (node.weight > 0)][0], where
    if problem.missing == "fraction":
        assert tree.missing_branch[number] >= tree.num_children[number], where
    elif split.missing_branch is not None:
        assert tree.missing_branch[number] == split.missing_branch, where
    elif problem.missing == "learn":
        parts = [child.weight.sum() for child in node.children]
        heaviest = [b for b, part in enumerate(parts) if part >= max(parts) - 1e-9 * sum(parts)]
        assert tree.missing_branch[number] == heaviest[-1], where
