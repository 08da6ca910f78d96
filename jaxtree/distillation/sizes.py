"""The loss of a small model by its size, and the gain by a teacher: scores of rows that neither has seen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Shaped
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GroupKFold
from sklearn.utils import indexable

from jaxtree.dataset.arguments import plain_target, vector_of_column
from jaxtree.dataset.sample import generator_of
from jaxtree.distillation.distil import Distillation, check_student, refined_student, rows_of_teachers
from jaxtree.distillation.labels import Teachers, in_columns_of, mixed, said_by, splits_of, teachers_of
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.jobs import Job, TablePart, fit_many
from jaxtree.export.node_tables import check_backend, frame_of
from jaxtree.search.quick_scores import accuracy, log_likelihood, minus_root_squared_error, r2
from jaxtree.sklearn_compat import safe_split
from jaxtree.table.weights import read_weights, rows_there

SIZES = (2, 4, 8, 16, 32)
"""Numbers of leaves."""

PARAMETERS = ("max_leaf_nodes", "max_depth", "depth")
"""Names of a student's size; the first that it has counts."""

PARTS_OF_TEACHER = 5
"""The parts that the teacher labels within a fold where a splitter makes the folds."""


@dataclass(frozen=True, eq=False)
class SizeTable:
    """Scores of a student of several sizes, and of its teacher, on rows that neither has seen.

    Attributes:
        parameter: The parameter of the student that is its size.
        sizes: Its values.
        measures: The names of the metrics: "accuracy" and "log_loss" for classes, "rmse" and "r2" for numbers.
        on_labels: The student fitted to the labels of the table.
        distilled: The student fitted to those of the teacher.
        teacher: The teacher.
    """

    parameter: str
    sizes: tuple[int, ...]
    measures: tuple[str, str]
    on_labels: Float[np.ndarray, "size fold measure"]
    distilled: Float[np.ndarray, "size fold measure"]
    teacher: Float[np.ndarray, "fold measure"]

    def to_dataframe(self, *, backend: str = "pandas") -> Any:
        """Returns the means over folds as a data frame, a row a size and behind them one of the teacher.

        Its columns are the size (missing of the teacher), and for every measure `MEASURE` of the student on labels,
        `MEASURE distilled`, and `std of the difference`, the standard deviation over folds of what distilling adds.

        Args:
            backend: "pandas", "polars", "pyarrow", "modin" or "cudf".

        Raises:
            InvalidInputError: The backend is none of these.
            MissingExtraError: The library is not installed.
        """
        check_backend(backend)
        columns: dict[str, list] = {self.parameter: [*self.sizes, None]}
        for place, name in enumerate(self.measures):
            own, taught = self.on_labels[..., place], self.distilled[..., place]
            columns[name] = [*own.mean(axis=1).tolist(), float(self.teacher[:, place].mean())]
            columns[f"{name} distilled"] = [*taught.mean(axis=1).tolist(), None]
            columns[f"{name}: std of the difference"] = [*(taught - own).std(axis=1).tolist(), None]
        return frame_of(columns, backend)

    def __repr__(self) -> str:
        """Returns the means as a table in words."""
        head = [self.parameter, *(word for name in self.measures for word in (name, "distilled"))]
        pairs = np.stack([self.on_labels.mean(axis=1), self.distilled.mean(axis=1)], axis=2).reshape(len(self.sizes), 4)
        rows = [[str(size), *(f"{own:.4g}" for own in row)] for size, row in zip(self.sizes, pairs, strict=True)]
        rows.append(["teacher", *(word for own in self.teacher.mean(axis=0) for word in (f"{own:.4g}", ""))])
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = (
            "  ".join(word.rjust(width) for word, width in zip(line, widths, strict=True)) for line in (head, *rows)
        )
        return "\n".join(line.rstrip() for line in lines)


