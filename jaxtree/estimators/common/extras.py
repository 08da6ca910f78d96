"""Extras: what rows have beside targets and weights, such as offsets, groups and events, that a loss asks for."""

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from sklearn import get_config
from sklearn.base import clone

from jaxtree.dataset.arguments import EXTRAS
from jaxtree.dataset.sample import Sample
from jaxtree.errors import InvalidInputError
from jaxtree.estimators.common.peers import hint_for_argument
from jaxtree.losses.loss import BaseLoss
from jaxtree.losses.names import loss_of
from jaxtree.metrics.scorers import takes_extras, takes_weights


class RoutesExtras:
    """Takes extras in `fit` and `score`: checks their names, and lets scikit-learn's routing hand them on unasked."""

    divides_groups: bool = False
    """Whether `group=` says which rows are held out together, and is no part of a loss that does not ask for it."""

    _named_losses: ClassVar[Mapping[str, Callable[..., BaseLoss]]] = {}
    """The losses that have names."""

    __metadata_request__fit = dict.fromkeys(EXTRAS, True)
    __metadata_request__score = dict.fromkeys(EXTRAS, True)

    def get_metadata_routing(self) -> Any:
        """Returns scikit-learn's requests, with what a loss of one's own asks for."""
        base: Any = super()
        requests = base.get_metadata_routing()
        known = extras_of(self.given_loss)
        if "group" not in known:
            requests.score.add_request(param="group", alias=False)  # rows are held out by it, and say nothing of scores
        for name in known:
            for request in (requests.fit, requests.score):
                if name not in request.requests:
                    request.add_request(param=name, alias=True)
        return requests

    @property
    def given_loss(self) -> BaseLoss | None:
        """The loss that the parameters name or have; None where it follows from the target."""
        given = loss_parameter(self)[1]
        if given is None or (isinstance(given, str) and given not in self._named_losses):
            return None
        return loss_of(given, self._named_losses)

    @property
    def extras_of_fit(self) -> tuple[str, ...]:
        """The extras that `fit` takes."""
        known = extras_of(self.given_loss)
        return (*known, "group") if self.divides_groups and "group" not in known else known


def extras_of(loss: BaseLoss | None) -> tuple[str, ...]:
    """Returns the names of the extras that rows may have with a loss; events stand for upper ends of times."""
    needs = () if loss is None else loss.needs
    return ("offset", *needs, *(("event",) if "upper" in needs else ()))


def loss_parameter(estimator: Any) -> tuple[str, Any]:
    """Returns the parameter of the loss and its value, a name or a loss; "" and None where it follows from the target.

    >>> from jaxtree import GradientBoostingDistribution
    >>> loss_parameter(GradientBoostingDistribution())
    ('distribution', 'normal')
    """
    own = vars(estimator)
    return next(((name, own[name]) for name in ("loss", "distribution") if own.get(name) is not None), ("", None))


def loss_in_words(estimator: Any) -> str:
    """Returns the loss of an estimator as the user has named or made it; "log_loss" of classes without a parameter.

    >>> from jaxtree import GradientBoostingClassifier, GradientBoostingRegressor
    >>> from jaxtree.boosting import huber
    >>> [loss_in_words(GradientBoostingRegressor(loss=loss)) for loss in ("huber", huber(2.0))]
    ['huber', 'huber(delta=2.0)']
    >>> loss_in_words(GradientBoostingClassifier())
    'log_loss'
    """
    parameter, loss = loss_parameter(estimator)
    if not parameter:
        return "log_loss"
    return loss if isinstance(loss, str) else str(loss_of(loss))


