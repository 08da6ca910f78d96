"""An extension of Sphinx: the pages of the gallery are made as the site is built, and stand in its `_static/pages`.

`python notebooks/live_pages.py FOLDER [NAME ...]` makes them by itself.
"""

import pathlib
import subprocess
import sys

FOLDER = "_static/pages"
"""Where the pages stand in the site."""


def address(name: str) -> str:
    """Returns the address of a page, for links from the pages at the top of the site."""
    return f"{FOLDER}/{name}.html"


def write_pages(folder: pathlib.Path, names: list[str]) -> None:
    """Runs the code of pages, or of all, and writes them."""
    from gallery_pages import LIVE

    folder.mkdir(parents=True, exist_ok=True)
    for own in LIVE:
        if not names or own.name in names:
            variables: dict = {}
            exec(own.code, variables)
            variables["page"].save(folder / f"{own.name}.html")


def begin(app) -> None:
    """Starts to make the pages, in a process beside the build."""
    if app.builder.format == "html":
        command = [sys.executable, "-W", "ignore", __file__, str(pathlib.Path(app.outdir) / FOLDER)]
        app.pages_in_making = subprocess.Popen(command)


def finish(app, exception) -> None:
    """Waits for the pages; without them the build fails."""
    making = getattr(app, "pages_in_making", None)
    if making is not None and making.wait() != 0 and exception is None:
        raise RuntimeError(f"a page of the gallery could not be made: python {__file__} FOLDER")


def setup(app):
    """Registers the extension."""
    app.connect("builder-inited", begin)
    app.connect("build-finished", finish)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    write_pages(pathlib.Path(sys.argv[1]), sys.argv[2:])
