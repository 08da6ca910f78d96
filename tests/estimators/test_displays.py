"""Displays of estimators and results in notebooks, and names in tab completion."""

import inspect
import pathlib
import pickle
import re
import stat

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.utils import estimator_html_repr

import jaxtree
from jaxtree.boosting import huber
from jaxtree.estimators.common.display import METHODS, Shown, facts_of, is_for_users
from jaxtree.explain import shap_interaction_values, shap_values
from jaxtree.page.model import page_model
from jaxtree.page.page import summary_of
from tests.page.pages import HOSTILE, elements_of

PAGES = pathlib.Path(__file__).parents[2] / "notebooks" / "how_do_i"
X = pd.DataFrame({HOSTILE: np.arange(60.0) % 7, "b": np.arange(60.0) % 2})
Y = np.where(np.arange(60) % 2, "yes", HOSTILE)
BOOSTED = jaxtree.GradientBoostingClassifier(3, min_samples_leaf=2)
ESTIMATORS = {
    "forest": jaxtree.RandomForestClassifier(3, random_state=0),
    "boosted": BOOSTED,
    "soft": jaxtree.SoftTreeClassifier(max_epochs=2, depth=1),
    "search": jaxtree.SearchCV(jaxtree.DecisionTreeClassifier(), {"max_depth": [1, 2]}, cv=2),
    "boost search": jaxtree.SearchCV(BOOSTED, {"max_depth": [1, 2]}, cv=2),
}


@pytest.fixture(scope="module")
def fitted():
    return {name: clone(estimator).fit(X, Y) for name, estimator in ESTIMATORS.items()}


def html_of(shown):
    bundle = shown._repr_mimebundle_()["text/html"] if hasattr(shown, "_repr_mimebundle_") else shown._repr_html_()
    return bundle[bundle.rfind("</style>") + 8 :] if "</style>" in bundle else bundle


def facts(estimator):
    return dict(facts_of(estimator))


GROUPS = {"group": np.repeat(np.arange(12), 5)}
BY_LOSS = [
    (jaxtree.GradientBoostingClassifier(1), np.arange(60) % 2, {}, "log_loss"),
    (jaxtree.GradientBoostingClassifier(1), np.arange(60) % 4, {}, "log_loss"),
    (jaxtree.ExplainableBoostingClassifier(max_rounds=1, outer_bags=1), np.arange(60) % 3, {}, "log_loss"),
    (jaxtree.GradientBoostingRegressor(1), np.arange(60.0), {}, "squared_error"),
    (jaxtree.GradientBoostingRegressor(1), np.stack([np.arange(60.0)] * 2, axis=1), {}, "squared_error"),
    *(
        (jaxtree.GradientBoostingRegressor(1, loss=loss), 1 + np.arange(60.0), {}, loss)
        for loss in ("absolute_error", "huber", "pseudo_huber", "poisson", "gamma", "tweedie")
    ),
    (jaxtree.GradientBoostingRegressor(1, loss="cox"), np.arange(60.0), {"event": np.ones(60)}, "cox"),
    (jaxtree.GradientBoostingRegressor(1, loss=huber(2.5)), np.arange(60.0), {}, "huber(delta=2.5)"),
    (jaxtree.ExplainableBoostingRegressor(max_rounds=1, outer_bags=1, loss="huber"), np.arange(60.0), {}, "huber"),
    (jaxtree.GradientBoostingDistribution(1, distribution="laplace"), np.arange(60.0), {}, "laplace"),
    (jaxtree.GradientBoostingRanker(1, loss="pairwise"), np.arange(60) % 2, GROUPS, "pairwise"),
]


@pytest.mark.parametrize(("estimator", "y", "extras", "loss"), BY_LOSS, ids=[loss for *_, loss in BY_LOSS])
def test_displays_and_pages_name_the_loss_as_the_user_did(estimator, y, extras, loss):
    model = clone(estimator).fit(X, y, **extras)
    assert {fact.name: fact.value for fact in summary_of(page_model(model), [], None)}["loss"] == loss
    assert facts(model).get("loss", loss) == loss
    if hasattr(model, "additive_"):
        assert model.flatten("b").cost_of_edits(X, y).loss == loss


