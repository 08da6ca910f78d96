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

from gallery_pages import PAGES, Picture  # noqa: E402

HEAD = """# Gallery

Every page and every plot, made by `notebooks/make_gallery.py`; a picture leads to its code.
"""
SECTIONS = {"Pages": PAGES}


def namespace_after(picture: Picture) -> dict:
    """What the code of a picture leaves."""
    names: dict = {}
    exec(picture.code, names)
    return names


def make(picture: Picture) -> None:
    """Runs the code of a picture, and keeps what it shows."""
    from make_images import keep, photograph

    plt.close("all")
    names = namespace_after(picture)
    if "page" in names:
        keep(f"gallery/{picture.name}", photograph(names["page"], width=1280, height=860, at=picture.at), width=1000)
        return
    png = io.BytesIO()
    plt.gcf().savefig(png, dpi=150, facecolor="white")
    keep(f"gallery/{picture.name}", png.getvalue(), width=1000)


def card(picture: Picture) -> str:
    """A picture of the grid, linked to its code."""
    anchor = picture.name.replace("_", "-")
    return (
        f'<figure><a href="#{anchor}">'
        f'<img src="_images/{picture.name}.webp" alt="{picture.caption}" loading="lazy"></a>'
        f"<figcaption>{picture.caption}</figcaption></figure>"
    )


def section(picture: Picture) -> str:
    """The picture in its size with its code."""
    anchor = picture.name.replace("_", "-")
    image = f"![{picture.caption}](images/gallery/{picture.name}.webp)"
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
