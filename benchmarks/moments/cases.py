"""The cases, with their sizes, contenders and aims."""

import dataclasses
import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from benchmarks.moments.contenders import OURS


class Aim(NamedTuple):
    """A bound of a figure of ours.

    Attributes:
        figure: The name of the figure.
        relation: `operator.le` or `operator.ge`.
        bound: The bound; in parts of the peer's figure where there is one.
        peer: The peer whose figure counts.
        is_difference: Whether the bound adds to the peer's figure.
    """

    figure: str
    relation: Callable[[Any, Any], Any]
    bound: float
    peer: str = ""
    is_difference: bool = False


@dataclasses.dataclass(frozen=True)
class Case:
    """A simulation, and who fits it.

    Attributes:
        model: The kind of model, of `contenders.CONTENDERS`.
        simulation: The name of the simulation.
        rows: The number of training rows.
        columns: The number of columns.
        contenders: Parameters by contender; a name may go on after a comma.
        simulated: Parameters of the simulation.
        has_nuisances: Whether contenders are given the same expectations of outcome, treatment and instrument.
        repeats: How many tables are drawn unless the command says so.
        aims: Bounds of our figures.
        is_saved: Whether models are written to files.
    """

    model: str
    simulation: str
    rows: int
    columns: int
    contenders: Mapping[str, Mapping[str, Any]]
    simulated: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    has_nuisances: bool = False
    repeats: int = 1
    aims: tuple[Aim, ...] = ()
    is_saved: bool = False


NUISANCE_TREES = 500
_LE, _GE = operator.le, operator.ge
_COVERED = {6: {2000: 0.87, 4000: 0.91, 8000: 0.91}, 12: {2000: 0.75, 4000: 0.82, 8000: 0.89}}
"""The coverage of grf's instrumental forests, by columns and rows (`experiments/aos19` in its repository)."""
_STRESS = {1000: 0.38, 2000: 0.26}
"""The mean squared error of grf's instrumental forests in the table of confounded, additive effects."""


def _trees(number: int, **others: Any) -> dict[str, Any]:
    return {"n_estimators": number} | others


def _coverage(rows: int, columns: int, covered: float) -> Case:
    return Case(
        "instrumental",
        "instrumental",
        rows,
        columns,
        {OURS: _trees(4000, bag_size=10), "econml": _trees(4000, subforest_size=10)},
        has_nuisances=True,
        repeats=5,
        aims=(Aim("coverage", _GE, covered), Aim("coverage", _LE, 0.97)),
    )


CASES: dict[str, Case] = {
    "aw2": Case(
        "causal",
        "aw2",
        1600,
        10,
        {
            OURS: _trees(500),
            "econml": _trees(500),
            "econml, het": _trees(500, criterion="het"),
            "causalml": _trees(500),
        },
        has_nuisances=True,
        repeats=5,
        aims=(Aim("mse", _LE, 1.05, "econml"), Aim("coverage", _GE, 0.85)),
    ),
    "iv": Case(
        "instrumental",
        "instrumental",
        2000,
        6,
        {OURS: _trees(500), "econml": _trees(500), "econml, het": _trees(500, criterion="het")},
        has_nuisances=True,
        repeats=5,
        aims=(Aim("mse", _LE, 1.05, "econml"),),
    ),
    **{
        f"coverage-{columns}-{rows}": _coverage(rows, columns, covered)
        for columns, own in _COVERED.items()
        for rows, covered in own.items()
    },
    **{
        f"stress-{rows}": Case(
            "instrumental",
            "instrumental",
            rows,
            10,
            {OURS: _trees(2000), "econml": _trees(2000)},
            simulated={"nuisance": 3.0},
            has_nuisances=True,
            repeats=10,
            aims=(Aim("mse", _LE, bound),),
        )
        for rows, bound in _STRESS.items()
    },
    "causal-10k": Case(
        "causal", "observed", 10_000, 20, {OURS: _trees(100), "econml": _trees(100)}, has_nuisances=True
    ),
    "causal-100k": Case(
        "causal",
        "observed",
        100_000,
        20,
        {OURS: _trees(500), "econml, 8 trees": _trees(8)},
        aims=(Aim("cpu", _LE, 60.0), Aim("peak_mib", _LE, 4096.0)),
        is_saved=True,
    ),
    "causal-1m": Case("causal", "coin", 1_000_000, 25, {OURS: _trees(500)}, aims=(Aim("wall", _LE, 900.0),)),
    "quantiles-20k": Case(
        "quantile",
        "quantiles",
        20_000,
        20,
        {
            OURS: _trees(300),
            "quantile-forest": _trees(300),
            "quantile-forest, all rows": _trees(300, max_samples_leaf=None),
        },
        aims=(Aim("pinball", _LE, 1.01, "quantile-forest"),),
        is_saved=True,
    ),
    "quantiles-100k": Case(
        "quantile",
        "quantiles",
        100_000,
        20,
        {OURS: _trees(300), "quantile-forest": _trees(300)},
        aims=(
            Aim("wall", _LE, 60.0),
            Aim("file_mib", _LE, 200.0),
            Aim("pinball", _LE, 1.01, "quantile-forest"),
        ),
        is_saved=True,
    ),
    "survival-10k": Case(
        "survival",
        "survival",
        10_000,
        27,
        {
            OURS: _trees(100),
            "scikit-survival": _trees(100),
            "scikit-survival, low memory": _trees(100, low_memory=True),
        },
        repeats=3,
        aims=(Aim("concordance", _GE, -0.003, "scikit-survival", is_difference=True),),
        is_saved=True,
    ),
    "survival-50k": Case(
        "survival",
        "survival",
        50_000,
        27,
        {OURS: _trees(100)},
        aims=(Aim("wall", _LE, 20.0),),
        is_saved=True,
    ),
    "policy-10k": Case(
        "policy",
        "rewards",
        10_000,
        10,
        {OURS: {"max_depth": 2}, "scikit-learn": _trees(100)},
        aims=(Aim("wall", _LE, 1.0, "scikit-learn"),),
    ),
}
