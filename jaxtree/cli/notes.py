"""Notes of a fit on its table and its model: the kinds of columns, the target, the size of trees."""

from typing import Any

from jaxtree.cli.session import in_short, listed


def kinds_of(X: Any) -> dict[str, list[str]]:
    """Returns the columns of every kind, with remarks on their values."""
    kinds: dict[str, list[str]] = {"numbers": [], "dates": [], "durations": [], "words": [], "true or false": []}
    of_dtype = {"i": "numbers", "u": "numbers", "f": "numbers", "M": "dates", "m": "durations", "b": "true or false"}
    for name, column in X.items():
        kind, missing = of_dtype.get(column.dtype.kind, "words"), int(column.isna().sum())
        remarks = [f"{column.nunique()}"] * (kind == "words") + [f"{missing} missing"] * (missing > 0)
        kinds[kind].append(f"{in_short(name)} ({', '.join(remarks)})" if remarks else str(name))
    return kinds


def names_rows(column: Any) -> str:
    """Returns how a column looks like one of names or numbers of rows, in words; "" if it does not.

    Its words are nearly as many as the rows that have one, or every row has another whole number.
    """
    from jaxtree.table.identifiers import are_identifiers, in_words

    kind, num_values, num_rows = column.dtype.kind, column.nunique(), int(column.count())
    if kind in "mM" or not are_identifiers(num_values, num_rows):
        return ""
    if kind not in "iuf":
        return in_words(num_values, num_rows)
    is_whole = num_values == len(column) and bool((column % 1 == 0).all())
    return "has another value in every row" if is_whole else ""


def target_in_words(y: Any, task: str) -> str:
    """Returns the range of a target of numbers, or how many rows have each class."""
    if task == "regression":
        from jaxtree.table.numerals import decimals_together

        return "numbers from {} to {}".format(*decimals_together([float(y.min()), float(y.max())]))
    counts = y.value_counts().sort_index()
    return f"{len(counts)} classes, " + listed(f"{in_short(label)} {number}" for label, number in counts.items())


def shape_of(estimator: Any) -> str:
    """Returns the class of a fitted model, and how large it is."""
    name = type(estimator).__name__
    if hasattr(estimator, "tree_"):
        tree = estimator.tree_
        shape = f"{name}: {tree.node_count} nodes, {tree.n_leaves} leaves, depth {tree.max_depth}"
        return f"{shape}{_optimality(estimator)}"
    if hasattr(estimator, "additive_"):
        layout = estimator.additive_.layout
        pairs = int((layout.features[:, 1] >= 0).sum())
        words = f"{layout.num_terms - pairs} terms of columns, {pairs} of pairs, {layout.num_places} bins"
        return f"{name}: {words}, {len(estimator.bag_values_)} bags"
    if hasattr(estimator, "forest_"):
        most = ""
        folds = getattr(estimator, "folds_", None)
        if folds is not None:
            most = f" of {len(folds)} models"
        elif getattr(estimator, "early_stopping", False) and estimator.n_estimators != "auto":
            most = f" of at most {estimator.n_estimators * getattr(estimator, 'trees_per_round_', 1)}"
        return f"{name}: {len(estimator.forest_)} trees{most}, {len(estimator.forest_.nodes.feature)} nodes"
    return f"{name}: depth {estimator.depth_}"


def _optimality(estimator: Any) -> str:
    """Says, behind a comma, whether an optimal tree is proven to be the best of its depth; nothing of greedy trees."""
    known = getattr(estimator, "optimality_", None)
    if known is None:
        return ""
    return f", {known}" if isinstance(known, str) else f", another may cost {known:.1%} less at most"
