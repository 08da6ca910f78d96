"""Charts of searches and fits: settings, parameters, shares of an ensemble, losses by rounds, accuracy by leaves."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator, NullFormatter, ScalarFormatter
from sklearn.utils.validation import check_is_fitted

from jaxtree.errors import InvalidInputError
from jaxtree.export.answers import shortened_name
from jaxtree.export.models import best_of_search
from jaxtree.export.pictures import CLASS_COLOURS, colour_of_class
from jaxtree.figures.learning import LearningCurves, learning_of
from jaxtree.figures.searches import Scale, is_number, mean_curve, scale_of, scales_of_space
from jaxtree.plot import style
from jaxtree.table.numerals import exact_decimal
from jaxtree.table.words import value_in_words


def plot_search_curves(search: Any, *, ax: Axes | None = None) -> Axes:
    """Draws the loss on the test rows after every round, of every setting the mean over its folds.

    The curve of the best setting is orange. A curve ends where the first of its folds has stopped; those that were
    stopped by successive halving end in a dot.

    Args:
        search: A fitted `SearchCV`.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: It is no such search, or all its models were fitted by themselves, without curves.
    """
    _check(search, "learning_curves_")
    curves = [mean_curve(folds) for folds in search.learning_curves_]
    if not any(map(len, curves)):
        raise InvalidInputError("the search has no curves: its models were fitted by themselves")
    best = getattr(search, "best_index_", None)
    rung = search.cv_results_.get("iter", np.zeros(len(curves), int))
    ax = style.axes_to_draw_in(ax)
    for number, curve in enumerate(curves):
        if number != best:
            _draw_curve(ax, curve, rung[number] < rung.max(), color=style.blue(), linewidth=0.8, alpha=0.45)
    if best is not None and len(curves[best]):
        _draw_curve(ax, curves[best], False, color=style.ORANGE, linewidth=2.2, label="best setting", zorder=3)
        style.draw_legend(ax)
    ax.set(xlabel="round", ylabel="mean loss on the test rows")
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.calm(ax)
    return ax


def _draw_curve(ax: Axes, curve: Float[np.ndarray, " round"], was_stopped: bool, **how: Any) -> None:
    rounds = np.arange(1, len(curve) + 1)
    ax.plot(rounds, curve, marker="o", markersize=3, markevery=[-1] if was_stopped and len(curve) else [], **how)


def plot_parameter_importances(search: Any, metric: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draws how much each parameter of a search counts, the most important one on top.

    By `parameter_importances` of the search: what a forest that predicts scores from settings loses when the values of
    a parameter are shuffled, with standard deviations as lines.

    Args:
        search: A fitted `SearchCV`.
        metric: The name of the metric; the one that chose if not given.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: It is no such search, or it has too few settings with scores.
    """
    _check(search, "parameter_importances")
    own = search.parameter_importances(metric)
    order = np.argsort(-own.mean, kind="stable")
    labels = [own.names[number] for number in order]
    ax = style.draw_bars(ax, labels, own.mean[order], own.std[order])
    style.name_axes(ax, "loss of R² when the parameter is shuffled")
    return ax


def plot_ensemble_weights(search: Any, *, ax: Axes | None = None) -> Axes:
    """Draws the share of every setting in the ensemble of a search, the largest on top, and what settings differ in.

    Args:
        search: A `SearchCV` that was fitted with `refit="ensemble"`.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: It has no ensemble.
    """
    _check(search, "ensemble_weights_")
    weights = np.asarray(search.ensemble_weights_)
    order = np.argsort(-weights, kind="stable")
    order = order[weights[order] > 0]
    settings = [search.cv_results_["params"][number] for number in order]
    labels = [
        f"{number}: {_words(own, settings)}".removesuffix(": ") for number, own in zip(order, settings, strict=True)
    ]
    ax = style.draw_bars(ax, labels, weights[order])
    ax.set_xlabel("share in the ensemble")
    return ax