def distil_sizes(
    teacher: Any,
    student: Any,
    X: Any,
    y: Any,
    *,
    sizes: Sequence[int] | Mapping[str, Sequence[int]] = SIZES,
    cv: Any = 5,
    random_state: Any = 0,
    options: Distillation | None = None,
    **rows: Any,
) -> SizeTable:
    """Returns what a student of several sizes says of rows that it has not seen, taught by labels or by a teacher.

    Each part of the rows is held out in turn. On the others the student is fitted to the labels, and to those that the
    teacher gives them as in `distil`, with as many parts of its own where `cv` is their number, and 5 otherwise. So
    no teacher has seen a row that its student is scored on, nor one that it has labelled. The teacher's own score is
    that of the mean of its clones.

    Args:
        teacher: A classifier or regressor of scikit-learn's conventions.
        student: A classifier or regressor of jaxtree.
        X: A table.
        y: Its target.
        sizes: Values of the student's `max_leaf_nodes`, or if it has none of `max_depth` or `depth`; or a dict from one
            parameter to its values.
        cv: The number of parts, or a splitter of scikit-learn, or pairs of rows to fit on and to score.
        random_state: The seed of parts, further rows and further starts.
        options: Options of `distil`, which concern the distilled student alone.
        **rows: `sample_weight`, the weight of every row in fits and measures; `groups`, which the splitter keeps
            together, and within its parts up to 5 parts of the teacher's.

    Raises:
        InvalidInputError: One predicts classes and the other numbers; the student has no such parameter; there are
            several targets; or an argument is not allowed.
        InvalidTypeError: The student does not learn from probabilities, or with `n_restarts` is no tree.

    Example:
        >>> from sklearn.datasets import load_diabetes
        >>> from jaxtree import DecisionTreeRegressor, RandomForestRegressor
        >>> teacher = RandomForestRegressor(30, min_samples_leaf=3, random_state=0)
        >>> table = distil_sizes(
        ...     teacher, DecisionTreeRegressor(), *load_diabetes(return_X_y=True), sizes=(2, 8), cv=3
        ... )
        >>> table.measures, table.distilled.shape
        (('rmse', 'r2'), (2, 3, 2))
        >>> print(table)  # doctest: +ELLIPSIS
        max_leaf_nodes   rmse  distilled      r2  distilled
                     2  ...
    """
    student = getattr(student, "best_estimator_", student)  # of a fitted search
    options = Distillation() if options is None else options
    check_student(teacher, student, options)
    parameter, values = _sizes_of(student, sizes)
    table = _read_rows(X, y, rows)
    # A part may lack a class that is scored on.
    classes = np.unique(np.asarray(table.y)) if is_classifier(teacher) else None
    generator = generator_of(random_state)
    splits = splits_of(teacher, table.X, table.y, cv, generator, table.weight, table.groups)
    blanks: list[Any] = [clone(student) for _ in values]
    students = [blank.set_params(**{parameter: value}) for blank, value in zip(blanks, values, strict=True)]
    num_parts = int(cv) if isinstance(cv, int | np.integer) else PARTS_OF_TEACHER
    scores, of_teacher = np.empty((2, len(values), len(splits), 2)), np.empty((len(splits), 2))
    for fold, (train, test) in enumerate(splits):
        own, held = (table.part(student, part) for part in (train, test))
        teachers = _teachers_of_part(teacher, own, num_parts, generator)
        said = teachers.say(held.X)
        of_teacher[fold] = held.measures(in_columns_of(classes, teachers.classes, said), classes)
        synthetic = generator_of(generator.randint(2**31 - 1))
        said = mixed(teachers, own.y, options.alpha)
        taught = rows_of_teachers(teachers, own.X, said, options.n_synthetic, synthetic, own.weight)
        seed = synthetic.randint(2**31 - 1)
        on_labels = TablePart(own.X, own.y, None if own.weight is None else {"sample_weight": own.weight})
        for fitted in fit_many([Job(sized, part) for part in (on_labels, taught) for sized in students]):
            way, number = divmod(fitted.number, len(values))
            made = refined_student(fitted.made, taught, options.n_restarts, seed) if way else fitted.made
            scores[way, number, fold] = held.measures(said_by(made, held.X, classes), classes)
    measures = ("accuracy", "log_loss") if classes is not None else ("rmse", "r2")
    return SizeTable(parameter, values, measures, scores[0], scores[1], of_teacher)


class _Rows(NamedTuple):
    """Rows of a table, all of some weight."""

    X: Any
    y: Any
    weight: Float[np.ndarray, " row"] | None
    groups: Shaped[np.ndarray, " row"] | None

    def part(self, student: Any, rows: Any) -> "_Rows":
        """Returns some of the rows."""
        weight, groups = (None if own is None else own[rows] for own in (self.weight, self.groups))
        return _Rows(*safe_split(student, self.X, self.y, rows), weight, groups)

    def measures(
        self, said: Float[np.ndarray, "row *class"], classes: Shaped[np.ndarray, " class"] | None
    ) -> tuple[float, float]:
        """Returns accuracy and log loss of probabilities, or the root mean squared error and R² of numbers."""
        target = np.asarray(self.y)
        if classes is None:
            return -minus_root_squared_error(said, target, self.weight), r2(said, target, self.weight)
        place = np.searchsorted(classes, target)
        return accuracy(said, place, self.weight), -log_likelihood(said[np.arange(len(place)), place], self.weight)


def _read_rows(X: Any, y: Any, rows: dict[str, Any]) -> _Rows:
    """Returns the rows of weight of a table with one output."""
    X, y = indexable(X, plain_target(vector_of_column(y)))
    whole, groups = read_weights("distil_sizes", X, rows, "groups"), rows.get("groups")
    groups = rows_there(np.asarray(groups), None, whole)[0] if groups is not None else None
    X, y, weight = rows_there(X, y, whole)
    if np.ndim(y) != 1:
        raise InvalidInputError(f"y must have one output, got an array of shape {np.shape(y)}")
    return _Rows(X, y, weight, groups)


def _teachers_of_part(teacher: Any, own: _Rows, num_parts: int, generator: np.random.RandomState) -> Teachers:
    """Returns clones of a teacher that each label the rows which they have not seen of a part; groups stay together."""
    groups = own.groups
    cv = num_parts if groups is None else GroupKFold(min(num_parts, len(np.unique(groups))))
    return teachers_of(teacher, own.X, own.y, own.weight, cv=cv, random_state=generator, groups=groups)


def _sizes_of(student: Any, sizes: Any) -> tuple[str, tuple[int, ...]]:
    """The parameter that is the size of a student, and its values."""
    known = student.get_params()
    parameter: Any
    if isinstance(sizes, Mapping):
        if len(sizes) != 1:
            raise InvalidInputError(f"sizes must be values of one parameter, got those of {list(sizes)}")
        ((parameter, values),) = sizes.items()
    else:
        parameter, values = next((name for name in PARAMETERS if name in known), None), sizes
    if parameter not in known:
        raise InvalidInputError(
            f"sizes must be those of a parameter of the student {type(student).__name__}, got {parameter!r}; it has "
            f"{', '.join(sorted(known))}"
        )
    if not len(values):
        raise InvalidInputError("sizes must have a value, got none")
    return parameter, tuple(values)
