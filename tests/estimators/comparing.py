"""Trees that must be the same."""

import dataclasses

import jax
import numpy as np

OF_SPLITS = (
    "feature",
    "code",
    "next_code",
    "threshold",
    "split_kind",
    "subset",
    "missing_code",
    "missing_branch",
    "first_child",
)
"""Fields that mean nothing at a leaf."""

WEIGHTS_AS_ROWS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
"""scikit-learn's checks that a weight of two is a row twice, and a weight of zero no row."""


def same_trees(one, other):
    """Whether two boosted models have the same trees."""
    pairs = zip(jax.tree.leaves(one.forest_.nodes), jax.tree.leaves(other.forest_.nodes), strict=True)
    return all(np.array_equal(*pair) for pair in pairs)


def assert_same_tree(one, other, *, rtol=0.0):
    """Two trees on the host agree in every field that means something.

    Args:
        rtol: By what share of the greatest number in a field floats may differ.
    """
    assert one.num_classes == other.num_classes
    assert one.node_count == other.node_count
    np.testing.assert_array_equal(one.num_children, other.num_children, err_msg="num_children")
    split = ~one.is_leaf
    for field in dataclasses.fields(one):
        found, expected = getattr(one, field.name), getattr(other, field.name)
        if field.metadata.get("static"):
            continue
        if field.name in OF_SPLITS:
            found, expected = found[split], expected[split]
        if rtol and found.dtype.kind == "f" and found.size:
            np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * np.abs(expected).max(), err_msg=field.name)
        else:
            np.testing.assert_array_equal(found, expected, err_msg=field.name)