def _words(own: dict[str, Any], settings: list[dict[str, Any]]) -> str:
    """The parameters of a setting in which some of them differ."""
    differ = [name for name in own if len({repr(one.get(name)) for one in settings}) > 1]
    return ", ".join(f"{name}={_short(own[name])}" for name in differ)


def _short(value: Any) -> str:
    return exact_decimal(value) if isinstance(value, float) else str(value)


def _check(search: Any, attribute: str) -> None:
    """Raises an error unless a search has what is drawn."""
    check_is_fitted(search, "cv_results_")
    if not hasattr(search, attribute):
        name = type(search).__name__
        raise InvalidInputError(f"what is drawn must be {_WANTED[attribute]}, got {name} without {attribute}")


_WANTED = {
    "learning_curves_": "a fitted SearchCV over boosted trees",
    "parameter_importances": "a fitted SearchCV",
    "ensemble_weights_": 'a SearchCV with refit="ensemble"',
}
"""The searches that have what is drawn."""


class _Scores(NamedTuple):
    """The settings that have a score and the parameter.

    Attributes:
        values: The values of the parameter.
        mean: The mean score over the folds.
        scale: The scale on which the values stand.
        is_early: Whether successive halving has measured the setting on less than the others.
        best: The place of the best setting.
        name: The name of the score.
    """

    values: list[Any]
    scale: Scale
    mean: Float[np.ndarray, " setting"]
    is_early: Bool[np.ndarray, " setting"]
    best: int
    name: str


def plot_search_scatter(
    search: Any, parameter: str | None = None, *, metric: str | None = None, ax: Axes | None = None
) -> Axes:
    """Draws the mean test score of every setting of a search against the value of one parameter.

    The best setting is orange. Numbers stand on an axis, which is logarithmic (above 0) if the space draws them so
    or, where it does not say, if they differ much; of words, truth values and other objects each has a line. Settings
    that successive halving has measured on less are pale.

    Args:
        search: A fitted search with `cv_results_`; any of scikit-learn's kind.
        parameter: The name of the parameter; the one of most different values if not given.
        metric: The name of the metric of a search by several; the one that chose if not given.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is no such parameter or metric, or no setting with a score.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import DecisionTreeClassifier, SearchCV
        >>> X, y = load_iris(return_X_y=True)
        >>> space = {"ccp_alpha": [0.001, 0.01, 0.1], "max_depth": [2, 3]}
        >>> ax = plot_search_scatter(SearchCV(DecisionTreeClassifier(), space, cv=3).fit(X, y), "ccp_alpha")
        >>> ax.get_xlabel(), ax.get_xscale(), len(ax.collections[1].get_offsets())
        ('ccp_alpha', 'log', 6)
    """
    check_is_fitted(search, "cv_results_")
    found, parameter = _scores(search, parameter, metric)
    scale = found.scale
    if scale != Scale.WORDS:
        ax = style.axes_to_draw_in(ax)
        _draw_numbers(ax, found, scale)
        style.name_axes(ax, parameter, found.name)
    else:
        ax = _draw_words(ax, found)
        style.name_axes(ax, found.name, parameter)
    style.draw_legend(ax, frameon=True, framealpha=0.85)
    return ax


