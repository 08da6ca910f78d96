"""The rows of every table, kept in a folder so that all processes read the same ones."""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.suite.tasks import Table

FRAME = "synthetic-frame"
"""The name of a synthetic table that is a data frame."""
SEED = 0
TEST_SHARE = 0.25


class Rows(NamedTuple):
    """A float32 matrix or a frame, and a class (int32) or a number (float64) for every row of it."""

    X: Any
    y: np.ndarray


class Split(NamedTuple):
    """Rows to train on and rows to test on."""

    train: Rows
    test: Rows


def write_table(table: Table, folder: Path, data: Path) -> Path:
    """Writes a table into a subfolder of `folder` if it is not there; `data` has the real data sets.

    Raises:
        FileNotFoundError: The real data set is absent; `filename` says what.
    """
    place = folder / table.slug
    if not place.is_dir():
        split = _make(table, data)
        place.mkdir(parents=True)
        for part, rows in zip(Split._fields, split, strict=True):
            np.save(place / f"{part}_y.npy", rows.y)
            if isinstance(rows.X, np.ndarray):
                np.save(place / f"{part}_X.npy", rows.X)
            else:
                rows.X.to_parquet(place / f"{part}_X.parquet")
    return place


def read_rows(place: Path, part: str) -> Rows:
    """Reads the "train" or the "test" part of a written table."""
    y = np.load(place / f"{part}_y.npy")
    matrix = place / f"{part}_X.npy"
    if matrix.is_file():
        X = np.load(matrix)
        return Rows(_framed(X) if place.name.startswith(FRAME) else X, y)
    import pandas

    return Rows(pandas.read_parquet(place / f"{part}_X.parquet"), y)


def synthetic(num_rows: int, num_columns: int, num_classes: int, num_test: int, seed: int = SEED) -> Split:
    """Normal columns, and a noisy target of four of them with interactions; classes of equal size, or a number."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((num_rows + num_test, num_columns), dtype=np.float32)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + np.sin(3 * X[:, 3])
    signal = signal.astype(np.float64) + 0.8 * rng.standard_normal(len(X))
    if num_classes:
        bounds = np.quantile(signal[:100_000], np.arange(1, num_classes) / num_classes)
        y = np.searchsorted(bounds, signal).astype(np.int32)
    else:
        y = signal
    return Split(Rows(X[:num_rows], y[:num_rows]), Rows(X[num_rows:], y[num_rows:]))


def _make(table: Table, data: Path) -> Split:
    if table.name in ("synthetic", FRAME):
        return synthetic(table.num_rows, table.num_columns, table.num_classes, table.num_test)
    train, test = _car() if table.name == "car" else _real(table.name, data)
    return Split(_first(train, table.num_rows), _first(test, table.num_test))


def _framed(X: np.ndarray) -> Any:
    import pandas

    return pandas.DataFrame(X, columns=[f"x{at}" for at in range(X.shape[1])])


def _first(rows: Rows, most: int) -> Rows:
    return Rows(rows.X[: most or None], rows.y[: most or None])


def _car() -> Split:
    """The Car Evaluation data in two classes, one-hot: 1,296 rows of 21 columns to train on."""
    from sklearn.preprocessing import OneHotEncoder

    from jaxtree.datasets import load_car_evaluation

    X, y = load_car_evaluation(return_X_y=True, binary=True)
    X = OneHotEncoder(sparse_output=False).fit_transform(X).astype(np.float32)
    y = np.unique(y, return_inverse=True)[1].astype(np.int32)
    return _divided(X, y)


def _real(name: str, data: Path) -> Split:
    """A quarter of the rows tests; columns of numbers alone become a float32 matrix."""
    from jaxtree_studies.tables.readers import REGRESSION, read_real

    X, target = read_real(name, data)
    if all(dtype.kind in "iuf" for dtype in X.dtypes):
        X = np.ascontiguousarray(X, np.float32)
    if name in REGRESSION:
        y = np.asarray(target, np.float64)
    else:
        y = np.unique(target, return_inverse=True)[1].astype(np.int32)
    return _divided(X, y)


def _divided(X: Any, y: np.ndarray) -> Split:
    from sklearn.model_selection import train_test_split

    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=TEST_SHARE, random_state=SEED)
    return Split(Rows(X_train, np.asarray(y_train)), Rows(X_test, np.asarray(y_test)))
