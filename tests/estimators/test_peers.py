"""Parameters of other libraries: an estimator that is given one names its own."""

import inspect

import pytest

import jaxtree
from jaxtree.errors import InvalidInputError, InvalidTypeError
from jaxtree.estimators.common.peers import ELSEWHERE, LIBRARIES, NAMES

ESTIMATORS = [
    jaxtree.DecisionTreeClassifier,
    jaxtree.C45Classifier,
    jaxtree.RandomForestRegressor,
    jaxtree.GradientBoostingClassifier,
    jaxtree.GradientBoostingRegressor,
    jaxtree.GradientBoostingDistribution,
    jaxtree.GradientBoostingRanker,
    jaxtree.OptimalTreeClassifier,
    jaxtree.SoftTreeClassifier,
]


def parameters_of(kind):
    return list(inspect.signature(kind).parameters)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_every_name_of_a_peer_leads_to_ours(kind):
    own = parameters_of(kind)
    ours_of = {}
    for ours, of_libraries in NAMES.items():
        for name in {name for names in of_libraries for name in names}:
            ours_of.setdefault(name, []).extend([ours] * (ours in own))
    for name, ours in ours_of.items():
        if ours and name not in own:
            with pytest.raises(
                InvalidTypeError, match=f"{kind.__name__} has no parameter '{name}': it is {ours[0]} here"
            ):
                kind(**{name: 1})


@pytest.mark.parametrize(
    ("kind", "name", "hint"),
    [
        (jaxtree.GradientBoostingClassifier, "l2_regularization", ": it is reg_lambda here"),
        (jaxtree.GradientBoostingClassifier, "objective", ": of classes the loss follows"),
        (jaxtree.GradientBoostingRegressor, "objective", ": it is loss here"),
        (jaxtree.GradientBoostingDistribution, "objective", ": it is distribution here"),
        (jaxtree.GradientBoostingClassifier, "n_jobs", ": all cores are used"),
        (jaxtree.DecisionTreeClassifier, "max_deph", r": do you mean max_depth\?"),
        (jaxtree.DecisionTreeClassifier, "colour", "; it has categorical_features, .*, ties, splitter"),
    ],
)
def test_hints(kind, name, hint):
    with pytest.raises(InvalidTypeError, match=f"has no parameter '{name}'{hint}"):
        kind(**{name: 1})
    with pytest.raises(InvalidInputError, match=rf"Invalid parameter '{name}' for estimator {kind.__name__}\(\){hint}"):
        kind().set_params(**{name: 1})


def test_the_table_names_parameters_that_are_there():
    own = {name for kind in ESTIMATORS for name in parameters_of(kind)}
    assert NAMES.keys() <= own
    assert all(len(of_libraries) == len(LIBRARIES) for of_libraries in NAMES.values())
    assert not {name for name in ELSEWHERE if name in parameters_of(jaxtree.GradientBoostingClassifier)}


def test_classes_of_the_user_s_own_take_what_their_constructors_take():
    class Noted(jaxtree.DecisionTreeClassifier):
        def __init__(self, note="", **parameters):
            super().__init__(**parameters)
            self.note = note

    assert Noted(note="x", max_depth=2).note == "x"
    with pytest.raises(TypeError, match="num_leaves"):
        Noted(num_leaves=2)
