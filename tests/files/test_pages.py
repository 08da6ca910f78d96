"""A page is a text that notebooks show, and that is written whole."""

import html
import pickle
import webbrowser
from html.parser import HTMLParser
from pathlib import Path

import pytest

from jaxtree import Page
from jaxtree.errors import InvalidInputError

TEXT = "<!doctype html><title>Kain &amp; 'Abel'</title><p class=\"a\">5 < 6 &amp;amp; 'so'</p>"


class Frames(HTMLParser):
    """The attributes of frames."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        self.found += [dict(attrs)] if tag == "iframe" else []


def test_a_page_is_its_text():
    page = Page(TEXT)
    assert page == TEXT and str(page) == TEXT and page[:5] == TEXT[:5] and f"{page}" == TEXT
    again = pickle.loads(pickle.dumps(page))
    assert again == page and type(again) is Page


def test_a_notebook_shows_it_in_one_frame_with_every_sign():
    frames = Frames()
    frames.feed(Page(TEXT)._repr_html_())
    (frame,) = frames.found
    assert frame["srcdoc"] == TEXT and frame["title"] == "Kain & 'Abel'" and "height" in frame["style"]


def test_the_terminal_shows_a_line():
    page = Page(TEXT + " " * 5000)
    assert page.title == html.unescape("Kain &amp; 'Abel'")
    assert repr(page).startswith("<Page \"Kain & 'Abel'\", 5 kB") and len(repr(page)) < 120
    assert Page("no head").title == ""


def test_it_is_written_whole_and_in_utf_8(tmp_path):
    page = Page("<title>Übergröße</title>")
    path = page.save(tmp_path / "page.html")
    assert path == tmp_path / "page.html" and path.read_bytes().decode("utf-8") == page
    with pytest.raises(FileNotFoundError):
        page.save(tmp_path / "nowhere" / "page.html")


def test_the_browser_opens_what_is_written(monkeypatch):
    opened = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or True)
    path = Page(TEXT).open()
    assert opened == [path.as_uri()] and path.read_text(encoding="utf-8") == TEXT
    path.unlink()


def test_without_a_browser_the_error_names_the_file(monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda url: False)
    with pytest.raises(InvalidInputError, match="no browser") as raised:
        Page(TEXT).open()
    path = Path(str(raised.value).rsplit(" ", 1)[1])
    assert path.read_text(encoding="utf-8") == TEXT
    path.unlink()
