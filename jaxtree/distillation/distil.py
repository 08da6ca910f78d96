"""`distil`: a small model that says what a large one would say."""

import dataclasses
from numbers import Real
from typing import Annotated, Any

import numpy as np
from jaxtyping import Float64
from sklearn.base import clone, is_classifier

from jaxtree.dataset.sample import generator_of
from jaxtree.distillation.labels import Teachers, mixed, teachers_of
from jaxtree.distillation.synthetic import with_synthetic_rows
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.estimators.common.conventions import AnnotatedParameters, Role, check_parameters, whole
from jaxtree.estimators.common.jobs import TablePart
from jaxtree.estimators.refining import refine
from jaxtree.estimators.trees.base import BaseTree
from jaxtree.sklearn_compat import Interval
from jaxtree.table.weights import read_weights, rows_there


@dataclasses.dataclass(kw_only=True, repr=False, eq=False)
class Distillation(AnnotatedParameters):
    """How `distil` makes labels and rows of a teacher, and what becomes of the student that learns them.

    Args:
        alpha: The share of the teacher in the labels of the table's rows; the rest is that of y.
        n_synthetic: The number of further rows, which the teacher labels.
        n_restarts: The number of further starts with which `refine` chooses the splits of a fitted tree again together,
            for the fewest expected errors, or the least squared error, on all rows that it was fitted to. The tree gets
            no more leaves; `min_samples_leaf` does not bind it. None leaves the student as it is fitted.

    Example:
        >>> Distillation(alpha=0.5).alpha
        0.5
    """

    alpha: Annotated[float, Interval(Real, 0, 1, closed="both"), Role.FIT] = 1.0
    n_synthetic: Annotated[int, whole(0), Role.FIT] = 0
    n_restarts: Annotated[int | None, whole(0), None, Role.FIT] = None


def distil(
    teacher: Any,
    student: Any,
    X: Any,
    y: Any = None,
    *,
    cv: Any = 5,
    random_state: Any = 0,
    options: Distillation | None = None,
    **rows: Any,
) -> Any:
    """Returns a clone of a student that is fitted to the labels of a teacher, and not to those of the table.

    Labels of a teacher have less noise, and of classes say how close a row is to each (Hinton, Vinyals and Dean,
    *Distilling the knowledge in a neural network*, 2015). A teacher can also label rows that nobody has seen, as many
    as a tree needs for its lower splits (Breiman and Shang, *Born again trees*, 1996): such a row has the numbers that
    stand near those of a row of the table in their sorted columns, and one of ten categories is another row's. They
    weigh together as much as the table, and are labelled by the mean of the clones of all parts. A tree of few leaves
    loses most by splits that are chosen one by one: options of `n_restarts` choose them again together.

    Args:
        teacher: A classifier or regressor of scikit-learn's conventions, or a pipeline; see `teacher_labels`.
        student: A classifier or regressor of jaxtree, such as a tree of few leaves; of numbers also one of another
            library.
        X: A table.
        y: Its target; needed with `cv`, and for an alpha below 1.
        cv: The number of parts, each labelled by a clone of the teacher that has not seen it, or a splitter, or
            pairs of rows; None takes a fitted teacher as it is, which has not seen X.
        random_state: The seed of parts, further rows and further starts.
        options: The share of the teacher, the number of further rows, and whether splits are chosen again.
        **rows: `sample_weight`, the weight of every row where teachers and the student are fitted, and in proportion
            to it the chance that a further row stands near it; `groups`, which a splitter keeps together.

    Raises:
        InvalidInputError: One predicts classes and the other numbers, or an argument is not allowed; with `n_restarts`
            the student splits in more than two, or has constraints.
        InvalidTypeError: The student does not learn from probabilities, or with `n_restarts` is no tree.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> from jaxtree import DecisionTreeRegressor, GradientBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> teacher = GradientBoostingRegressor(100, learning_rate=0.05)
        >>> options = Distillation(alpha=0.5, n_synthetic=1000, n_restarts=3)
        >>> tree = distil(teacher, DecisionTreeRegressor(max_leaf_nodes=4), X, y, options=options)
        >>> tree.get_n_leaves(), round(tree.score(X, y), 2) > 0.35
        (4, True)
    """
    student = getattr(student, "best_estimator_", student)  # of a fitted search
    options = Distillation() if options is None else options
    check_student(teacher, student, options)
    generator, weight = generator_of(random_state), read_weights("distil", X, rows, "groups")
    teachers = teachers_of(teacher, X, y, weight, cv=cv, random_state=generator, groups=rows.get("groups"))
    said = mixed(teachers, y, options.alpha, weight)
    X, said, weight = rows_there(X, said, weight)
    part = rows_of_teachers(teachers, X, said, options.n_synthetic, generator, weight)
    blank: Any = clone(student)
    fitted = blank.fit(part.X, part.y, **part.params)
    return refined_student(fitted, part, options.n_restarts, generator.randint(2**31 - 1))


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


def refined_student(student: Any, part: TablePart, n_restarts: int | None, seed: int) -> Any:
    """Returns a student that was fitted to some rows, its splits chosen again on these unless `n_restarts` is None."""
    if n_restarts is None:
        return student
    return refine(student, part.X, part.y, **part.params, n_restarts=n_restarts, random_state=seed)


def check_student(teacher: Any, student: Any, options: Distillation) -> None:
    """Raises an error unless options are allowed and a student can learn what a teacher says."""
    check_parameters(options)
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
    if options.n_restarts is not None and not isinstance(student, BaseTree):
        kind = type(student).__name__
        raise InvalidTypeError(f"n_restarts chooses splits of a tree again, such as DecisionTreeClassifier, got {kind}")
