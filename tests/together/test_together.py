"""Models and uses work together: every model with every use is compared with what it predicts, or refused in words.

`models.py` is the first table, `uses.py` the second; `outcomes.py` has the cells that are refused, and those that fail.
"""

import inspect

import pytest

import jaxtree
from jaxtree.errors import JaxtreeError
from tests.together.models import SPELLINGS, model
from tests.together.outcomes import FAILING, FAST, REFUSED, fault, refusal
from tests.together.rows import rows_beside
from tests.together.uses import USES

OF_OTHERS = {"multiclass-multioutput is not supported": ValueError, "has no attribute 'score'": AttributeError}
"""The refusals that are scikit-learn's, and Python's."""


def cells():
    """All pairs; those of a model whose uses do what those of a fast one do are slow."""
    for name in SPELLINGS:
        for use in USES:
            wrong = fault(name, use)
            marks = [] if name in FAST else [pytest.mark.slow]
            marks += [] if wrong is None else [pytest.mark.xfail(reason=wrong, strict=True)]
            yield pytest.param(name, use, marks=marks, id=f"{name}-{use}")


@pytest.mark.parametrize("name, use", cells())
def test_a_use_says_what_the_model_predicts_or_why_it_cannot(name, use, tmp_path):
    own, reason = model(name), refusal(name, use)
    if reason is None:
        USES[use](own, rows_beside(own.X), tmp_path)
        return
    with pytest.raises(OF_OTHERS.get(reason, JaxtreeError), match=reason):
        USES[use](own, rows_beside(own.X), tmp_path)


def test_outcomes_are_of_models_and_uses_that_there_are():
    for own in (*REFUSED, *FAILING):
        assert set(own.models) <= set(SPELLINGS) and set(own.uses) <= set(USES), own
    assert set(FAST) <= set(SPELLINGS)


@pytest.mark.slow
def test_every_public_estimator_is_a_model_of_the_table():
    public = {own for own in map(jaxtree.__getattr__, jaxtree.__all__) if inspect.isclass(own)}
    estimators = {own for own in public if hasattr(own, "fit") and hasattr(own, "predict")}
    assert estimators - {type(model(name).estimator) for name in SPELLINGS} == set()
