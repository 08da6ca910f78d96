"""The work of `jaxtree compare`: algorithms by their names and parameters, and their scores on the same folds."""

import functools
import sys
from typing import Any

import typer

from jaxtree.cli import models, training
from jaxtree.cli.effects import OF_EFFECTS
from jaxtree.cli.session import ExtraOptions, TableSession
from jaxtree.resampling.compare import compare as compare_models

wrong_algorithm = functools.partial(typer.BadParameter, param_hint="--algorithm")


def algorithm_of(text: str) -> tuple[str, list[str]]:
    """Returns the name of an algorithm, and parameters as `--set` takes them.

    >>> algorithm_of("boosting:learning_rate=0.05,max_depth=3"), algorithm_of("cart")
    (('boosting', ['learning_rate=0.05', 'max_depth=3']), ('cart', []))
    """
    name, _, parameters = text.partition(":")
    known = [own for own in models.ALGORITHMS if own not in OF_EFFECTS]
    if name not in known:
        raise wrong_algorithm(f"must be one of {', '.join(known)}, perhaps with parameters, got {text!r}")
    return name, parameters.split(",") if parameters else []


def make_model(algorithm: str, settings: list[str], seed: int, extras: ExtraOptions, task: str) -> Any:
    """Makes an estimator for a task."""
    made = models.make_estimator(algorithm, task, seed=seed, settings=settings)
    training.set_loss_of_times(made, extras, any(own.startswith("loss=") for own in settings))
    return made


def compare_all(session: TableSession, made: dict[str, Any], rows: Any, **options: Any) -> Any:
    """Scores the models, with a bar in a terminal."""
    fields = dict(rows.fields)
    if "group" in fields and not any(text.partition(":")[0] == "ranking" for text in made):
        fields["groups"] = fields.pop("group")
    shows = not session.quiet and sys.stderr.isatty()
    return compare_models(made, rows.X, rows.y, rows.weight, verbose=int(shows), **options, **fields)
