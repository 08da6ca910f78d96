"""Pages of tables of long words and many classes, and what a browser makes of their drawings."""

import shutil

import numpy as np
import pandas as pd

from jaxtree import (
    DecisionTreeClassifier,
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    RandomForestClassifier,
    to_html,
)

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDTHS = {"wide": 1400, "middle": 800, "narrow": 420}

NAMES = (
    "a category whose name goes on and on for many words and then ends",
    "Donaudampfschifffahrtsgesellschaftskapitänswitwenrente",
    "a_name_that_is_joined_by_signs_and_has_no_blank_in_it_at_all",
    "数据集中一个非常长的类别名称没有任何空格",
    '<b>markup</b> & "quotes" that are no markup',
    "x",
    "very very very very very very very very long",
    "1234567890123456789012345678901234567890",
    "Übergrößenträger — Straße, Füße; Öl/Gas",
    "supercalifragilisticexpialidocious.words.joined.by.points",
)


def long_words(number, num_rows=120, seed=0):
    """A table of columns with long names and categories, and as many classes as are asked for."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({NAMES[seed % 10]: rng.normal(size=num_rows), NAMES[(seed + 1) % 10]: 1e9 * rng.random(num_rows)})
    X[NAMES[(seed + 2) % 10]] = pd.Categorical(rng.choice(NAMES, num_rows))
    X["when it was"] = pd.date_range("2019-01-31", periods=num_rows, freq="9D")
    X.loc[rng.random(num_rows) < 0.2, NAMES[seed % 10]] = np.nan
    names = np.array([f"{NAMES[place % 10]} {place}" for place in range(number)])
    score = np.nan_to_num(X.iloc[:, 0].to_numpy()) + X.iloc[:, 2].cat.codes / 5 + 0.3 * rng.normal(size=num_rows)
    place = np.argsort(np.argsort(score)) * number // num_rows
    return X, names[place]


def pages():
    """Five pages: a tree, a forest and boosted trees of long words, survival curves and ranks."""
    few = {"n_estimators": 4, "max_depth": 3, "min_samples_leaf": 2}
    of_words = {
        3: DecisionTreeClassifier(max_depth=3),
        13: RandomForestClassifier(3, max_depth=3, random_state=0),
        40: GradientBoostingClassifier(**few),
    }
    found = {}
    for seed, (number, model) in enumerate(of_words.items()):
        X, y = long_words(number, seed=3 * seed)
        found[f"words {number}"] = to_html(model.fit(X, y), X, y, X_val=X, y_val=y)
    X, _ = long_words(2)
    time, event = 1e6 * np.argsort(X.iloc[:, 1].to_numpy()) + 1, np.arange(120) % 3 > 0
    model = GradientBoostingRegressor(**few, loss="cox").fit(X, time, event=event)
    found["survival"] = to_html(model, X, time, event=event)
    group, target = np.arange(120) // 10, np.arange(120) % 3
    model = GradientBoostingRanker(**few).fit(X, target, group=group)
    found["ranks"] = to_html(model, X, target, group=group)
    return found


FAULTS = """() => {
  const faults = [];
  for (const picture of document.querySelectorAll("svg.plot")) {
    const frame = picture.getBoundingClientRect();
    const card = picture.closest("section").id;
    const labels = [...picture.querySelectorAll("text")].map((text) => {
      const box = text.getBoundingClientRect();
      const [top, bottom] = [box.top + 1.5, box.bottom - 1.5];
      return { words: text.textContent, left: box.left, right: box.right, top, bottom };
    });
    for (const own of labels) {
      const isWide = own.left < frame.left - 1 || own.right > frame.right + 1;
      if (isWide || own.top < frame.top - 1 || own.bottom > frame.bottom + 1)
        faults.push(`${card}: ${own.words} leaves the frame`);
    }
    labels.forEach((own, i) => labels.slice(i + 1).forEach((other) => {
      const wide = Math.min(own.right, other.right) - Math.max(own.left, other.left);
      const tall = Math.min(own.bottom, other.bottom) - Math.max(own.top, other.top);
      if (wide > 0.5 && tall > 0.5) faults.push(`${card}: ${own.words} | ${other.words}`);
    }));
  }
  if (document.documentElement.scrollWidth > window.innerWidth) faults.push("the page scrolls sideways");
  return faults;
}"""
"""Labels that overlap one another, or leave their drawing."""

CHOOSE = """(last) => {
  for (const select of document.querySelectorAll("[data-card] select")) {
    select.value = last ? select.options.length - 1 : Math.floor(select.options.length / 2);
    select.dispatchEvent(new Event("change"));
  }
}"""

PATIENCE = 120_000
"""Milliseconds that a page may take: others may run beside it."""


def looked_at(browser, html, width):
    """Opens a page in a width."""
    view = browser.new_page(viewport={"width": width, "height": 900})
    view.set_default_timeout(PATIENCE)
    view.set_content(html)
    view.wait_for_selector("html[data-ready]")
    view.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    return view
