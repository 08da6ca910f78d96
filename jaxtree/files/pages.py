"""A page as text that shows itself: in a notebook, in a browser, or in a file."""

import html
import os
import re
import tempfile
import webbrowser
from pathlib import Path

from jaxtree.errors import InvalidInputError
from jaxtree.files.writing import write_file

HEIGHT = "min(52rem, 85vh)"
"""The height of a notebook's frame, in which the page scrolls; the script of a shorter page takes some of it."""


class Page(str):
    """A whole page of HTML that needs no other file: a text, which notebooks show in a frame.

    Example:
        >>> import pathlib, tempfile
        >>> page = Page("<!doctype html><title>Irises</title><p>...</p>")
        >>> page
        <Page 'Irises', 0 kB: save(path) writes it, open() shows it in the browser>
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = page.save(f"{folder}/irises.html")
        ...     path.read_text(encoding="utf-8") == page
        True
    """

    __slots__ = ()

    @property
    def title(self) -> str:
        """The title in the page's head; empty if it has none."""
        found = re.search(r"<title>(.*?)</title>", self, re.DOTALL)
        return "" if found is None else html.unescape(found[1].strip())

    def save(self, path: str | os.PathLike) -> Path:
        """Writes the page into a file, whole or not at all, and returns its path.

        Args:
            path: Where to write, such as "model.html".

        Raises:
            OSError: It cannot be written.
        """
        write_file(path, self.encode())
        return Path(path)

    def open(self) -> Path:
        """Shows the page in the browser, and returns the path of the file that it is written into.

        The file lies in the folder of temporary files, and stays there: the browser may read it again.

        Raises:
            InvalidInputError: This machine has no browser that can be started; the message names the file.
        """
        number, path = tempfile.mkstemp(prefix="jaxtree-", suffix=".html")
        os.close(number)
        self.save(path)
        if not webbrowser.open(Path(path).as_uri()):
            raise InvalidInputError(f"no browser could be started here; the page is in {path}")
        return Path(path)

    def _repr_html_(self) -> str:
        """Returns the frame in which a notebook shows the page.

        The attribute stands between single quotes, so that the many double ones of a page need no sign of their own.
        """
        inner = self.replace("&", "&amp;").replace("'", "&#39;")
        style = f"width:100%;height:{HEIGHT};border:0;resize:vertical"
        return f"<iframe title='{html.escape(self.title)}' style='{style}' srcdoc='{inner}'></iframe>"

    def __repr__(self) -> str:
        """Names the page, which would fill the terminal as a text; `print` writes all of it."""
        size = f"{len(self.encode()) / 1000:,.0f} kB"
        return f"<Page {self.title!r}, {size}: save(path) writes it, open() shows it in the browser>"
