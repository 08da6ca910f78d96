"""The cut that J48 makes in a column of numbers, in the place of `c45_oracle.best_cut`.

`c45_oracle.best_cut` differs twice from J48. It asks how near a cut lies to the largest value below it in the whole
table, where J48 asks for the node's values: between 22 and 30 it drops the cut at 26 if any row elsewhere has 26. And
it asks whether twice the distance from the midpoint is more than 1e-5, where J48 compares `low + 1e-5 < high`, which
rounds otherwise for values with five decimals, as the refractive indices of the glass data.
"""

import itertools
import math

import numpy as np

from tests.reference.c45_oracle import SMALL, Test, least_side, score

CLOSE = 1e-5


def best_cut(column, y, weight, options):
    """The cut of greatest gain, the lowest of equals, with its gain corrected for the number of cuts tried."""
    values = column.to_numpy()
    is_known = ~np.isnan(values) & (weight > 0)
    known = weight[is_known].sum()
    least = least_side(0.1 * known / len(y.cat.categories), options)
    tried, best = 0, None
    for low, high in itertools.pairwise(np.unique(values[is_known]).tolist()):
        below = weight[is_known & (values <= low)].sum()
        if not low + CLOSE < high or min(below, known - below) < least - SMALL:
            continue
        tried += 1
        branch = np.where(np.isnan(values), -1, values > low)
        test = score(Test(column.name, "threshold", branch, 2, threshold=(low + high) / 2), y, weight, options)
        if best is None or test.gain > best.gain + SMALL:
            best = test
    if best is None:
        return None
    best.gain -= math.log2(tried) / weight.sum() if options.mdl_correction else 0
    best.threshold = float(values[values <= best.threshold].max())
    return best if best.gain > SMALL else None
