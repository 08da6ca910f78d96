"""The report is complete, says what the numbers say, loads nothing, and is written whole or not at all."""

import copy
import importlib
import json
import os
import sys
from html.parser import HTMLParser

import pytest

from jaxtree.errors import MissingExtraError
from jaxtree_studies import paper_page
from jaxtree_studies import report as reports

FIGURES = ["figure2", "figure3", "figure4", "figure5", "figure6", "share_above_classic"]


class Elements(HTMLParser):
    """All start tags of a page with their attributes, and its text."""

    def __init__(self, text: str):
        super().__init__()
        self.tags, self.words = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.words.extend(data.split())

    def all(self, name):
        return [attributes for tag, attributes in self.tags if tag == name]

    @property
    def text(self):
        return " ".join(self.words)


@pytest.fixture(scope="module")
def report(tmp_path_factory, make_study):
    """One real report, drawn once; nobody changes it."""
    folder = tmp_path_factory.mktemp("report")
    results, draws = make_study()
    return folder, paper_page.write_report(results, draws, folder), results, draws


@pytest.fixture(scope="module")
def elements(report):
    return Elements((report[0] / "report.html").read_text())


@pytest.fixture
def plain_figures(monkeypatch):
    """Empty figures in place of the real ones, for tests that are about something else."""
    empty = {name: lambda results, draws: reports.Figure(figsize=(1, 1)) for name in FIGURES}
    monkeypatch.setattr(paper_page, "_FIGURES", empty)


def test_writes_the_promised_files(report):
    folder, paths, _, _ = report
    found = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    assert found == sorted([*(f"figures/{name}.png" for name in FIGURES), "report.html", "report.json"])
    assert sorted(paths) == sorted(folder / name for name in found) and paths[0].name == "report.html"
    assert (folder / "report.html").stat().st_size < 3_000_000


def test_page_holds_every_figure_with_words_for_it(elements):
    assert [attributes.get("id") for attributes in elements.all("figure")] == [
        *FIGURES[:4],
        "share_above_classic",
        "figure6",
    ]
    for image in elements.all("img"):
        assert image["src"].startswith("data:image/png;base64,") and len(image["alt"]) > 40
        assert int(image["width"]) > int(image["height"]) * 0.9


def test_page_loads_nothing(report, elements):
    loading = [a.get(name, "") for _, a in elements.tags for name in ("src", "href", "srcset", "data", "poster")]
    assert all(address.startswith(("data:", "#")) for address in loading if address)
    text = (report[0] / "report.html").read_text()
    assert not elements.all("script") and not elements.all("link")
    assert not any(word in text for word in ("http:", "https:", "url(", "@import"))


def test_table_2_marks_what_equals_the_paper(elements):
    """Sixteen of eighteen cells agree; the other two show the paper's value and the difference."""
    assert elements.text.count(", as in the paper") == 16
    assert elements.text.count("0.847222 paper 0.851852 (−0.004630)") == 2


def test_json_keeps_every_number(report):
    folder, _, results, _ = report
    stated = json.loads((folder / "report.json").read_text())
    assert stated["seconds"].pop("our_seconds_sweep") == results["cost"]["our_seconds_sweep"]
    stated["cost"]["our_seconds_sweep"] = 1.25
    assert stated == results


def test_same_results_give_the_same_bytes(report, tmp_path):
    folder, paths, results, draws = report
    for path in paper_page.write_report(copy.deepcopy(results), draws, tmp_path):
        assert path.read_bytes() == (folder / path.relative_to(tmp_path)).read_bytes()
    assert len(paths) == 8


def test_a_result_that_is_no_number_is_refused(study, tmp_path, plain_figures):
    results, draws = study
    results["dropout"]["mean_train"][0][0] = float("nan")
    with pytest.raises(ValueError, match="JSON"):
        paper_page.write_report(results, draws, tmp_path)
    assert not (tmp_path / "report.html").exists()


def test_a_failed_write_leaves_the_old_file(study, tmp_path, monkeypatch, plain_figures):
    results, draws = study
    (tmp_path / "report.html").write_text("old")

    def fail(source, target):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        paper_page.write_report(results, draws, tmp_path)
    assert (tmp_path / "report.html").read_text() == "old"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "report.html"]


@pytest.mark.parametrize("missing", ["jinja2", "matplotlib"])
def test_missing_extra_is_named(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "jaxtree_studies.report")
    with pytest.raises(MissingExtraError, match=r'pip install "jaxtree\[cli,plot\]"'):
        importlib.import_module("jaxtree_studies.report")
