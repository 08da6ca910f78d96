"""`distil`: a small model that says what a large one would say."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Float64
from sklearn.base import clone, is_classifier

from jaxtree.dataset.splitting import generator_of
from jaxtree.distillation.labels import Teachers, mixed, teachers_of
from jaxtree.distillation.synthetic import with_synthetic_rows
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.sklearn_compat import safe_indexing
from jaxtree.table.weights import check_sample_weight


def distil(
    teacher: Any,
    student: Any,
    X: Any,
    y: Any = None,
    *,
    folds: Any = 5,
    alpha: float = 1.0,
    n_synthetic: int = 0,
    random_state: Any = 0,
    **weights: Any,
) -> Any:
    """Returns a clone of a student that is fitted to the labels of a teacher, and not to those of the table.

    Labels of a teacher have less noise, and of classes say how close a row is to each (Hinton, Vinyals and Dean,
    *Distilling the knowledge in a neural network*, 2015). A teacher can also label rows that nobody has seen, as many
    as a tree needs for its lower splits (Breiman and Shang, *Born again trees*, 1996): such a row has the numbers that
    stand near those of a row of the table in their sorted columns, and one of ten categories is another row's. They
    weigh together as much as the table, and are labelled by the mean of the clones of all parts.

    Args:
        teacher: A classifier or regressor of scikit-learn's conventions, or a pipeline; see `teacher_labels`.
        student: A classifier or regressor of jaxtree, such as a tree of few leaves; of numbers also one of another
            library.
        X: A table.
        y: Its target; needed with folds, and for an alpha below 1.
        folds: The number of parts, each labelled by a clone of the teacher that has not seen it, or a splitter, or
            pairs of rows; None takes a fitted teacher as it is, which has not seen X.
        alpha: The share of the teacher in the labels of the table's rows; the rest is that of y.
        n_synthetic: The number of further rows.
        random_state: The seed of parts and further rows.
        **weights: `sample_weight`, the weight of every row where teachers and the student are fitted, and in
            proportion to it the chance that a further row stands near it.

    Raises:
        InvalidInputError: One predicts classes and the other numbers, or an argument is not allowed.
        InvalidTypeError: The student does not learn from probabilities.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> from jaxtree import DecisionTreeRegressor, GradientBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> teacher = GradientBoostingRegressor(100, learning_rate=0.05)
        >>> tree = distil(teacher, DecisionTreeRegressor(max_leaf_nodes=4), X, y, n_synthetic=1000)
        >>> tree.get_n_leaves(), round(tree.score(X, y), 2) > 0.35
        (4, True)
    """
    student = getattr(student, "best_estimator_", student)  # of a fitted search
    check_student(teacher, student)
    if isinstance(n_synthetic, bool) or not isinstance(n_synthetic, int | np.integer) or n_synthetic < 0:
        raise InvalidInputError(f"n_synthetic must be a whole number of at least 0, got {n_synthetic!r}")
    generator, weight = generator_of(random_state), read_weights(X, weights)
    teachers = teachers_of(teacher, X, y, weight, folds=folds, random_state=generator)
    said = mixed(teachers, y, alpha)
    X, said, weight = rows_there(X, said, weight)
    return fit_to_labels(teachers, clone(student), X, said, n_synthetic, generator, weight)


def read_weights(X: Any, given: Mapping[str, Any]) -> Float64[np.ndarray, " row"] | None:
    """Returns the weight of every row of a table, given as `sample_weight`; None without any.

    Raises:
        InvalidTypeError: Something else is given.
        InvalidInputError: The weights are not allowed.
    """
    for name in given:
        if name != "sample_weight":
            raise InvalidTypeError(
                f"distil got an unexpected keyword argument {name!r}; of rows it takes sample_weight"
            )
    if given.get("sample_weight") is None:
        return None
    return check_sample_weight(given["sample_weight"], X.shape[0] if hasattr(X, "shape") else len(X))


def rows_there(X: Any, y: Any, weight: Float64[np.ndarray, " row"] | None) -> tuple[Any, Any, Any]:
    """Returns table, target and weights of the rows of some weight."""
    if weight is None or weight.all():
        return X, y, weight
    rows = np.flatnonzero(weight)
    return safe_indexing(X, rows), None if y is None else safe_indexing(y, rows), weight[rows]


def fit_to_labels(
    teachers: Teachers,
    student: Any,
    X: Any,
    said: Any,
    n_synthetic: int,
    generator: np.random.RandomState,
    weight: Float64[np.ndarray, " row"] | None = None,
) -> Any:
    """Returns a student that is fitted to what teachers say of the rows of a table, and of further ones."""
    given = {} if weight is None else {"sample_weight": weight}
    if not n_synthetic:
        return student.fit(X, teachers.target(said), **given)
    new, whole = with_synthetic_rows(X, int(n_synthetic), generator, weight)
    target = teachers.target(np.concatenate([said, teachers.say(new)]))
    own = np.ones(len(said)) if weight is None else weight
    return student.fit(whole, target, sample_weight=np.append(own, np.full(n_synthetic, own.sum() / n_synthetic)))


def check_student(teacher: Any, student: Any) -> None:
    """Raises an error unless a student can learn what a teacher says."""
    of_classes = is_classifier(teacher)
    if of_classes != is_classifier(student):
        kinds = ["numbers", "classes"]
        raise InvalidInputError(
            f"teacher and student must both predict classes or both numbers: {type(teacher).__name__} predicts "
            f"{kinds[of_classes]}, {type(student).__name__} {kinds[not of_classes]}"
        )
    if of_classes and not type(student).__module__.startswith("jaxtree."):
        raise InvalidTypeError(
            f"a student of classes learns from probabilities, as the classifiers of jaxtree do, got {type(student)}"
        )
