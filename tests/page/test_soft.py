"""Soft trees and forests have the page of the hard one that they harden to, which says how far both agree."""

import numpy as np
import pytest

from jaxtree import SoftForestClassifier, SoftTreeClassifier, SoftTreeRegressor, load, to_html
from jaxtree.errors import InvalidInputError
from jaxtree.page.model import page_model
from jaxtree.page.scores import soft_facts
from tests.page.pages import table

X, Y = table()
X_VAL, Y_VAL = table(seed=1)
NUMBERS = np.nan_to_num(X["tall"].to_numpy()) ** 2
SHORT = {"depth": 2, "max_epochs": 30, "random_state": 0}


def facts(soft, *given):
    return {fact.name: fact.value for fact in soft_facts(soft, page_model(soft.harden()), given)}


@pytest.mark.parametrize("gate", ["axis", "oblique"])
def test_the_head_says_how_right_both_are_and_how_often_they_agree(gate):
    soft = SoftTreeClassifier(gate=gate, **SHORT).fit(X, Y)
    page, hard = to_html(soft, X, Y, X_val=X_VAL, y_val=Y_VAL), soft.harden()
    same = np.mean(soft.predict(X_VAL) == hard.predict(X_VAL))
    found = facts(soft, ("training", X, Y, {}), ("validation", X_VAL, Y_VAL, {}))
    assert found["agreement, validation rows"] == f"{same:.1%}"
    assert found["agreement, training rows"] == f"{hard.agreement_:.1%}"
    assert found["soft, validation accuracy"] == f"{soft.score(X_VAL, Y_VAL):.4f}"
    for name, value in found.items():
        assert f"<dt>{name}</dt><dd>{value}</dd>" in page
    assert f"<dt>validation accuracy</dt><dd>{hard.score(X_VAL, Y_VAL):.4f}</dd>" in page


def test_weights_count_and_numbers_agree_by_their_variance():
    soft, weight = SoftTreeRegressor(gate="axis", **SHORT).fit(X, NUMBERS), np.arange(300) % 2
    ours, theirs = (own.predict(X)[weight > 0] for own in (soft, soft.harden()))
    found = facts(soft, ("training", X, NUMBERS, {"sample_weight": weight}))
    share = 1 - np.mean((ours - theirs) ** 2) / ours.var()
    assert found["agreement, training rows"] == f"{share:.1%}"
    assert "agreement, training rows" not in facts(soft, ("training", None, None, {}))


def test_forests_have_a_page_and_what_has_no_hard_form_says_so(tmp_path):
    hard = {"gate": "hard", "depth": 2, "max_epochs": 5, "random_state": 0, "mixture": "by_leaf"}
    page = to_html(SoftForestClassifier(3, **hard).fit(X, Y), X, Y)
    assert "<dt>shown hardened</dt><dd>HardForestClassifier</dd>" in page and "agreement, training rows" in page
    soft = SoftTreeClassifier(**SHORT).fit(X, Y)
    soft.save(tmp_path / "soft.jaxtree")
    with pytest.raises(InvalidInputError, match="give harden"):
        to_html(load(tmp_path / "soft.jaxtree"), X, Y)
    with pytest.raises(InvalidInputError, match="oblique gates is not hardened"):
        to_html(SoftForestClassifier(3, gate="oblique", depth=2, max_epochs=5).fit(X, Y), X, Y)
