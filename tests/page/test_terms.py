"""The page of an additive model: its terms and rows are the model's own, and what a browser makes of them."""

import numpy as np
import pytest

from jaxtree import to_html
from jaxtree.errors import InvalidInputError
from tests.additive.explained import fitted, rows, table
from tests.page.pages import elements_of, told_by
from tests.page.pictures import FAULTS, WIDTHS, looked_at

KINDS = ("two", "numbers", "three", "one")


def truth(kind):
    y = table()[1]
    edges = {"two": [0.8], "three": [0.3, 1.2]}.get(kind)
    return y if edges is None else np.array(["low", "mid", "top"])[np.digitize(y, edges)]


def page_of(kind, model=None):
    return to_html(model or fitted(kind), rows(kind), truth(kind))


def scores_told(told, codes):
    """The sum that the script makes for a row."""
    total = np.array(told["intercept"])
    for term in told["terms"]:
        bins = [
            codes[column] if own is None else own[codes[column]]
            for column, own in zip(term["columns"], term["bins"], strict=True)
        ]
        place = bins[0] if len(bins) == 1 else bins[0] * len(term["labels"][1]) + bins[1]
        total = total + [values[place] for values in term["values"]]
    return total


@pytest.mark.parametrize("kind", KINDS)
def test_rows_add_up_to_their_scores(kind):
    told, scores = told_by(page_of(kind))["terms"], fitted(kind).raw_scores(rows(kind))
    (own,) = told["rows"]
    assert len(own["codes"]) == 200
    for number, codes in list(zip(own["number"], own["codes"], strict=True))[::20]:
        np.testing.assert_allclose(scores_told(told, codes), scores[number], atol=1e-6)
    assert np.isfinite(scores_told(told, told["typical"])).all()


@pytest.mark.parametrize("kind", KINDS)
def test_every_code_has_words_and_every_term_its_bins(kind):
    told, model = told_by(page_of(kind))["terms"], fitted(kind)
    assert [term["name"] for term in told["terms"]] == [term.name for term in model.explain_global()]
    for column, number in zip(told["columns"], model.additive_.schema.num_values.tolist(), strict=True):
        assert len(column["labels"]) == number + 1 and column["labels"][-1] == "missing"
    for term in told["terms"]:
        size = np.prod([len(own) for own in term["labels"]])
        assert all(len(values) == size for values in [*term["values"], term["weight"]])
        assert "edges" not in term or len(term["edges"]) == len(term["density"]) + 1 == len(term["at"]) + 1


def test_words_of_bins_are_short():
    labels = {own["name"]: own["labels"] for own in told_by(page_of("numbers"))["terms"]["columns"]}
    assert labels["job"] == ["at sea", "in a mill", "none at all", "missing"]
    assert labels["hours"][0].startswith("up to ") and labels["hours"][-2].startswith("above ")
    assert " to " in labels["hours"][5] and not any("<" in own or ">" in own for own in labels["hours"])


def test_edits_are_listed_and_models_without_rows_have_a_page():
    model = fitted("numbers").flatten("age", low=30).scale("job", 0.5)
    page = page_of("numbers", model)
    assert "age: level from 30" in page and "job: times 0.5" in page and "Changed by hand" in page
    bare = to_html(fitted("one"))
    assert told_by(bare)["terms"]["rows"] == [] and "Changed by hand" not in bare
    assert {"section", "script"} <= set(elements_of(bare).names)


def total(view):
    view.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return float(view.get_attribute("[data-total]", "data-total"))


def choose(view, name):
    view.evaluate(
        "(name) => [...document.querySelectorAll('[data-term]')].find(b => b.textContent === name).click()", name
    )


@pytest.mark.slow
def test_changing_a_row_changes_its_sum(browser):
    model, view = fitted("two"), looked_at(browser, page_of("two"), 1200)
    row = rows("two").iloc[[0]].copy()
    assert total(view) == pytest.approx(model.raw_scores(row)[0, 0], abs=1e-6)
    choose(view, "job")
    view.select_option("#terms select[data-column]", label="at sea")
    row["job"] = row["job"].cat.set_categories(row["job"].cat.categories).where([False], "at sea")
    assert total(view) == pytest.approx(model.raw_scores(row)[0, 0], abs=1e-6)
    choose(view, "hours")
    view.check("[data-missing]")
    row["hours"] = np.nan
    assert total(view) == pytest.approx(model.raw_scores(row)[0, 0], abs=1e-6)
    chance = float(view.get_attribute("[data-chance]", "data-chance"))
    assert chance == pytest.approx(model.predict_proba(row)[0, 1], abs=1e-6)
    view.select_option(".term-row", label="a typical row")
    assert total(view) != pytest.approx(model.raw_scores(row)[0, 0], abs=1e-3)
    view.close()


@pytest.mark.slow
def test_terms_are_searched_and_sorted(browser):
    view = looked_at(browser, page_of("numbers"), 1200)

    def names():
        return view.eval_on_selector_all("[data-term]", "all => all.map(b => b.textContent)")

    assert names() == [term.name for term in fitted("numbers").explain_global()]
    view.select_option(".term-order", "name")
    assert names() == sorted(names())
    view.fill(".term-search", "JOB")
    assert "job" in names() and all("job" in name for name in names()) and "of" in view.inner_text(".term-count")
    view.close()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_label_lies_on_another(browser, kind):
    page = page_of(kind)
    for width in WIDTHS.values():
        view = looked_at(browser, page, width)
        complaints = []
        view.on("pageerror", lambda error, complaints=complaints: complaints.append(str(error)))
        for term in fitted(kind).explain_global():
            choose(view, term.name)
            assert view.evaluate(FAULTS) == [], (width, term.name)
        assert not complaints
        view.close()


def bands_of_numbers():
    return fitted("numbers").bands(rows("numbers"), truth("numbers"), draws=20)


def test_a_page_with_bands_draws_them_and_says_of_which_they_are():
    model, bands = fitted("numbers"), bands_of_numbers()
    page = to_html(model, rows("numbers"), truth("numbers"), bands=bands)
    told, plain = told_by(page), told_by(page_of("numbers"))["terms"]
    assert (told["terms"]["ends"], plain["ends"]) == ("bands of level 0.9", "95% intervals")
    for sent, term in zip(told["terms"]["terms"], bands.explain_global(), strict=True):
        if not term.is_pair:
            np.testing.assert_allclose(sent["low"][0], term.band[0][:, 0], rtol=1e-2, atol=1e-3)
            np.testing.assert_allclose(sent["high"][0], term.band[1][:, 0], rtol=1e-2, atol=1e-3)
    importances = bands.importances()
    first = told["cards"]["term-importances"]["charts"][""]["items"][0]
    assert first["name"] == bands.term_names[int(importances.center.argmax())]
    np.testing.assert_allclose(first["dots"][0][0], importances.center.max(), rtol=1e-2)
    assert "by 20 draws of the residuals of 500 rows" in page and "Importance of the terms" in page
    with pytest.raises(InvalidInputError, match="bands must be those of the model that is shown"):
        to_html(fitted("two"), bands=bands)
