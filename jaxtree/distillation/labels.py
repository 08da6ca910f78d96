"""Labels of a teacher: what it says of rows that it has not seen, in the form that a student's `fit` takes.

A teacher that has seen a row says of it what stands there, noise included. So each part of the rows, a *fold*, is
labelled by a clone of the teacher that was fitted on the others.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Shaped
from sklearn.base import is_classifier
from sklearn.utils import indexable

from jaxtree.dataset.arguments import plain_target, vector_of_column
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.estimators.common.folds import Split, folds_of, shuffled_splitter
from jaxtree.estimators.common.jobs import fit_parts
from jaxtree.sklearn_compat import safe_split
from jaxtree.table.probabilities import ClassProbabilities
from jaxtree.table.weights import check_sample_weight
from jaxtree.tree.kinds import Prediction, prediction_of
from jaxtree.tree.model import encode_known_classes

Values = Float[np.ndarray, "row *output"]


class Teachers(NamedTuple):
    """A teacher, or its clones of several folds, and what they say of the rows of a table.

    Attributes:
        models: The fitted models, which together predict further rows.
        classes: The classes; None for numbers.
        said: The prediction for every row: a column for every class, or a number, or several.
    """

    models: Sequence[Any]
    classes: Shaped[np.ndarray, " class"] | None
    said: Values

    def say(self, X: Any) -> Values:
        """Returns the mean of what the models say of rows."""
        return np.mean([said_by(model, X, self.classes) for model in self.models], axis=0)

    def target(self, said: Values) -> Any:
        """Returns what was said as the target of a student's `fit`."""
        return said if self.classes is None else ClassProbabilities(said, self.classes)


def teacher_labels(
    teacher: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    cv: Any = 5,
    alpha: float = 1.0,
    random_state: Any = 0,
    groups: Any = None,
) -> Any:
    """Returns what a teacher says of the rows of a table, as a target that a student can be fitted to.

    Args:
        teacher: A classifier or regressor of scikit-learn's conventions, such as a forest, boosted trees or a pipeline.
        X: A table.
        y: Its target; needed with `cv`, and for an alpha below 1.
        sample_weight: The weight of every row where clones of the teacher are fitted; one of weight 0 is labelled by
            all of them.
        cv: The number of parts that the rows are divided into, or a splitter of scikit-learn, or pairs of rows to
            fit on and to label. Each part is labelled by a clone of the teacher that is fitted on the others; what
            several say of a row is averaged. None takes a fitted teacher, which must not have seen X, as it is.
        alpha: The share of the teacher in the labels; the rest is that of y.
        random_state: The seed of the parts, where their number is given.
        groups: The group of every row, which a splitter such as `GroupKFold` keeps together.

    Returns:
        `ClassProbabilities` of a classifier; numbers of a regressor.

    Raises:
        InvalidInputError: The teacher is neither, or has several outputs of classes; `cv` does not label every row; or
            another argument is not allowed.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier, RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> labels = teacher_labels(RandomForestClassifier(20, random_state=0), X, y)
        >>> tree = DecisionTreeClassifier(max_leaf_nodes=3).fit(X, labels)
        >>> tree.score(X, y) > 0.9
        True
    """
    teachers = teachers_of(teacher, X, y, sample_weight, cv=cv, random_state=random_state, groups=groups)
    weight = check_sample_weight(sample_weight, len(teachers.said))
    return teachers.target(mixed(teachers, y, alpha, weight))


def teachers_of(
    teacher: Any, X: Any, y: Any, sample_weight: Any = None, *, cv: Any, random_state: Any, groups: Any = None
) -> Teachers:
    """Returns the models that label rows, and what they say of the rows of a table; see `teacher_labels`."""
    teacher = getattr(teacher, "best_estimator_", teacher)  # of a fitted search
    if not (is_classifier(teacher) or hasattr(teacher, "predict")):
        raise InvalidInputError(f"teacher must be a classifier or regressor, got {type(teacher).__name__}")
    if cv is None:
        classes = _classes_of(teacher)
        return Teachers([teacher], classes, said_by(teacher, X, classes))
    if prediction_of(teacher) == Prediction.EFFECTS:
        raise InvalidTypeError(
            f"cv fits clones of the teacher to y alone, and {type(teacher).__name__} needs more of every row: fit the "
            "student to its oob_prediction_, or give cv=None for rows that it has not seen"
        )
    if y is None:
        raise InvalidInputError("cv needs y, which clones of the teacher are fitted to; cv=None does not")
    X, y = indexable(X, plain_target(vector_of_column(y)))
    weight = check_sample_weight(sample_weight, len(y))
    splits = splits_of(teacher, X, y, cv, random_state, weight, groups)
    if weight is not None and not weight.all():
        # No model has seen a row of weight 0.
        splits = [(train, np.union1d(test, np.flatnonzero(weight == 0))) for train, test in splits]
    number = np.bincount(np.concatenate([test for _, test in splits]), minlength=len(y))
    if (number == 0).any():
        raise InvalidInputError(f"cv must label every row, and row {int((number == 0).argmax())} is in no part")
    given = {} if weight is None else {"sample_weight": weight}
    models = fit_parts(teacher, X, y, [train for train, _ in splits], given)
    there = slice(None) if weight is None else weight > 0
    classes = np.unique(np.asarray(y)[there]) if is_classifier(teacher) else None
    said = _sum_of_parts(models, X, y, splits, classes)
    return Teachers(models, classes, said / number.reshape(-1, *(1,) * (said.ndim - 1)))


