"""`distil`: a small model that says what a large one would say."""

from typing import Any

import numpy as np
from jaxtyping import Float64
from sklearn.base import clone, is_classifier

from jaxtree.dataset.sample import generator_of
from jaxtree.distillation.labels import Teachers, mixed, teachers_of
from jaxtree.distillation.synthetic import with_synthetic_rows
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.estimators.common.jobs import TablePart
from jaxtree.table.weights import read_weights, rows_there


def distil(
    teacher: Any,
    student: Any,
    X: Any,
    y: Any = None,
    *,
    cv: Any = 5,
    alpha: float = 1.0,
    n_synthetic: int = 0,
    random_state: Any = 0,
    **rows: Any,
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
        y: Its target; needed with `cv`, and for an alpha below 1.
        cv: The number of parts, each labelled by a clone of the teacher that has not seen it, or a splitter, or
            pairs of rows; None takes a fitted teacher as it is, which has not seen X.
        alpha: The share of the teacher in the labels of the table's rows; the rest is that of y.
        n_synthetic: The number of further rows.
        random_state: The seed of parts and further rows.
        **rows: `sample_weight`, the weight of every row where teachers and the student are fitted, and in proportion
            to it the chance that a further row stands near it; `groups`, which a splitter keeps together.

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
    generator, weight = generator_of(random_state), read_weights("distil", X, rows, "groups")
    teachers = teachers_of(teacher, X, y, weight, cv=cv, random_state=generator, groups=rows.get("groups"))
    said = mixed(teachers, y, alpha)
    X, said, weight = rows_there(X, said, weight)
    part = rows_of_teachers(teachers, X, said, n_synthetic, generator, weight)
    blank: Any = clone(student)
    return blank.fit(part.X, part.y, **part.params)


def rows_of_teachers(
    teachers: Teachers,
    X: Any,
    said: Any,
    n_synthetic: int,
    generator: np.random.RandomState,
    weight: Float64[np.ndarray, " row"] | None = None,
) -> TablePart:
    """Returns the rows that a student is fitted on: those of a table and further ones, with what teachers say."""
    given = {} if weight is None else {"sample_weight": weight}
    if not n_synthetic:
        return TablePart(X, teachers.target(said), given)
    new, whole = with_synthetic_rows(X, int(n_synthetic), generator, weight)
    target = teachers.target(np.concatenate([said, teachers.say(new)]))
    own = np.ones(len(said)) if weight is None else weight
    weight = np.append(own, np.full(n_synthetic, own.sum() / n_synthetic))
    return TablePart(whole, target, {"sample_weight": weight})


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
