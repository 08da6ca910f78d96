"""Makes the pictures that need a browser: `python notebooks/make_images.py [NAME ...]` writes `images/NAME.webp`.

It needs Chromium and `pip install playwright`. The pages that are photographed are those that `to_html` returns.
"""

import contextlib
import html
import io
import pathlib
import sys
import tempfile

import jaxtree

IMAGES = pathlib.Path(__file__).parent / "images"

README = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; width: 1400px; height: 570px; background: #e6ebe8; display: flex; gap: 22px; padding: 24px;
  box-sizing: border-box; font: 15px/1.5 "DejaVu Sans Mono", monospace; }}
pre {{ margin: 0; flex: 0 0 580px; background: #10201c; color: #d5e5df; border-radius: 10px; padding: 18px;
  box-sizing: border-box; font: inherit; font-size: 11.6px; overflow: hidden; }}
pre b {{ color: #7fd6c2; font-weight: normal; }}
div {{ flex: 1; border-radius: 10px; overflow: hidden; box-shadow: 0 1px 5px #0003; background: white; }}
img {{ width: 100%; display: block; }}
</style><pre>{text}</pre><div><img src="data:image/png;base64,{picture}"></div>"""


@contextlib.contextmanager
def browser():
    """Chromium, started for what is inside."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as own:
        chromium = own.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        yield chromium
        chromium.close()


def photograph(page_html, *, width=1400, height=900):
    """The PNG of a page's upper part."""
    with browser() as chromium, tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "page.html"
        file.write_text(page_html, encoding="utf-8")
        page = chromium.new_page(viewport={"width": width, "height": height})
        page.goto(file.as_uri())
        page.wait_for_timeout(400)
        return page.screenshot()


def keep(name, png, *, width=1400, quality=72):
    """Writes a picture as WebP of a width at most."""
    from PIL import Image

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    if picture.width > width:
        picture = picture.resize((width, round(picture.height * width / picture.width)), Image.Resampling.LANCZOS)
    IMAGES.mkdir(exist_ok=True)
    picture.save(IMAGES / f"{name}.webp", quality=quality, method=6)
    print(name, picture.size, (IMAGES / f"{name}.webp").stat().st_size)


def readme():
    """A printed tree beside its page."""
    import base64

    X, y = jaxtree.datasets.load_car_evaluation(return_X_y=True, as_frame=True)
    tree = jaxtree.DecisionTreeClassifier(max_leaf_nodes=6).fit(X, y)
    page = jaxtree.to_html(tree, X, y, title="Car evaluation")
    session = [
        ("X, y = load_car_evaluation(return_X_y=True, as_frame=True)", ""),
        ("tree = jaxtree.DecisionTreeClassifier(max_leaf_nodes=6)", ""),
        ("print(jaxtree.export_text(tree.fit(X, y)))", f"{jaxtree.export_text(tree)}\n"),
        ("print(jaxtree.explain_row(tree, X[-1:]))", f"{jaxtree.explain_row(tree, X[-1:])}\n"),
        ('page = jaxtree.to_html(tree, X, y, title="Car evaluation")', ""),
        ('page.save("car.html")', "PosixPath('car.html')\n"),
    ]
    text = "".join(f"<b>&gt;&gt;&gt;</b> {html.escape(line)}\n{html.escape(output)}" for line, output in session)
    seen = base64.b64encode(photograph(page, width=1180, height=822)).decode()
    return photograph(README.format(text=text, picture=seen), height=570)


PICTURES = {"readme": readme}

if __name__ == "__main__":
    for name in sys.argv[1:] or PICTURES:
        keep(name, PICTURES[name]())
