"""Drawings in a browser: no label overlaps another or leaves its frame, and no page scrolls sideways."""

import pytest

from tests.page.pictures import CHOOSE, FAULTS, WIDTHS, looked_at, pages

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def drawn():
    """The pages."""
    return pages()


@pytest.mark.parametrize("kind", WIDTHS)
def test_no_label_overlaps_another(browser, drawn, kind):
    faults = {}
    for name, html in drawn.items():
        view = looked_at(browser, html, WIDTHS[kind])
        found = view.evaluate(FAULTS)
        for last in (False, True):
            view.evaluate(CHOOSE, last)
            found += view.evaluate(FAULTS)
        view.close()
        faults |= {name: found} if found else {}
    assert not faults


def test_the_count_sees_labels_that_overlap(browser):
    text = '<text x="5" y="20">one</text><text x="9" y="22">two</text><text x="95" y="60">three</text>'
    html = f'<section id="card"><svg class="plot" width="100" height="80">{text}</svg></section>'
    view = browser.new_page()
    view.set_content(html)
    assert [fault.split(": ")[1] for fault in view.evaluate(FAULTS)] == ["three leaves the frame", "one | two"]
    view.close()