def test_no_page_has_a_loss_as_the_engine_writes_it():
    model = clone(BOOSTED).fit(X, np.arange(60) % 3, eval_set=[(X, np.arange(60) % 3)])
    page = jaxtree.to_html(model, X, np.arange(60) % 3)
    assert "log_loss" in page and "softmax" not in page


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_fitted_estimator_is_shown_below_scikit_learn_s_diagram(name, fitted):
    own = fitted[name]
    shown = own._repr_mimebundle_()["text/html"]
    assert "sk-estimator" in shown and ">columns</span> <b>2</b>" in shown
    assert HOSTILE not in shown.split("</script>")[-1].split("most important")[-1]
    blank = clone(own)
    assert len(blank._repr_mimebundle_()["text/html"]) == len(estimator_html_repr(blank))
    with sklearn.config_context(display="text"):
        assert "text/html" not in own._repr_mimebundle_()


def test_facts_are_those_of_the_fit(fitted):
    assert facts(fitted["forest"])["trees"] == "3" and "most important" in facts(fitted["forest"])
    assert facts(fitted["boosted"])["rounds"] == "3" and "best" not in facts(fitted["boosted"])
    assert facts(fitted["soft"])["epochs"] == "2" and facts(fitted["soft"])["kept"] == "that after 2"
    search = fitted["search"]
    assert facts(search)["settings"] == "2" and facts(search)["best score"] == f"{search.best_score_:.4g}"
    assert facts(search)["best"] == f"max_depth={search.best_params_['max_depth']}"
    measured = clone(BOOSTED).fit(X, Y, eval_set=[(X, Y)])
    assert facts(measured)["best"] == f"{measured.best_score_:.4g} at round 3"
    assert facts(clone(BOOSTED)) == {}
    many = jaxtree.DecisionTreeClassifier().fit(np.arange(20.0)[:, None], np.arange(20))
    assert facts(many)["classes"] == "0, 1, 2, 3, 4 and 15 more"


@pytest.mark.slow
def test_a_tuning_shows_its_leaderboard():
    search = jaxtree.tune(X, Y, n_iter=1, cv=2, verbose=0)
    assert ">log_loss<" in html_of(search) and ">log_loss<" not in html_of(clone(search))


