"""Extras: what rows have beside targets and weights, such as offsets, groups and events, that a loss asks for."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from sklearn import get_config

from jaxtree.dataset.fields import EXTRAS, OTHER_NAMES
from jaxtree.dataset.sample import Sample
from jaxtree.errors import InvalidInputError
from jaxtree.losses.loss import BaseLoss
from jaxtree.metrics.scorers import takes_extras


class RoutesExtras:
    """Lets scikit-learn's routing of metadata hand extras to `fit` and `score` without being asked to."""

    loss: Any

    __metadata_request__fit = dict.fromkeys(EXTRAS, True)
    __metadata_request__score = dict.fromkeys(EXTRAS, True)

    def get_metadata_routing(self) -> Any:
        """Returns scikit-learn's requests, with what a loss of one's own asks for."""
        base: Any = super()
        requests = base.get_metadata_routing()
        for name in getattr(getattr(self, "loss", None), "needs", ()):
            for request in (requests.fit, requests.score):
                if name not in request.requests:
                    request.add_request(param=name, alias=True)
        return requests


def extras_of_scores(model: Any, scoring: Any, fit_params: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the extras among the arguments of a fit that its scores need, too.

    An estimator's own `score` takes all of them, and so do scorers of survival times and of order. Those of
    scikit-learn predict without offsets, as it has them do; and where its routing of metadata is on, that says what
    scorers get.

    Args:
        model: A boosted estimator.
        scoring: The `scoring` of a search.
        fit_params: Further arguments of `fit`.
    """
    if (scoring is not None and not takes_extras(scoring)) or get_config()["enable_metadata_routing"]:
        return {}
    needs = getattr(getattr(model, "loss", None), "needs", ())
    # Groups that the rows held out are divided by say nothing of a score.
    left_out = {"group"} if getattr(model, "divides_groups", False) and "group" not in needs else set()
    return {name: fit_params[name] for name in (*EXTRAS, *needs) if name in fit_params and name not in left_out}


def fit_fields(loss: BaseLoss, sample: Sample) -> Sample:
    """Returns rows with the fields that a loss asks for, after a check that it asks for all of them.

    A loss of intervals gets events as the upper ends that follow from them, infinite where there is no event.

    Raises:
        InvalidInputError: It does not know one.
    """
    known, fields = ("offset", *loss.needs), dict(sample.fields)
    if "event" in fields and "event" not in known and "upper" in known and "upper" not in fields:
        fields["upper"] = np.where(fields.pop("event") != 0, sample.target[0], np.inf)
    check_fields(loss, fields)
    return sample._replace(fields=fields)


def check_fields(loss: BaseLoss, names: Iterable[str]) -> None:
    """Raises InvalidInputError unless a loss asks for all these fields."""
    known = ("offset", *loss.needs)
    for name in names:
        if name not in known:
            way = f" ({OTHER_NAMES[name]})" if name in OTHER_NAMES else ""
            raise InvalidInputError(
                f"{loss} asks for no {name!r}{way}: fit takes {', '.join(map(repr, known))} of every row with it; "
                "a loss of one's own names in `needs` what it asks for"
            )
