"""Car Evaluation is rebuilt from its model: every byte of the published file must come back."""

import hashlib
from collections import Counter

import numpy as np
import pytest

from jaxtree.datasets import load_car_evaluation

PUBLISHED_SHA256 = "b703a9ac69f11e64ce8c223c0a40de4d2e9d769f7fb20be5f8f2e8a619893d83"


def csv_text() -> str:
    data, target = load_car_evaluation(return_X_y=True)
    return "".join(",".join([*row, verdict]) + "\n" for row, verdict in zip(data, target, strict=True))


def test_has_the_checksum_of_the_published_file():
    assert hashlib.sha256(csv_text().encode()).hexdigest() == PUBLISHED_SHA256


def test_binary_keeps_unacc_and_joins_the_rest():
    """Zhu and Zhou (2023) tell unacceptable cars from all others."""
    cars, binary = load_car_evaluation(), load_car_evaluation(binary=True)
    assert binary.target_names == ["unacc", "acc"]
    assert Counter(binary.target) == {"unacc": 1210, "acc": 518}
    np.testing.assert_array_equal(binary.target == "unacc", cars.target == "unacc")
    np.testing.assert_array_equal(binary.data, cars.data)


def test_frame_holds_the_same_cells():
    pytest.importorskip("pandas")
    arrays, frames = load_car_evaluation(), load_car_evaluation(as_frame=True)
    assert arrays.frame is None
    assert list(frames.frame.columns) == [*arrays.feature_names, "class"]
    np.testing.assert_array_equal(frames.data.to_numpy(), arrays.data)
    np.testing.assert_array_equal(frames.target.to_numpy(), arrays.target)
