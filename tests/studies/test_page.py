"""The report is complete, says what the numbers say, loads nothing, and is written whole or not at all."""

import copy
import importlib
import json
import os
import struct
import sys
import tempfile
from html.parser import HTMLParser

import numpy as np
import pytest

from jaxtree.errors import InvalidInputError, MissingExtraError
from jaxtree_studies import paper_page
from jaxtree_studies import report as reports
from jaxtree_studies.dropout_paper import verdict

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


def test_figures_are_pictures_of_a_readable_size(report):
    for name in FIGURES:
        content = (report[0] / "figures" / f"{name}.png").read_bytes()
        width, height = struct.unpack(">II", content[16:24])
        assert content.startswith(b"\x89PNG") and width > 900 and height > 600


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


def test_tables_say_what_their_headers_head(elements):
    assert elements.all("th") and all(header.get("scope") in ("row", "col") for header in elements.all("th"))
    assert len(elements.all("table")) == len(elements.all("caption")) == 6
    assert elements.all("html")[0]["lang"] == "en"


def test_page_repeats_the_verdict(report, elements):
    for sentence in verdict(report[2]):
        assert " ".join(sentence.replace("'", "’").split()) in elements.text


def test_table_2_marks_what_equals_the_paper(elements):
    """Sixteen of eighteen cells agree; the other two show the paper's value and the difference."""
    assert elements.text.count(", as in the paper") == 16
    assert elements.text.count("0.847222 paper 0.851852 (−0.004630)") == 2


def test_table_2_takes_the_nearest_of_several_printed_values():
    entry = {"criterion": "gini", "max_depth": None, "accuracy": 368 / 432, "paper": [0.847222, 0.851852]}
    (row,) = paper_page._table2_rows([entry])
    assert row["cells"][0]["same"] and row["cells"][0]["nearest"] == 0.851852


def test_page_shows_examples_and_escapes_them(report, elements):
    assert "Play tennis" in elements.text and "0.246750" in elements.text and "outlook <= x" in elements.text
    assert "outlook &lt;= x" in (report[0] / "report.html").read_text()


def test_costs_are_computed(elements):
    """3300 trees at 0.3 s each are 16.5 minutes."""
    assert "scores 3,300 pruned trees in 1.25 seconds" in elements.text and "16.5 minutes" in elements.text


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


def test_times_stand_under_seconds_only(study, tmp_path, plain_figures):
    results, draws = study
    paper_page.write_report(results, draws, tmp_path / "slow")
    results["cost"]["our_seconds_sweep"] = 99.0
    results["seconds"] = {"table_2": 77.0}
    paper_page.write_report(results, draws, tmp_path / "fast")
    slow, fast = (json.loads((tmp_path / name / "report.json").read_text()) for name in ("slow", "fast"))
    assert slow.pop("seconds") != fast.pop("seconds")
    assert slow == fast


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


def test_makes_the_folder(tmp_path):
    folder = reports.check_output_dir(tmp_path / "new" / "report")
    assert folder.is_dir() and list(folder.rglob("*")) == [folder / "figures"]


@pytest.mark.parametrize("place", ["file", "file/below", "report"])
def test_a_file_in_the_way_is_named(tmp_path, place):
    (tmp_path / "file").write_text("")
    (tmp_path / "report").mkdir()
    (tmp_path / "report" / "figures").write_text("")
    with pytest.raises(InvalidInputError, match=f"out_dir must be a folder that can be written to, got '.*{place}'"):
        reports.check_output_dir(tmp_path / place)


def test_a_folder_that_cannot_be_written_to_is_named(tmp_path, monkeypatch):
    def refuse(dir):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)
    with pytest.raises(InvalidInputError, match="Permission denied"):
        reports.check_output_dir(tmp_path)


@pytest.mark.parametrize("missing", ["jinja2", "matplotlib"])
def test_missing_extra_is_named(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.delitem(sys.modules, "jaxtree_studies.report")
    with pytest.raises(MissingExtraError, match=r'pip install "jaxtree\[cli,plot\]"'):
        importlib.import_module("jaxtree_studies.report")


def test_the_users_plot_settings_change_nothing(study):
    import matplotlib

    plain = reports.render_png(paper_page.figure_roc(study[0]))
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "savefig.bbox": "tight"}):
        assert reports.render_png(paper_page.figure_roc(study[0])) == plain
        assert matplotlib.rcParams["font.size"] == 30


def test_clouds_widen_where_draws_agree():
    wide, narrow = np.full(99, 0.9), np.linspace(0, 1, 99)
    assert paper_page._fullness(wide).min() == 1 and paper_page._fullness(narrow).max() < 0.2
