"""Random tables of additive models, with all kinds of terms."""

import numpy as np

from jaxtree.kernels.layout import Layout, TermKind, join_layouts


def one_term(kind, features, bins_of_codes, *, monotone=0):
    """A layout of one term, from the bins of the codes of its features."""
    num_codes = max(map(len, bins_of_codes))
    bins = np.zeros((1, 2, num_codes), np.uint16)
    num_bins = np.ones((1, 2), np.int32)
    for axis, own in enumerate(bins_of_codes):
        bins[0, axis, : len(own)] = own
        num_bins[0, axis] = max(own) + 1
    second = features[1] if len(features) > 1 else -1
    return Layout(
        np.array([kind], np.int32),
        np.array([[features[0], second]], np.int32),
        bins,
        num_bins,
        np.array([monotone], np.int32),
    )


def mixed_layout(num_codes):
    """Terms of all kinds of features of some codes each, the last of which is of missing values.

    The features are eight; of the fifth all codes but that of missing values are one bin, of the sixth all are one.
    """
    plain = np.arange(num_codes)
    coarse = np.append(plain[:-1] * 3 // num_codes, 3)
    return join_layouts(
        [
            one_term(TermKind.ORDERED, [0], [plain]),
            one_term(TermKind.ORDERED, [1], [plain], monotone=1),
            one_term(TermKind.ORDERED, [2], [plain], monotone=-1),
            one_term(TermKind.SUBSET, [3], [plain]),
            one_term(TermKind.ORDERED, [4], [(plain == num_codes - 1).astype(int)]),
            one_term(TermKind.ORDERED, [5], [np.zeros(num_codes, int)]),
            one_term(TermKind.SUBSET, [6], [coarse]),
            one_term(TermKind.PAIR, [0, 3], [coarse, plain]),
            one_term(TermKind.PAIR, [6, 7], [plain, coarse]),
            one_term(TermKind.PAIR, [2, 5], [coarse, np.zeros(num_codes, int)]),
        ]
    )


def random_codes(random, num_features, num_rows, num_codes, dtype=np.uint8):
    """Codes of which some are much more frequent than others, and one has no rows."""
    codes = np.minimum(random.geometric(min(2.5 / num_codes, 0.6), (num_features, num_rows)) - 1, num_codes - 1)
    codes[codes == 1] = 0
    return codes.astype(dtype)


def random_problem(seed, num_rows, num_codes, *, dtype=np.uint8, most=3, terms=tuple(range(10))):
    """A layout of some terms, codes, weights of which some are 0, and residuals that follow from codes and noise."""
    random = np.random.default_rng(seed)
    layout = mixed_layout(num_codes).take(terms)
    codes = random_codes(random, 8, num_rows, num_codes, dtype)
    weight = random.integers(0, most + 1, num_rows, dtype=np.int32)
    signal = 300 * (codes[0] > 2) - 200 * (codes[1] > 3) + 90 * (codes[3] % 3) + 150 * (codes[6] > 2) * (codes[7] > 1)
    residual = (signal - int(signal.sum() / max(num_rows, 1)) + random.integers(-300, 300, num_rows)).astype(np.int64)
    return layout, codes, weight, residual