def check_arguments(estimator: Any, method: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raises InvalidInputError for a name that is not known, with what a method takes in its place.

    Args:
        estimator: The estimator.
        method: The name of the method.
        names: The names of what it is given beside its own arguments.
        known: The arguments that it takes.
    """
    for name in names:
        if name in known:
            continue
        kind = type(estimator)
        own = [*arguments_of(getattr(kind, method))[0], *known]
        hint = hint_for_argument(name, own, list(inspect.signature(kind).parameters))
        parameter, loss = loss_parameter(estimator)
        in_words = loss.__name__ if inspect.isfunction(loss) else repr(loss)
        words = f" with {parameter}={in_words}" if parameter else ""
        of_rows = f"; of every row it takes {', '.join(known)}" if known else ""
        own_loss = "" if not parameter or isinstance(loss, str) else " (a loss of one's own lists these in `needs`)"
        raise InvalidInputError(f"{kind.__name__}.{method}{words} takes no {name!r}{hint}{of_rows}{own_loss}")


def arguments_of(method: Callable[..., Any]) -> tuple[list[str], bool]:
    """Returns the names of the arguments of a method beside its object, and whether it takes others by name, too.

    >>> arguments_of(RoutesExtras.get_metadata_routing)
    ([], False)
    """
    parameters = list(inspect.signature(method).parameters.values())[1:]
    takes_others = [own for own in parameters if own.kind is inspect.Parameter.VAR_KEYWORD]
    return [own.name for own in parameters if own not in takes_others], bool(takes_others)


def check_arguments_of_fits(estimator: Any, names: Iterable[str], settings: Sequence[Mapping[str, Any]] = ()) -> None:
    """Raises InvalidInputError for an argument that no fit takes, before the first of many fits.

    Args:
        estimator: The estimator that is fitted many times, of jaxtree or another library.
        names: The names of the arguments, beside those of rows and targets.
        settings: The parameters that it is fitted with; a loss among them has extras of its own.
    """
    own, takes_others = arguments_of(type(estimator).fit)
    known = getattr(estimator, "extras_of_fit", None)
    names = [name for name in names if name not in (*own, *(known or ()))]
    if not names or (takes_others and known is None):
        return
    taken = dict.fromkeys(known or ())
    for parameters in settings if takes_others else ():
        blank: Any = clone(estimator)
        given: Any = clone(dict(parameters), safe=False)
        taken |= dict.fromkeys(blank.set_params(**given).extras_of_fit)
    check_arguments(estimator, "fit", names, tuple(taken))


def extras_of_scores(model: Any, scoring: Any, fit_params: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the weights and extras among the arguments of a fit that its scores need, too.

    All scorers get the weights that take them. An estimator's own `score` takes all extras, and so do scorers of
    survival times and of order. scikit-learn's scorers predict without offsets, as it has them do; and where
    its routing of metadata is on, that says what scorers get.

    Args:
        model: A boosted estimator.
        scoring: The `scoring` of a search.
        fit_params: Further arguments of `fit`.
    """
    if not fit_params or get_config()["enable_metadata_routing"]:
        return {}
    weight = fit_params.get("sample_weight")
    weights = {"sample_weight": weight} if weight is not None and takes_weights(scoring) else {}
    if scoring is not None and not takes_extras(scoring):
        return weights
    loss = getattr(model, "given_loss", None)
    needs = () if loss is None else loss.needs
    # Groups that the rows held out are divided by say nothing of a score.
    left_out = {"group"} if getattr(model, "divides_groups", False) and "group" not in needs else set()
    known = (*EXTRAS, *needs, *getattr(model, "arguments_of_rows", ()))
    taken = [name for name in known if name in fit_params and name not in left_out]
    return weights | {name: fit_params[name] for name in taken}


def fit_fields(loss: BaseLoss, sample: Sample) -> Sample:
    """Returns rows with the fields that a loss asks for, after a check that it asks for all of them.

    A loss of intervals gets events as the upper ends that follow from them, infinite where there is no event.

    Raises:
        InvalidInputError: It does not know one.
    """
    known, fields = ("offset", *loss.needs), dict(sample.fields)
    if "event" in fields and "event" not in known and "upper" in known and "upper" not in fields:
        fields["upper"] = np.where(fields.pop("event") != 0, sample.target[0], np.inf)
    for name in fields:
        if name not in known:
            raise InvalidInputError(f"{loss} asks for no {name!r}: of every row it takes {', '.join(known)}")
    return sample._replace(fields=fields)