def _scores(search: Any, parameter: str | None, metric: str | None) -> tuple[_Scores, str]:
    """The scores, and the name of the parameter."""
    results = search.cv_results_
    metrics = [name.removeprefix("mean_test_") for name in results if name.startswith("mean_test_")]
    chosen = search.refit if isinstance(search.refit, str) and search.refit in metrics else metrics[0]
    metric = chosen if metric is None else metric
    if metric not in metrics:
        raise InvalidInputError(f"metric must be one of {', '.join(metrics)}, got {metric!r}")
    settings = results["params"]
    names = list(dict.fromkeys(name for own in settings for name in own))
    if parameter is None and names:
        number = [len({repr(own.get(name)) for own in settings}) for name in names]
        parameter = names[int(np.argmax(number))]
    if parameter is None or parameter not in names:
        raise InvalidInputError(f"parameter must be one of {', '.join(names)}, got {parameter!r}")
    mean = np.asarray(results[f"mean_test_{metric}"], np.float64)
    kept: Int[np.ndarray, " kept"] = np.array(
        [place for place, own in enumerate(settings) if parameter in own and np.isfinite(mean[place])], int
    )
    if not kept.size:
        raise InvalidInputError(f"the search has no setting of {parameter} with a score")
    rung = np.asarray(results.get("iter", np.zeros(len(settings), int)))
    best = getattr(search, "best_index_", int(kept[mean[kept].argmax()])) if metric == chosen else -1
    places = np.flatnonzero(kept == best)
    own = places[0] if places.size else int(np.where(rung[kept] == rung.max(), mean[kept], -np.inf).argmax())
    values = [settings[place][parameter] for place in kept.tolist()]
    name = "mean test score" if metric == "score" else f"mean test {metric}"
    space = getattr(search, "param_grid", None) or getattr(search, "param_distributions", None) or {}
    scale = scale_of(values, scales_of_space(space).get(parameter))
    return _Scores(values, scale, mean[kept], rung[kept] < rung.max(), int(own), name), parameter


def _draw_numbers(ax: Axes, found: _Scores, scale: Scale) -> None:
    values = np.array(found.values, np.float64)
    _draw_points(ax, values, found.mean, found)
    style.calm(ax)
    if scale == Scale.LOGARITHMIC:
        ax.set_xscale("log")
    elif scale == Scale.WITH_ZERO:
        ax.set_xscale("symlog", linthresh=values[values > 0].min())
    style.round_ticks(ax, "both" if scale == Scale.LINEAR else "y")


def _draw_words(ax: Axes | None, found: _Scores) -> Axes:
    words = [shortened_name(value_in_words(value) if is_number(value) else str(value)) for value in found.values]
    numbers = {word: value if is_number(value) else np.inf for word, value in zip(words, found.values, strict=True)}
    order = sorted(numbers, key=lambda word: (numbers[word], word))
    row = {word: place for place, word in enumerate(order)}
    ax = style.axes_to_draw_in(ax, (6.0, style.height_of_rows(order, 0.36, 1.3)))
    aside = 0.5 * ((np.arange(len(words)) * 0.618) % 1 - 0.5)
    _draw_points(ax, found.mean, np.array([row[word] for word in words]) + aside, found)
    style.name_rows(ax, order)
    ax.grid(visible=True, axis="y")
    style.round_ticks(ax, "x")
    return ax


def _draw_points(ax: Axes, x: Float[np.ndarray, " setting"], y: Float[np.ndarray, " setting"], found: _Scores) -> None:
    for alpha, shown in ((0.25, found.is_early), (0.75, ~found.is_early)):
        ax.scatter(x[shown], y[shown], s=22, color=style.blue(), alpha=alpha, linewidth=0, zorder=2)
    mark = {
        "s": 60,
        "color": style.ORANGE,
        "edgecolor": "white",
        "linewidth": 0.8,
        "zorder": 3,
        "label": "best setting",
    }
    ax.scatter([x[found.best]], [y[found.best]], **mark)


MARKS = "osD^vP"


