"""Tables of numbers and categories for the tests of soft trees."""

import numpy as np


def mixed_table(num_rows, seed, *, missing=0.0):
    """Numbers, some of them whole, and categories, some missing; and a score that hangs on them."""
    random = np.random.default_rng(seed)
    table = np.empty((num_rows, 5), object)
    table[:, 0] = random.normal(50.0, 20.0, num_rows)
    table[:, 1] = random.integers(0, 9, num_rows).astype(float)
    table[:, 2] = random.choice(list("abcdefg"), num_rows)
    table[:, 3] = random.choice(["x", "y"], num_rows)
    table[:, 4] = random.exponential(size=num_rows)
    table[random.random(table.shape) < missing] = None
    score = [(row[0] or 40.0) / 20 + (row[2] in ("b", "d", "g")) * (row[1] or 2.0) for row in table]
    return table, np.array(score) + random.normal(size=num_rows) * 0.3


def classes(score):
    """The score in four classes."""
    return np.digitize(score, [2.0, 4.0, 6.0])
