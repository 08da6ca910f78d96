"""Makes the gallery: `python notebooks/make_gallery.py [NAME ...]` runs the code of pictures and writes `gallery.md`.

Without names all pictures are made again; with `--page` none. It needs Chromium for pages.
"""

import io
import pathlib
import sys

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

from gallery_pages import LIVE, PAGES  # noqa: E402
from live_pages import address  # noqa: E402
from pictures import PLOTS, Plot  # noqa: E402

HEAD = """# Gallery

Every page and every plot, made by `notebooks/make_gallery.py`. The picture of a page opens the page itself, where
this site has it; the picture of a plot leads to its code.
"""
SECTIONS = {"Pages": PAGES, **PLOTS}


def make(picture: Plot) -> None:
    """Runs the code of a picture, and keeps what it shows."""
    from make_images import keep, photograph

    plt.close("all")
    names: dict = {}
    exec(picture.code, names)
    if "page" in names:
        keep(f"gallery/{picture.name}", photograph(names["page"], width=1280, height=1000), width=900)
        return
    png = io.BytesIO()
    names["ax"].figure.savefig(png, dpi=110)
    keep(f"gallery/{picture.name}", png.getvalue(), width=900, quality=60)


def card(picture: Plot) -> str:
    """A picture of the grid, linked to its code, or to the page that it shows."""
    anchor, caption = f"#{picture.name.replace('_', '-')}", picture.caption
    target = anchor
    if picture in LIVE:
        target, caption = address(picture.name), f'{caption} (<a href="{anchor}">code</a>)'
    return (
        f'<figure><a href="{target}">'
        f'<img src="_images/{picture.name}.webp" alt="{picture.caption}" loading="lazy"></a>'
        f"<figcaption>{caption}</figcaption></figure>"
    )


def section(picture: Plot) -> str:
    """The picture in its size with its code."""
    anchor = picture.name.replace("_", "-")
    image = f"![{picture.caption}](images/gallery/{picture.name}.webp)"
    if picture in LIVE:
        image += f'\n\n<a href="{address(picture.name)}">Open the page</a>'
    code = picture.code.strip()
    return f"({anchor})=\n### {picture.caption}\n\n{image}\n\n```python\n{code}\n```\n"


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    for title, pictures in SECTIONS.items():
        grid = "\n".join(card(own) for own in pictures)
        parts.append(f'## {title}\n\n```{{raw}} html\n<div class="gallery">\n{grid}\n</div>\n```\n')
    for title, pictures in SECTIONS.items():
        parts.append(f"## {title}, with their code\n\n" + "\n".join(section(own) for own in pictures))
    return "\n".join(parts)


if __name__ == "__main__":
    asked = sys.argv[1:]
    for own in (picture for pictures in SECTIONS.values() for picture in pictures):
        if not asked or own.name in asked:
            make(own)
    (HERE / "gallery.md").write_text(page(), encoding="utf-8")