RESULTS = {
    "explanation": lambda fitted: jaxtree.explain_row(fitted["search"].best_estimator_, X.iloc[0]),
    "explanation of a score": lambda fitted: jaxtree.explain_row(fitted["boosted"], X.iloc[0]),
    "schema": lambda fitted: fitted["forest"].schema_,
    "dot": lambda fitted: jaxtree.to_graphviz(fitted["search"].best_estimator_),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_are_shown_with_their_words_escaped(name, fitted):
    shown = html_of(RESULTS[name](fitted))
    assert HOSTILE not in shown and "<script" not in shown and len(shown) < 8_000
    assert not {"script", "img"} & set(elements_of(shown).names)
    # Dark or light, the page's own colours are those of the text.
    assert not re.search(r"[^-]color:", shown)


def test_shapley_values_are_shown_by_their_mean_size(fitted):
    values = shap_values(fitted["boosted"], X)
    shown = values._repr_html_()
    size = np.abs(values.values).mean(axis=0)
    assert shown.index(f"column {size.argmax()}") < shown.index(f"column {size.argmin()}")
    assert f"{size.max():.4g}" in shown and ">60<" in shown
    many = values._replace(values=np.ones((3, 30, 2)), base=np.zeros(2))._repr_html_()
    assert "and 20 more" in many and many.count("mean size") == 2
    assert ">60<" in shap_interaction_values(fitted["boosted"], X)._repr_html_()


def test_a_schema_shows_ranges_and_categories():
    table = pd.DataFrame({"n": [0.5, 2.25, np.nan], "w": ["a", "b", "a"], "d": pd.date_range("2020-01-01", periods=3)})
    tree = jaxtree.DecisionTreeRegressor().fit(table.assign(empty=np.nan), [1.0, 2.0, 3.0])
    shown = tree.schema_._repr_html_()
    for words in ("0.5 to 2.25", "a, b", "2020-01-01 to 2020-01-03"):
        assert words in shown
    wide = jaxtree.DecisionTreeRegressor().fit(np.ones((3, 50)), [1.0, 2.0, 3.0])
    assert "and 30 more" in wide.schema_._repr_html_()


def test_a_graph_is_a_text_and_shows_a_picture(fitted, tmp_path, monkeypatch):
    dot = jaxtree.to_graphviz(fitted["search"].best_estimator_)
    assert isinstance(dot, str) and dot.startswith("digraph") and pickle.loads(pickle.dumps(dot)) == dot
    program = tmp_path / "dot"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "<details" in dot._repr_mimebundle_()["text/html"]
    program.write_text('#!/bin/sh\necho "<svg>$1</svg>"\n')
    program.chmod(program.stat().st_mode | stat.S_IEXEC)
    assert dot._repr_mimebundle_()["image/svg+xml"] == "<svg>-Tsvg</svg>\n"
    program.write_text("#!/bin/sh\nexit 1\n")
    assert "<details" in dot._repr_mimebundle_()["text/html"]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_completion_lists_what_users_call(name, fitted):
    own = fitted[name]
    listed = {word for word in dir(own) if not word.startswith("_")}
    assert not listed & {"check_parameters", "make_encoder", "set_fit_request", "get_booster", "booster_"}
    assert {"fit", "predict", "predict_proba", "score", "n_features_in_", "classes_"} <= listed
    assert set(own.get_params(deep=False)) <= listed


def kinds_shown():
    return [
        own for name in jaxtree.__all__ if inspect.isclass(own := getattr(jaxtree, name)) and issubclass(own, Shown)
    ]


def test_methods_of_users_are_there_and_those_of_the_pages_are_among_them():
    known = {word for kind in kinds_shown() for word in dir(kind) if not word.startswith("_")}
    assert known >= METHODS
    pages = "".join(page.read_text() for page in PAGES.glob("*.md"))
    inner = {
        word for word in known if not any(is_for_users(kind, word) for kind in kinds_shown() if hasattr(kind, word))
    }
    assert "make_encoder" in inner
    assert not {word for word in inner if re.search(rf"(model|tree|forest|search|estimator)\.{word}\(", pages)}


def test_a_class_of_the_user_s_own_shows_its_methods():
    class Mine(jaxtree.DecisionTreeClassifier):
        def count_words(self):
            return 0

    assert {"count_words", "predict", "max_depth", "get_params"} <= set(dir(Mine()))


def test_the_package_lists_public_names():
    assert set(dir(jaxtree)) == {*jaxtree.__all__, "__version__"} | {
        "boosting", "compilation", "criteria", "datasets", "doctor", "dropout", "effects", "errors", "explain",
        "functional", "growth", "metrics", "plot", "prune", "ray", "resampling", "serving", "soft",
    }  # fmt: skip


@pytest.mark.parametrize("room", ["boosting", "dropout", "explain", "growth", "plot", "prune", "resampling", "soft"])
def test_rooms_list_what_they_hand_on(room):
    module = getattr(jaxtree, room)
    listed = dir(module)
    assert listed and all(hasattr(module, name) for name in listed) and "lister" not in listed
    files = {file.stem for file in pathlib.Path(module.__file__).parent.glob("*.py")}
    modules = {name for name in listed if name in files and inspect.ismodule(getattr(module, name))}
    assert modules <= {"losses"}, modules  # a page of its own has them
