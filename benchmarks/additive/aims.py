"""The aims of our additive models, and whether a run reaches them."""

import operator
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from benchmarks.additive.cases import ADULT
from benchmarks.additive.contenders import OURS
from benchmarks.additive.report import compare, means, summarise
from benchmarks.additive.synthetic import LONG

FASTER = 1 / 20
"""Seconds of the wall, in parts of interpret's, at most."""
COMPARED = {
    "auc difference, mean": (operator.ge, -0.001),
    "auc difference, worst": (operator.ge, -0.005),
    "rmse ratio, mean": (operator.le, 1.01),
    "rmse ratio, worst": (operator.le, 1.03),
    "wall ratio of all": (operator.le, FASTER),
}
"""Figures of `summarise`."""
OF_ADULT = {"auc": (operator.ge, 0.9274), "log_loss": (operator.le, 0.2758)}
SECONDS_OF_FIRST = 3.0
SIGNS = {operator.ge: ">=", operator.le: "<="}


class Aim(NamedTuple):
    """A figure that must reach a bound.

    Attributes:
        what: The table, and the figure.
        value: The figure that was measured.
        relation: The relation of the value to the bound: `operator.le` or `operator.ge`.
        bound: The bound.
    """

    what: str
    value: float
    relation: Any
    bound: float

    @property
    def is_reached(self) -> bool:
        """Whether the figure is as it must be."""
        return self.relation(self.value, self.bound)

    def __str__(self) -> str:
        """A line that tells all."""
        verdict = "reached" if self.is_reached else "MISSED"
        return f"{verdict}: {self.what} {self.value:.5g}, must be {SIGNS[self.relation]} {self.bound:.4g}"


def aims_of(report: Mapping[str, Any]) -> Iterator[Aim]:
    """The aims of all that a run has measured of ours; what it has not is not told of."""
    tables = dict(report["tables"])
    adult = tables.pop(ADULT, {"contenders": {}})["contenders"]
    own = means(adult.get(OURS, {}))
    yield from (Aim(f"{ADULT}: {figure}", own[figure], *bound) for figure, bound in OF_ADULT.items() if own)
    if beside := compare(adult):
        yield Aim(f"{ADULT}: wall ratio", beside["wall ratio"], operator.le, FASTER)
    summary = summarise(tables)
    yield from (Aim(f"folds: {of}", summary[of], *bound) for of, bound in COMPARED.items() if of in summary)
    for name, contenders in report["first"].items():
        if "first" in (found := contenders.get(OURS, {})):
            yield Aim(f"{name}: seconds of the first fit", found["first"]["wall"], operator.le, SECONDS_OF_FIRST)
    for name, contenders in report["long"].items():
        if "wall" in (found := contenders.get(OURS, {})):
            yield Aim(f"{name}: seconds", found["wall"], operator.le, LONG[name].most_seconds)
            yield Aim(f"{name}: peak MiB", found["peak_mib"], operator.le, LONG[name].most_mib)