def plot_accuracy_by_leaves(
    trees: Mapping[str, Sequence[Any]], X: Any, y: Any, sample_weight: Any = None, *, ax: Axes | None = None
) -> Axes:
    """Draws the accuracy of trees against their leaves, a line for every method that made them.

    For trees of numbers it is the coefficient of determination. If a method made several trees of equally many leaves,
    the first is drawn.

    Args:
        trees: Fitted trees by the names of the methods, as `jaxtree.trees_by_size` returns them.
        X: Rows to score the trees on, best such as were not in the fit.
        y: Their classes or numbers.
        sample_weight: Their weights.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: There is no tree.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import trees_by_size
        >>> X, y = load_iris(return_X_y=True)
        >>> trees = trees_by_size(X[::2], y[::2], methods=["greedy", "optimal"], sizes=[2, 3], max_depth=2)
        >>> ax = plot_accuracy_by_leaves(trees, X[1::2], y[1::2])
        >>> [line.get_xdata().tolist() for line in ax.lines]
        [[2, 3], [2, 3]]
    """
    if not any(len(own) for own in trees.values()):
        raise InvalidInputError("trees must have a fitted tree at least, got none")
    ax = style.axes_to_draw_in(ax)
    drawn: set[int] = set()
    for place, (method, own) in enumerate(trees.items()):
        by_leaves = {tree.get_n_leaves(): tree for tree in reversed(own)}
        leaves = sorted(by_leaves)
        drawn |= set(leaves)
        ax.plot(
            leaves,
            [by_leaves[number].score(X, y, sample_weight) for number in leaves],
            marker=MARKS[place % len(MARKS)],
            color=CLASS_COLOURS[place % len(CLASS_COLOURS)],
            linewidth=1.6,
            markersize=5,
            label=style.legend_name(method),
        )
    ax.set_xscale("log", base=2)
    ax.set_xticks(_sparse(sorted(drawn)))
    ax.xaxis.set_major_formatter(ScalarFormatter())
    ax.xaxis.set_minor_formatter(NullFormatter())
    has_classes = any(hasattr(tree, "classes_") for own in trees.values() for tree in own)
    ax.set(xlabel="leaves", ylabel="accuracy" if has_classes else "R²")
    style.draw_legend(ax)
    style.calm(ax)
    return ax


def _sparse(numbers: Sequence[int]) -> list[int]:
    """Numbers of which each is a fifth larger than the last, so that their marks do not touch."""
    kept: list[int] = []
    for number in numbers:
        if not kept or np.log2(number / kept[-1]) > 0.26:
            kept.append(number)
    return kept


def plot_learning_curve(estimator: Any, metric: str | None = None, *, ax: Axes | None = None) -> Axes:
    """Draws the losses of a soft tree or forest after every epoch, or what was measured of boosted trees every round.

    A dotted line stands at the epoch whose parameters were kept, or at the round up to which early stopping kept the
    trees, of folds in the mean; without early stopping, at the `best_iteration_`.

    Args:
        estimator: A fitted soft estimator; or boosted trees fitted with `eval_set=` or `early_stopping=True`.
        metric: Which of the measured metrics of boosted trees; the first if not given.
        ax: Where to draw; a new figure if not given.

    Returns:
        The axes.

    Raises:
        InvalidInputError: Nothing was measured in the fit, or not by this metric.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> from jaxtree import GradientBoostingClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> data = {"training": (X[::2], y[::2]), "test": (X[1::2], y[1::2])}
        >>> model = GradientBoostingClassifier(12).fit(X[::2], y[::2], eval_set=data)
        >>> ax = plot_learning_curve(model)
        >>> [line.get_label() for line in ax.lines][:2], len(ax.lines[0].get_xdata())
        (['training', 'test'], 12)
    """
    estimator = best_of_search(estimator)
    check_is_fitted(estimator)
    found = learning_of(estimator)
    metrics = list(found.curves)
    name = metrics[0] if metric is None else metric
    if name not in metrics:
        raise InvalidInputError(f"metric must be one of {', '.join(metrics)}, got {metric!r}")
    return _draw(ax, found.curves[name], (found.mark, _in_words(found)), (found.step, name))


def _in_words(found: LearningCurves) -> str:
    """The words for the mark."""
    if found.step == "epoch":
        return "kept"
    words = {"folds": "kept, {} rounds a fold on average", "kept": "kept, {} rounds", "best": "best, round {}"}
    return words[found.why].format(found.mark)


def _draw(ax: Axes | None, curves: dict[str, Any], mark: tuple[int, str], names: tuple[str, str]) -> Axes:
    ax = style.axes_to_draw_in(ax)
    for place, (name, curve) in enumerate(curves.items()):
        rounds = range(1, len(curve) + 1)
        ax.plot(rounds, curve, color=colour_of_class(place), linewidth=1.8, label=style.legend_name(name))
    ax.axvline(mark[0], color=style.grey(), linestyle=":", linewidth=1.4, label=mark[1])
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    style.calm(ax)
    style.name_axes(ax, *names)
    style.draw_legend(ax)
    return ax