def mixed(teachers: Teachers, y: Any, alpha: float, weight: Float[np.ndarray, " row"] | None = None) -> Values:
    """Returns what was said of the rows of a table, with a share of their own target.

    A row of weight 0 whose class the teacher does not know keeps what was said.
    """
    if not 0 <= alpha <= 1:
        raise InvalidInputError(f"alpha must be from 0 to 1, the share of the teacher in the labels, got {alpha}")
    if alpha == 1:
        return teachers.said
    if y is None:
        raise InvalidInputError(f"alpha={alpha} mixes the teacher's labels with y, and y is None")
    own = np.asarray(plain_target(vector_of_column(y)))
    is_unknown = np.zeros(len(own), bool)
    if teachers.classes is not None:
        codes = encode_known_classes(own, (teachers.classes,))[0]
        is_unknown = codes < 0
        counts = is_unknown if weight is None else is_unknown & (weight > 0)
        if counts.any():
            unknown = np.unique(own[counts]).tolist()
            raise InvalidInputError(f"y has the classes {unknown}; the teacher knows {teachers.classes.tolist()}")
        own = np.eye(len(teachers.classes))[codes]
    if own.shape != teachers.said.shape:
        raise InvalidInputError(f"y must have the shape {teachers.said.shape} of the labels, got {own.shape}")
    labels = alpha * teachers.said + (1 - alpha) * own
    labels[is_unknown] = teachers.said[is_unknown]
    return labels


def splits_of(
    teacher: Any,
    X: Any,
    y: Any,
    cv: Any,
    random_state: Any,
    weight: Float[np.ndarray, " row"] | None,
    groups: Any = None,
) -> list[Split]:
    """Returns the rows of weight to fit on and to label of every part; a number of parts is one of shuffled rows."""
    if isinstance(cv, bool) or (isinstance(cv, int | np.integer) and cv < 2):
        raise InvalidInputError(f"cv must be 2 or more, a splitter, pairs of rows, or None, got {cv!r}")
    if isinstance(cv, int | np.integer) and groups is not None:
        raise InvalidInputError(
            f"groups are for a splitter that keeps them together, such as cv=GroupKFold({cv}), got cv={cv}"
        )
    if isinstance(cv, int | np.integer):
        there = y if weight is None else np.asarray(y)[weight > 0]
        cv = shuffled_splitter(int(cv), random_state, there if is_classifier(teacher) else None)
    return folds_of(teacher, X, y, cv, {} if groups is None else {"groups": groups}, {"sample_weight": weight})


def said_by(model: Any, X: Any, classes: Shaped[np.ndarray, " class"] | None) -> Values:
    """Returns what a model says of rows, in columns of all classes; one that it does not know has no probability."""
    if classes is None:
        return np.asarray(model.predict(X), np.float64)
    given = model.predict_proba(X)
    if isinstance(given, list):
        raise InvalidInputError("a teacher of classes must have one output, got one with several")
    return in_columns_of(classes, model.classes_, np.asarray(given, np.float64))


def in_columns_of(classes: Shaped[np.ndarray, " class"] | None, known: Any, said: Values) -> Values:
    """Returns probabilities of known classes in columns of all classes; numbers as they are.

    >>> in_columns_of(np.array(["a", "b", "c"]), ["a", "c"], np.array([[0.25, 0.75]])).tolist()
    [[0.25, 0.0, 0.75]]
    """
    if classes is None or np.array_equal(known, classes):
        return said
    whole = np.zeros((len(said), len(classes)))
    whole[:, np.searchsorted(classes, known)] = said
    return whole


def _classes_of(teacher: Any) -> Shaped[np.ndarray, " class"] | None:
    """The classes of a fitted teacher; None of numbers."""
    if not is_classifier(teacher):
        return None
    if isinstance(teacher.classes_, list):
        raise InvalidInputError("a teacher of classes must have one output, got one with several")
    return np.asarray(teacher.classes_)


def _sum_of_parts(
    models: Sequence[Any], X: Any, y: Any, splits: Sequence[Split], classes: Shaped[np.ndarray, " class"] | None
) -> Values:
    """The sum of what the models of all parts say of the rows of these."""
    total: Any = None
    for model, (_, test) in zip(models, splits, strict=True):
        rows: Int[np.ndarray, " row"] = np.asarray(test)
        said = said_by(model, safe_split(model, X, y, rows)[0], classes)
        total = np.zeros((len(y), *said.shape[1:])) if total is None else total
        np.add.at(total, rows, said)
    return total
