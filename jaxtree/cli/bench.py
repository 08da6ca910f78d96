"""`jaxtree bench`: jaxtree beside other programs on the user's own table."""

import os
import statistics
import time
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from jaxtyping import Int, Shaped

from jaxtree.cli import options
from jaxtree.cli.contenders import Fit, Task, contenders
from jaxtree.cli.session import Session, in_session, print_plainly
from jaxtree.cli.training import Training, read_training
from jaxtree.errors import InvalidInputError

_WARM_FITS = 3


class Split(NamedTuple):
    """A table divided in two.

    Attributes:
        X: The features of the rows to fit on, and of those held out; words as pandas' categories.
        y: Their classes as 0, 1, ..., or numbers.
    """

    X: tuple[Any, Any]
    y: tuple[Shaped[np.ndarray, " row"], Shaped[np.ndarray, " row"]]


@in_session
def bench(
    session: Session,
    data: options.DataArgument,
    target: options.TargetOption,
    max_depth: Annotated[int, typer.Option(min=1, max=30, help="The most splits on a path.")] = 8,
    trees: Annotated[
        int | None, typer.Option(min=1, help="Grow forests of so many trees.", show_default="one tree")
    ] = None,
    test: Annotated[float, typer.Option(min=0.01, max=0.9, help="Share of the rows that are held out.")] = 0.25,
    seed: options.SeedOption = 0,
    task: options.TaskOption = None,
    categorical: options.CategoricalOption = None,
    numeric: options.NumericOption = None,
    ignore: options.IgnoreOption = None,
    missing: options.MissingOption = None,
    separator: options.SeparatorOption = None,
    header: options.HeaderOption = True,
) -> None:
    """Times jaxtree beside other programs that are installed on a table of yours, and scores held-out rows.

    They are scikit-learn, LightGBM, XGBoost and YDF. The first fit of jaxtree compiles, unless an earlier run has kept
    the program.
    """
    how = options.reading(missing, separator, header)
    training = read_training(
        session, data, target, how, task=task, categorical=categorical, numeric=numeric, ignore=ignore
    )
    split = split_rows(training, test, seed)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = Task(training.task == "classification", max_depth, trees, seed, cores)
    score = "accuracy" if asked.is_classification else "R²"
    what = "one tree" if trees is None else f"{trees} trees"
    print_plainly(
        f"{what} of depth {max_depth}, {len(split.X[0])} rows, {len(split.X[1])} held out, {cores} cores; seconds"
    )
    print_plainly(f"{'':<12} {'first fit':>10} {'fit again':>10} {'predict':>10} {score:>10}")
    for name, fit in contenders(asked).items():
        if fit is None:
            session.note(f"{name} is not installed")
            continue
        with session.doing(name):
            line = _measured(fit, split, asked)
        print_plainly(f"{name:<12} {line}")


def split_rows(training: Training, share: float, seed: int) -> Split:
    """Divides the rows; of every class about the same share is held out.

    Raises:
        InvalidInputError: One side would be left without rows.
    """
    from sklearn.model_selection import train_test_split

    X, y = _as_categories(training.rows.X), training.rows.y
    codes = y.to_numpy()
    classes = None
    if training.task == "classification":
        classes, codes = np.unique(np.asarray(y.astype(str)), return_inverse=True)
    try:
        train, held = train_test_split(
            np.arange(len(X)),
            test_size=share,
            random_state=seed,
            stratify=_strata(codes) if classes is not None else None,
        )
    except ValueError as error:
        raise InvalidInputError(f"the rows cannot be divided: {error}") from None
    # XGBoost takes classes that are 0, 1, ... without gaps in the rows that it sees.
    if classes is not None and len(np.unique(codes[train])) < len(classes):
        raise InvalidInputError("a class has too few rows to be in both parts; leave its rows out")
    return Split((X.iloc[train], X.iloc[held]), (codes[train], codes[held]))


def _strata(codes: Int[np.ndarray, " row"]) -> Int[np.ndarray, " row"] | None:
    return codes if np.bincount(codes).min() > 1 else None


def _as_categories(X: Any) -> Any:
    """Words and truth values as categories, and times as days, which the other programs read alike."""
    for name in X.columns:
        if X[name].dtype.kind in "mM":
            days = (X[name] - X[name].min()) if X[name].dtype.kind == "M" else X[name]
            X = X.assign(**{name: days.dt.total_seconds() / 86_400})
    words = [name for name in X.columns if X[name].dtype.kind not in "iuf" or X[name].dtype == "boolean"]
    return X.astype({name: str for name in words if X[name].dtype == "boolean"}).astype(
        dict.fromkeys(words, "category")
    )


def _measured(fit: Fit, split: Split, task: Task) -> str:
    from sklearn.metrics import accuracy_score, r2_score

    try:
        start = time.perf_counter()
        predict = fit(split.X[0], split.y[0])
        first = time.perf_counter() - start
        again = statistics.median(_seconds(lambda: fit(split.X[0], split.y[0])) for _ in range(_WARM_FITS))
        predict(split.X[1])
        scoring = _seconds(lambda: predict(split.X[1]))
        score = (accuracy_score if task.is_classification else r2_score)(split.y[1], predict(split.X[1]))
    except Exception as error:  # what other programs refuse is theirs to say
        return f"refused: {' '.join(str(error).split())[:120]}"
    return f"{first:>10.3f} {again:>10.3f} {scoring:>10.3f} {score:>10.4f}"


def _seconds(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
