"""`jaxtree fit`: a model file from a table."""

import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxtree.cli import options
from jaxtree.cli.models import ALGORITHMS, make_estimator
from jaxtree.cli.session import Session, in_session, print_plainly
from jaxtree.cli.training import Training, read_training
from jaxtree.cli.writing import check_writable
from jaxtree.errors import InvalidInputError


@in_session
def fit(
    session: Session,
    data: options.DataArgument,
    target: options.TargetOption,
    output: options.ModelOutput,
    algorithm: Annotated[str, typer.Option("--algorithm", "-a", help=f"{', '.join(ALGORITHMS)}.")] = "cart",
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="A parameter of the estimator, as max_depth=5; may be given again.", metavar="NAME=VALUE"
        ),
    ] = None,
    prune: Annotated[
        list[str] | None,
        typer.Option(
            help="A pruning, as pessimistic:0.25, dropout:p=0.1,q=0.5, reduced-error, "
            "cost-complexity:cv,rule=1se, or none; several unite.",
            metavar="NAME[:ARGS]",
        ),
    ] = None,
    cv: Annotated[int | None, typer.Option(min=2, help="Cross-validate first, on so many folds.")] = None,
    seed: options.SeedOption = 0,
    task: options.TaskOption = None,
    categorical: options.CategoricalOption = None,
    numeric: options.NumericOption = None,
    ignore: options.IgnoreOption = None,
    weight: options.WeightOption = None,
    missing: options.MissingOption = None,
    separator: options.SeparatorOption = None,
    header: options.HeaderOption = True,
) -> None:
    """Fits a tree, a forest or a soft tree on a table, and writes a model file."""
    options.check_choice("--algorithm", algorithm, tuple(ALGORITHMS))
    check_writable(output)
    how = options.reading(missing, separator, header)
    training = read_training(
        session, data, target, how, task=task, categorical=categorical, numeric=numeric, ignore=ignore, weight=weight
    )
    estimator = make_estimator(algorithm, training.task, seed=seed, settings=settings or (), prunings=prune or ())
    scores = [] if cv is None else _cross_validate(session, estimator, training, cv, seed)
    fit_and_save(session, estimator, training, output, scores)


def fit_and_save(session: Session, estimator: Any, training: Training, output: str, results: list[str]) -> None:
    """Fits an estimator, writes it, and prints results and what it has become."""
    rows = training.rows
    with session.doing("fitting"):
        estimator.fit(rows.X, rows.y, **training.fit_arguments)
    # So the file knows which columns of the table are no features.
    estimator._beside = training.beside
    lines = [*results, _shape(estimator), f"on the rows of the fit: {_training_score(estimator, training)}"]
    for line in lines:
        print_plainly(line, to_stderr=output == "-")
    save(estimator, output)
    if output != "-":
        print_plainly(f"model: {output}")


def save(estimator: Any, output: str) -> None:
    """Writes a model file; to the standard output for "-"."""
    if output != "-":
        estimator.save(output)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.jaxtree"
        estimator.save(path)
        sys.stdout.buffer.write(path.read_bytes())
        sys.stdout.flush()


def _cross_validate(session: Session, estimator: Any, training: Training, folds: int, seed: int) -> list[str]:
    import numpy as np
    from sklearn.base import clone

    rows = training.rows
    scores = []
    with session.progress() as progress:
        task = progress.add_task(f"{folds} folds", total=folds)
        for train, test in folds_of(training, folds, seed):
            weight = {} if rows.weight is None else {"sample_weight": rows.weight[train]}
            fold: Any = clone(estimator)
            fold.fit(rows.X.iloc[train], rows.y.iloc[train], **weight)
            held_out = {} if rows.weight is None else {"sample_weight": rows.weight[test]}
            scores.append(fold.score(rows.X.iloc[test], rows.y.iloc[test], **held_out))
            progress.advance(task)
    return [f"{folds}-fold cross-validation: {score_name(training)} {np.mean(scores):.4f} ± {np.std(scores):.4f}"]


def folds_of(training: Training, folds: int, seed: int) -> list[Any]:
    """The rows of every fold: those to fit on, and those to score on; shuffled, and with like shares of classes.

    Raises:
        InvalidInputError: There are fewer rows than folds.
    """
    from sklearn.model_selection import KFold, StratifiedKFold

    rows = training.rows
    if folds > len(rows.X):
        raise InvalidInputError(f"--cv must be at most {len(rows.X)}, the number of rows, got {folds}")
    is_stratified = training.task == "classification" and int(rows.y.value_counts().max()) >= folds
    kind = StratifiedKFold if is_stratified else KFold
    return list(kind(folds, shuffle=True, random_state=seed).split(rows.X, rows.y if is_stratified else None))


def score_name(training: Training) -> str:
    """What an estimator's `score` is."""
    return "accuracy" if training.task == "classification" else "R²"


def _training_score(estimator: Any, training: Training) -> str:
    rows = training.rows
    return f"{score_name(training)} {estimator.score(rows.X, rows.y, **training.fit_arguments):.4f}"


def _shape(estimator: Any) -> str:
    name = type(estimator).__name__
    if hasattr(estimator, "tree_"):
        tree = estimator.tree_
        return f"{name}: {tree.node_count} nodes, {tree.n_leaves} leaves, depth {tree.max_depth}"
    if hasattr(estimator, "forest_"):
        return f"{name}: {len(estimator.forest_)} trees, {len(estimator.forest_.nodes.feature)} nodes"
    return f"{name}: depth {estimator.depth_}"
