"""Trees of rows that come in batches: CPU seconds of a call of `partial_fit` beside a fit of all rows so far.

    python -m benchmarks.batches [--rows 150 10000 ...] [--batch 1] [--columns 10] [--runs 5] [--out FOLDER]

The last rows are the batch: a hundredth of all, or as many as `--batch` says. "encoding" is the part of a fit that
reads the table into codes. "reached" is the least part of growth that a search for splits which change would have to do
again: each node has its rows times its columns to look at, and counts where a new row reaches it or where a split above
it changes. Two tables: one of numbers that all differ, one of columns of about 150 values each. Every tree is compared
with that of the fit.
"""

import argparse
import copy
import json
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

import jaxtree
from benchmarks.forgetting import SHARE, least_seconds
from jaxtree.tree import Tree
from jaxtree.tree.nodes import ancestors, children_of

ROWS = (150, 10_000, 100_000, 1_000_000)

STEPS = 20
"""The values of a unit in the table of few values."""

TREES = {
    "classes, depth 8": jaxtree.DecisionTreeClassifier(max_depth=8),
    "classes": jaxtree.DecisionTreeClassifier(),
    "numbers, depth 8": jaxtree.DecisionTreeRegressor(max_depth=8),
    "numbers": jaxtree.DecisionTreeRegressor(),
}


def table_of(num_rows: int, num_columns: int, *, has_few_values: bool) -> tuple[Any, Float[np.ndarray, " row"]]:
    """Returns columns and a noisy target of three of them."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(num_rows, num_columns))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=num_rows)
    return np.round(X * STEPS) / STEPS if has_few_values else X, y


def is_searched_again(old: Tree, new: Tree, ends: Any) -> Bool[np.ndarray, " node"]:
    """Returns the nodes of a tree that a new row reaches, or that lie below a split which the tree before did not have.

    Args:
        old: The tree before.
        new: The tree.
        ends: The nodes where new rows end.
    """
    again = np.asarray(ancestors(new)[ends].sum(axis=0)).ravel() > 0
    place = np.full(new.node_count, -1)  # of every node in the old tree; -1 if it is not there
    place[0] = 0
    for node in np.flatnonzero(~new.is_leaf):
        own, children = place[node], children_of(new, np.array([node]))
        is_same = own >= 0 and not old.is_leaf[own] and old.feature[own] == new.feature[node]
        if is_same and old.threshold[own] == new.threshold[node]:
            place[children] = children_of(old, np.array([own]))
    return again | (place < 0)


def part_reached(old: Any, new: Any, batch: Any) -> float:
    """Returns the part of a tree's growth that lies in nodes whose splits would be searched again."""
    tree = new.tree_
    is_searched = (tree.impurity > 0) & (True if new.max_depth is None else tree.depth < new.max_depth)
    work = tree.num_rows * is_searched
    return float(work[is_searched_again(old.tree_, tree, new.apply(batch))].sum() / work.sum())


def measure(name: str, num_rows: int, arguments: argparse.Namespace, *, has_few_values: bool) -> dict[str, Any]:
    """Returns the seconds of one kind of tree on one table."""
    X, numbers = table_of(num_rows, arguments.columns, has_few_values=has_few_values)
    model, y = TREES[name], numbers > 0 if name.startswith("classes") else numbers
    size = arguments.batch or max(1, num_rows // SHARE)
    first, last = slice(0, -size), slice(-size, None)
    before = copy.copy(model).partial_fit(X[first], y[first])
    runs, seconds = arguments.runs, {}
    seconds["partial_fit"], after = least_seconds(
        lambda own: own.partial_fit(X[last], y[last]), lambda: copy.copy(before), runs
    )
    seconds["fit"], whole = least_seconds(lambda own: own.fit(X, y), lambda: copy.copy(model), runs)
    seconds["encoding"], _ = least_seconds(lambda own: own.fit_transform(X), model.make_encoder, runs)
    if not all(np.array_equal(getattr(after.tree_, part), getattr(whole.tree_, part)) for part in vars(whole.tree_)):
        raise SystemExit(f"{name}, {num_rows} rows: the tree is not that of one fit")
    return {
        "tree": name,
        "rows": num_rows,
        "batch": size,
        "values": "few" if has_few_values else "all differ",
        "nodes": whole.tree_.node_count,
        "reached": part_reached(before, after, X[last]),
        "seconds": seconds,
    }


def main() -> None:
    """Measures every kind of tree on every table, and writes the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, nargs="+", default=list(ROWS))
    parser.add_argument("--batch", type=int)
    parser.add_argument("--columns", type=int, default=10)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    results = []
    for num_rows in arguments.rows:
        for has_few_values in (False, True):
            for name in TREES:
                results.append(measure(name, num_rows, arguments, has_few_values=has_few_values))
                own = results[-1]
                seconds = " ".join(f"{way} {value:.4f}" for way, value in own["seconds"].items())
                print(
                    f"{num_rows} rows, values {own['values']}, {name}, {own['nodes']} nodes: {seconds}; "
                    f"reached {own['reached']:.3f}",
                    flush=True,
                )
    if arguments.out is not None:
        text = json.dumps({"jaxtree": jaxtree.__version__, "columns": arguments.columns, "results": results}, indent=1)
        (arguments.out / f"batches-{date.today()}.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
