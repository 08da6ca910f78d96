"""Drawings in a browser: no label overlaps another or leaves its frame, and cards have the sizes that are stored."""

import json

import pytest

from tests.page.pictures import CHOOSE, FAULTS, SIZES, STORED, WIDTHS, looked_at, pages

pytestmark = pytest.mark.slow

TOLERANCE = 0.15
"""The share by which sizes may differ, as fonts do."""

PIXELS = 40


@pytest.fixture(scope="module")
def drawn():
    """The pages."""
    return pages()


@pytest.mark.parametrize("kind", WIDTHS)
def test_no_label_overlaps_another_and_cards_have_the_sizes_that_are_stored(browser, drawn, kind):
    faults, stored = {}, json.loads(STORED.read_text())
    for name, html in drawn.items():
        view = looked_at(browser, html, WIDTHS[kind])
        check_sizes(view.evaluate(SIZES), stored[name][kind])
        found = view.evaluate(FAULTS)
        for last in (False, True):
            view.evaluate(CHOOSE, last)
            found += view.evaluate(FAULTS)
        view.close()
        faults |= {name: found} if found else {}
    assert not faults


def check_sizes(found, stored):
    assert list(found) == list(stored)
    for card, sizes in found.items():
        for now, before in zip(sizes, stored[card], strict=True):
            assert abs(now - before) <= PIXELS + TOLERANCE * before, (card, sizes)


def test_the_count_sees_labels_that_overlap(browser):
    text = '<text x="5" y="20">one</text><text x="9" y="22">two</text><text x="95" y="60">three</text>'
    html = f'<section id="card"><svg class="plot" width="100" height="80">{text}</svg></section>'
    view = browser.new_page()
    view.set_content(html)
    assert [fault.split(": ")[1] for fault in view.evaluate(FAULTS)] == ["three leaves the frame", "one | two"]
    view.close()
