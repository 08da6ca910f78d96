"""Slow, obvious growers of other programs' trees: J48 and C4.5 Release 8 before pruning, SimpleCart and Id3.

Recursion over a vector of row weights, float64, pandas columns, one candidate at a time. A row whose value is missing
goes down every branch with a part of its weight.
"""

import dataclasses
import itertools
import math

import numpy as np

SMALL = 1e-6  # J48 takes numbers this near for equal
SLACK = 1e-3  # by which J48 and C4.5 let a gain miss the average, and a leaf make more errors than its branches


@dataclasses.dataclass
class Node:
    """A node with its class weights in declared order and, if it has one, its test and a child for every branch.

    The branches of a "threshold" are at most, above; of "multiway" one a category; of "one_vs_rest" and "subset" those
    of `categories`, the others.
    """

    weights: np.ndarray
    label: int
    attribute: str = ""
    kind: str = ""
    threshold: float = math.nan
    categories: tuple = ()
    children: list = dataclasses.field(default_factory=list)

    def leaves(self):
        """The leaves below, from the first branch to the last."""
        return [leaf for child in self.children for leaf in child.leaves()] if self.children else [self]

    def size(self):
        """The number of nodes."""
        return 1 + sum(child.size() for child in self.children)

    def errors(self):
        """The weight that is not of the node's class."""
        return self.weights.sum() - self.weights[self.label]


@dataclasses.dataclass
class Test:
    """A way to divide the rows: the `branch` of every row, -1 where the value is missing."""

    attribute: str
    kind: str
    branch: np.ndarray
    num_branches: int
    threshold: float = math.nan
    categories: tuple = ()
    gain: float = 0.0
    split_info: float = 0.0

    @property
    def ratio(self):
        """Gain ratio."""
        return self.gain / self.split_info


@dataclasses.dataclass(frozen=True)
class Options:
    """The options of J48 and C4.5; `release_8` says which of the two."""

    min_samples_leaf: float = 2
    gain: str = "ratio"
    binary_splits: bool = False
    mdl_correction: bool = True
    collapse: bool = True
    release_8: bool = False


# Parts that all four share


def make_leaf(y, weight, parent_label=0):
    """A node without test. Its class is the first of greatest weight, or its parent's if it is empty."""
    weights = np.array([weight[y == name].sum() for name in y.cat.categories])
    return Node(weights, int(weights.argmax()) if weight.any() else parent_label)


def grow(y, weight, choose, parent_label=0, finish=lambda node: node):
    """Grows a tree of the tests that `choose` returns, None where the node shall be a leaf."""
    node = make_leaf(y, weight, parent_label)
    test = choose(weight)
    if test is not None:
        node.attribute, node.kind = test.attribute, test.kind
        node.threshold, node.categories = test.threshold, test.categories
        node.children = [grow(y, part, choose, node.label, finish) for part in divide(test, weight)]
    return finish(node)


def divide(test, weight):
    """The row weights in every branch; a missing value goes to all of them in the proportion of the known weight."""
    known = known_parts(test, weight)
    total = sum(part.sum() for part in known)
    return [part + np.where(test.branch < 0, weight, 0) * (part.sum() / total) for part in known]


def known_parts(test, weight):
    """The row weights in every branch without the rows whose value is missing."""
    return [np.where(test.branch == branch, weight, 0) for branch in range(test.num_branches)]


def is_numeric(column):
    """Whether a column has numbers."""
    return column.dtype.kind == "f"


def multiway_test(column):
    """The test with a branch for every declared category."""
    categories = tuple(column.cat.categories)
    return Test(column.name, "multiway", column.cat.codes.to_numpy(), len(categories), categories=categories)


def group_test(column, kind, codes):
    """The test of some categories, given by their codes, against the others."""
    row_codes = column.cat.codes.to_numpy()
    branch = np.where(row_codes < 0, -1, ~np.isin(row_codes, codes))
    return Test(column.name, kind, branch, 2, categories=tuple(column.cat.categories[code] for code in codes))


def cut_tests(column, weight):
    """The tests between every two neighbouring values that rows of the node have, at the midpoint."""
    values = column.to_numpy()
    ascending = np.unique(values[(weight > 0) & ~np.isnan(values)])
    for low, high in itertools.pairwise(ascending.tolist()):
        branch = np.where(np.isnan(values), -1, values > low)
        yield Test(column.name, "threshold", branch, 2, threshold=(low + high) / 2)


# J48 and C4.5


