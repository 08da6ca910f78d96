"""`jaxtree search`: the best of many settings, by cross-validation."""

from typing import Annotated, Any

import typer

from jaxtree.cli import options
from jaxtree.cli.fit import fit_and_save, folds_of, score_name
from jaxtree.cli.models import ALGORITHMS, make_estimator, make_grid
from jaxtree.cli.session import Session, in_session, print_plainly
from jaxtree.cli.training import Training, read_training
from jaxtree.cli.writing import check_writable, kind_of_table, write_table
from jaxtree.errors import InvalidInputError

_TREES = tuple(name for name in ALGORITHMS if name not in ("forest", "soft"))
_MOST_SHOWN = 10


@in_session
def search(
    session: Session,
    data: options.DataArgument,
    target: options.TargetOption,
    settings: Annotated[
        list[str],
        typer.Option(
            "--set", help="Values of a parameter, as ccp_alpha=0,0.01 or max_depth=2:20,none.", metavar="NAME=VALUES"
        ),
    ],
    output: Annotated[
        str | None, typer.Option("--output", "-o", help="Fit the best setting on all rows, and write this model file.")
    ] = None,
    results: Annotated[
        str | None, typer.Option(help="Write the scores of all settings: .csv, .parquet or .jsonl.", metavar="TABLE")
    ] = None,
    algorithm: Annotated[str, typer.Option("--algorithm", "-a", help=f"{', '.join(_TREES)}.")] = "cart",
    prune: Annotated[
        list[str] | None, typer.Option(help="A pruning, as in `jaxtree fit`.", metavar="NAME[:ARGS]")
    ] = None,
    cv: Annotated[int, typer.Option(min=2, help="How many folds.")] = 10,
    scoring: Annotated[
        str | None, typer.Option(help="A scorer of scikit-learn, as neg_log_loss.", show_default="accuracy, or R²")
    ] = None,
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
    """Scores all combinations of given values, and can fit the best one; a tree is grown once a fold."""
    options.check_choice("--algorithm", algorithm, _TREES)
    for path in (output, results):
        if path is not None:
            check_writable(path)
    kind = None if results is None else kind_of_table(results, None, "--results")
    _check_scoring(scoring)
    how = options.reading(missing, separator, header)
    training = read_training(
        session, data, target, how, task=task, categorical=categorical, numeric=numeric, ignore=ignore, weight=weight
    )
    _check_scores(scoring, training)
    estimator = make_estimator(algorithm, training.task, seed=seed, prunings=prune or ())
    scored = _search(session, estimator, make_grid(estimator, settings), training, cv, scoring, seed)
    name = scoring or score_name(training)
    lines = _ranking(scored.cv_results_, name)
    for line in lines:
        print_plainly(line, to_stderr=output == "-")
    if results is not None and kind is not None:
        write_table(_all_scores(scored.cv_results_), results, kind)
    if output is not None:
        estimator.set_params(**scored.best_params_)
        fit_and_save(session, estimator, training, output, [])


def _search(
    session: Session,
    estimator: Any,
    grid: dict[str, list[Any]],
    training: Training,
    cv: int,
    scoring: str | None,
    seed: int,
) -> Any:
    from jaxtree.search.tree_search import TreeSearchCV

    folds = folds_of(training, cv, seed)
    scored = TreeSearchCV(estimator, grid, cv=folds, scoring=scoring, refit=False, error_score="raise")
    with session.doing("searching"):
        scored.fit(training.rows.X, training.rows.y, **training.fit_arguments)
    best = int(scored.cv_results_["rank_test_score"].argmin())
    scored.best_params_ = scored.cv_results_["params"][best]
    return scored


def _ranking(scores: dict[str, Any], name: str) -> list[str]:
    order = scores["rank_test_score"].argsort(kind="stable")
    shown = order[:_MOST_SHOWN]
    lines = [f"{len(order)} settings; {name}, mean ± deviation over folds"]
    for place in shown:
        mean, deviation = scores["mean_test_score"][place], scores["std_test_score"][place]
        lines.append(
            f"{scores['rank_test_score'][place]:>4}  {mean:.4f} ± {deviation:.4f}  {_setting(scores['params'][place])}"
        )
    return lines


def _setting(parameters: dict[str, Any]) -> str:
    return " ".join(f"{name}={'none' if value is None else value}" for name, value in parameters.items())


def _all_scores(scores: dict[str, Any]) -> dict[str, Any]:
    names = list(scores["params"][0])
    columns = {name: [_cell(parameters[name]) for parameters in scores["params"]] for name in names}
    measured = ("mean_test_score", "std_test_score", "rank_test_score")
    return columns | {name: scores[name].tolist() for name in measured}


def _check_scores(scoring: str | None, training: Training) -> None:
    """Raises InvalidInputError, before the work, if a scorer cannot judge even a model that knows the target alone."""
    from sklearn.dummy import DummyClassifier, DummyRegressor
    from sklearn.metrics import get_scorer

    if scoring is None:
        return
    X, y = training.rows.X, training.rows.y
    model = DummyClassifier() if training.task == "classification" else DummyRegressor()
    try:
        get_scorer(scoring)(model.fit(X, y), X, y)
    except (ValueError, TypeError, AttributeError) as error:
        raise InvalidInputError(f"--scoring {scoring} does not judge this {training.task}: {error}") from error


def _cell(value: Any) -> Any:
    return value if isinstance(value, int | float | str | None) else str(value)


def _check_scoring(scoring: str | None) -> None:
    from sklearn.metrics import get_scorer_names

    if scoring is not None and scoring not in get_scorer_names():
        raise typer.BadParameter(
            f"must be a scorer of scikit-learn, such as accuracy, got {scoring!r}", param_hint="--scoring"
        )
