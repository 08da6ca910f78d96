"""Fitted trees for pages, and what stands in a page."""

import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd

HOSTILE = '</script><b id="broken">'
"""A name that would end the page's script, were it written as it is."""


def table(num_rows=300, seed=0):
    """Numbers, words and missing values, and three classes that depend on them."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"tall": rng.normal(size=num_rows), "wide": rng.normal(size=num_rows)})
    X["hue"] = pd.Categorical(rng.choice(["red", "green", "blue"], num_rows))
    X.loc[rng.random(num_rows) < 0.1, "wide"] = np.nan
    score = X["tall"] + (X["hue"] == "red") + 0.7 * rng.normal(size=num_rows)
    return X, np.array(["low", "middle", "top"])[np.digitize(score, [0.0, 1.0])]


class _Elements(HTMLParser):
    """The names of all elements, and the text of those that have an id."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.names, self.texts, self._id = [], {}, None

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self._id = dict(attrs).get("id")

    def handle_data(self, data):
        if self._id is not None:
            self.texts[self._id] = self.texts.get(self._id, "") + data


def elements_of(page):
    parser = _Elements()
    parser.feed(page)
    return parser


def told_by(page):
    """The data of the page's script."""
    return json.loads(elements_of(page).texts["told"])


def dense(rows, width):
    """A table from rows of column, value, column, value."""
    values = np.zeros((len(rows), width))
    for row, entries in zip(values, rows, strict=True):
        row[entries[::2]] = entries[1::2]
    return values