def grow_c45(X, y, **options):
    """Grows the tree of J48, or of C4.5 Release 8, before pruning; see `Options`.

    Release 8 differs from J48 in that
    - equal means equal, not within 1e-6, and sums of w log2 w are kept in single precision, so that between tests of
      equal gain rounding may decide, and not the order of the attributes;
    - a test without any gain is a test, chosen if there is no better one;
    - a test counts by its gain ratio only if its split information is above 1e-3;
    - a node collapses as soon as its branches are grown, not from the top when all is done.
    """
    options = Options(**options)
    every_row = np.ones(len(y))
    if options.release_8:
        finish = collapse_if_no_better if options.collapse else lambda node: node
        return grow(y, every_row, lambda weight: choose_release_8(X, y, weight, options), finish=finish)
    tree = grow(y, every_row, lambda weight: choose_j48(X, y, weight, options))
    return collapse_from_the_top(tree) if options.collapse else tree


def collapse_if_no_better(node):
    """A leaf in the place of a node whose branches make no fewer errors."""
    branch_errors = sum(leaf.errors() for leaf in node.leaves())
    return Node(node.weights, node.label) if branch_errors >= node.errors() - SLACK else node


def collapse_from_the_top(node):
    """The same decision, for the root first and then for the children that are left."""
    kept = collapse_if_no_better(node)
    kept.children = [collapse_from_the_top(child) for child in kept.children]
    return kept


def choose_j48(X, y, weight, options):
    """The test of greatest gain ratio among those of at least average gain; the first of equals."""
    if weight.sum() < 2 * options.min_samples_leaf - SMALL or make_leaf(y, weight).errors() < SMALL:
        return None
    tests = valid_tests(X, y, weight, options)
    least = average_gain(X, tests) - SLACK if options.gain == "ratio" else 0.0
    best, greatest = None, SMALL
    for test in tests:
        value = test.ratio if options.gain == "ratio" else test.gain
        if test.gain >= least and value > greatest:
            best, greatest = test, value + SMALL
    return best


def choose_release_8(X, y, weight, options):
    """The same, but a gain of 0 will do, and equal means equal."""
    if weight.sum() < 2 * options.min_samples_leaf or make_leaf(y, weight).errors() == 0:
        return None
    tests = valid_tests(X, y, weight, options)
    if options.gain == "ratio":
        least = average_gain(X, tests) - SLACK
        tests = [test for test in tests if test.gain >= least and test.split_info > SLACK]
    return max(tests, key=lambda test: test.ratio if options.gain == "ratio" else test.gain, default=None)


def average_gain(X, tests):
    """Mean gain of the tests, without those of categories that are many for the number of rows, if there are others."""

    def has_few(name):
        return is_numeric(X[name]) or len(X[name].cat.categories) < 0.3 * len(X)

    counts_all = not any(has_few(name) for name in X.columns)
    counted = [test.gain for test in tests if counts_all or has_few(test.attribute)]
    return sum(counted) / len(counted) if counted else math.inf


def valid_tests(X, y, weight, options):
    """The test of every attribute that has one, in the order of the attributes."""
    tests = []
    for name in X.columns:
        if is_numeric(X[name]):
            test = best_cut(X[name], y, weight, options)
        elif options.binary_splits:
            test = best_category(X[name], y, weight, options)
        else:
            test = multiway_test(X[name])
            test = score(test, y, weight, options) if num_heavy(test, weight, options) >= 2 else None
        tests += [test] if test else []
    return tests


def num_heavy(test, weight, options):
    """How many branches have enough known weight."""
    return sum(part.sum() >= options.min_samples_leaf - SMALL for part in known_parts(test, weight))


def score(test, y, weight, options):
    """The test with its gain and split information."""
    known = known_parts(test, weight)
    part_weights = [part.sum() for part in known]
    total, known_total = weight.sum(), sum(part_weights)
    information = bits([weight[(y == name) & (test.branch >= 0)].sum() for name in y.cat.categories], options)
    left = sum(bits(make_leaf(y, part).weights, options) for part in known)
    test.gain = known_total / total * ((information - left) / known_total)
    test.split_info = bits([*part_weights, total - known_total], options) / total
    return test


def bits(weights, options):
    """The entropy of a list of weights times their sum: of sums of w log2 w, in single precision if Release 8."""
    sum_type = np.float32 if options.release_8 else np.float64
    positive = [float(weight) for weight in weights if weight > 0]
    total = sum_type(0)
    for weight in positive:
        total = sum_type(total + weight * math.log2(weight))
    return sum(positive) * math.log2(sum(positive)) - float(total) if positive else 0.0


