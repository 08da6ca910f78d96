"""What commands that fit do first: the file is read, and what was understood of it is said."""

from typing import Any, NamedTuple

from jaxtree.cli.columns import Labelled, read_labelled, task_of
from jaxtree.cli.files import Contents, Reading, read_contents
from jaxtree.cli.options import Names, check_task, wishes
from jaxtree.cli.session import Session
from jaxtree.cli.wording import in_short, listed
from jaxtree.errors import InvalidInputError

_MOST_SHOWN = 12


class Training(NamedTuple):
    """The rows of a fit.

    Attributes:
        rows: They.
        task: "classification" or "regression".
        beside: The target, and the column of the weights if there is one.
    """

    rows: Labelled
    task: str
    beside: tuple[str, ...]

    @property
    def fit_arguments(self) -> dict[str, Any]:
        """What `fit` is given beside features and target."""
        return {} if self.rows.weight is None else {"sample_weight": self.rows.weight}


def read_training(
    session: Session,
    data: str,
    target: str,
    how: Reading,
    *,
    task: str | None = None,
    categorical: Names = None,
    numeric: Names = None,
    ignore: Names = None,
    weight: str | None = None,
) -> Training:
    """Reads the rows of a fit, and says what kinds the columns have and what the target is for."""
    check_task(task)
    contents = read_contents(data, how)
    wanted = wishes(contents, categorical, numeric, ignore, weight)
    rows = read_labelled(contents, target, wanted, task)
    inferred = task or task_of(rows.y)
    _say(session, contents, rows, target, inferred, is_given=task is not None)
    if inferred == "classification" and rows.y.nunique() < 2:
        raise InvalidInputError(f"target {target!r} has one class only, {in_short(repr(rows.y.tolist()[0]))}")
    return Training(rows, inferred, (target,) if weight is None else (target, weight))


def _say(session: Session, contents: Contents, rows: Labelled, target: str, task: str, *, is_given: bool) -> None:
    left_out = [name for name in contents.frame.columns if name not in rows.X and name != target]
    session.note(f"{contents.name}: {contents.frame.height} rows, {rows.X.shape[1]} features")
    kinds: dict[str, list[str]] = {"numbers": [], "dates": [], "durations": [], "words": [], "true or false": []}
    for name in rows.X.columns:
        column = rows.X[name]
        missing = int(column.isna().sum())
        kind = _kind_of(column)
        remarks = ([f"{column.nunique()}"] if kind == "words" else []) + ([f"{missing} missing"] if missing else [])
        kinds[kind].append(f"{in_short(name)} ({', '.join(remarks)})" if remarks else str(name))
    for kind, names in {**kinds, "left out": left_out}.items():
        if names:
            session.note(f"  {kind}: {listed(names)}")
    if rows.num_left_out:
        session.note(f"  {rows.num_left_out} rows without a target are left out")
    why = "" if is_given else f", so {task} (--task overrides)"
    session.note(f"  target {in_short(target)}: {_target_in_words(rows.y, task)}{why}")
    for name in rows.X.columns:
        if len(rows.X) > _MOST_SHOWN and _names_rows(rows.X[name]):
            short = in_short(name)
            session.note(
                f"  {short} has another value in every row: if it is a name or number of rows, --ignore {short}"
            )


def _kind_of(column: Any) -> str:
    if column.dtype == "boolean":
        return "true or false"
    return {"i": "numbers", "u": "numbers", "f": "numbers", "M": "dates", "m": "durations"}.get(
        column.dtype.kind, "words"
    )


def _names_rows(column: Any) -> bool:
    """Whether every row has another word or whole number."""
    if column.nunique() < len(column) or column.dtype.kind in "mM":
        return False
    return column.dtype.kind not in "f" or bool((column % 1 == 0).all())


def _target_in_words(y: Any, task: str) -> str:
    if task == "regression":
        return f"numbers from {y.min():g} to {y.max():g}"
    counts = y.value_counts().sort_index()
    return f"{len(counts)} classes, " + listed(f"{in_short(label)} {number}" for label, number in counts.items())