def best_category(column, y, weight, options):
    """The test of one category against the others that has the greatest gain ratio; the first of equals."""
    best = None
    for code in range(len(column.cat.categories)):
        test = group_test(column, "one_vs_rest", [code])
        if num_heavy(test, weight, options) < 2:
            continue
        test = score(test, y, weight, options)
        if best is None or test.ratio > best.ratio + SMALL:
            best = test
    return best


def best_cut(column, y, weight, options):
    """The cut of greatest gain, the lowest of equals, with its gain corrected for the number of cuts tried."""
    values = column.to_numpy()
    is_known = ~np.isnan(values) & (weight > 0)
    least = least_side(0.1 * weight[is_known].sum() / len(y.cat.categories), options)
    if is_known.sum() < 2 * least - SMALL:
        return None
    tried, best = 0, None
    for test in cut_tests(column, weight):
        is_narrow = 2 * (test.threshold - values[test.branch == 0].max()) <= 1e-5
        if is_narrow or min(part.sum() for part in known_parts(test, weight)) < least - SMALL:
            continue
        tried += 1
        test = score(test, y, weight, options)
        if best is None or test.gain > best.gain + SMALL:
            best = test
    if best is None:
        return None
    best.gain -= math.log2(tried) / weight.sum() if options.mdl_correction else 0
    best.threshold = float(values[values <= best.threshold].max())
    return best if best.gain > SMALL else None


def least_side(share, options):
    """The weight that both sides of a cut must have, given a tenth of the average class's known weight."""
    return options.min_samples_leaf if share <= options.min_samples_leaf else min(share, 25)


# SimpleCart and Id3


def grow_simple_cart(X, y, min_samples_leaf=2):
    """Grows the unpruned tree of Weka's SimpleCart; thresholds are midpoints and belong to the upper branch."""
    return grow(y, np.ones(len(y)), lambda weight: choose_simple_cart(X, y, weight, min_samples_leaf))


def choose_simple_cart(X, y, weight, min_samples_leaf):
    """The test of greatest Gini gain, the first of equals; none if one of its sides has too few rows."""
    if weight.sum() < 2 * min_samples_leaf or make_leaf(y, weight).errors() < SMALL:
        return None
    best = None
    for name in X.columns:
        tests = cut_tests(X[name], weight) if is_numeric(X[name]) else subset_tests(X[name], y, weight)
        for test in tests:
            test.gain = gini_gain(test, y, weight)
            if test.gain > (best.gain if best else 0.0) + 1e-12:
                best = test
    too_few = best is None or min((part > 0).sum() for part in divide(best, weight)) < min_samples_leaf
    return None if too_few else best


def gini_gain(test, y, weight):
    """Gini decrease, missing values being in all branches; 0 if a branch has no known rows."""
    if min(part.sum() for part in known_parts(test, weight)) == 0:
        return 0.0
    left = sum(part.sum() * gini(make_leaf(y, part).weights) for part in divide(test, weight))
    return gini(make_leaf(y, weight).weights) - left / weight.sum()


def gini(weights):
    """Gini impurity of class weights."""
    return 1 - float(((weights / weights.sum()) ** 2).sum())


def subset_tests(column, y, weight):
    """The tests of subsets of categories.

    For two classes, the categories of the smallest shares of the first class, of equal shares the last declared first;
    a category without rows has share 0. For more classes all subsets, as binary numbers whose last digit is the last
    category, up to half of them.
    """
    num_categories = len(column.cat.categories)
    if len(y.cat.categories) == 2:
        parts = known_parts(multiway_test(column), weight)
        share = [make_leaf(y, part).weights[0] / max(part.sum(), 1e-300) for part in parts]
        ascending = sorted(range(num_categories), key=lambda code: (share[code], -code))
        subsets = [sorted(ascending[:size]) for size in range(1, num_categories)]
    else:
        numbers = [f"{number:0{num_categories}b}" for number in range(1, 2 ** (num_categories - 1))]
        subsets = [[code for code, digit in enumerate(number) if digit == "1"] for number in numbers]
    return [group_test(column, "subset", subset) for subset in subsets]


def grow_id3(X, y):
    """Grows the tree of Weka's Id3: the attribute of greatest gain, a branch for every declared category."""
    options = Options(min_samples_leaf=0, gain="information")
    return grow(y, np.ones(len(y)), lambda weight: choose_j48(X, y, weight, options))
