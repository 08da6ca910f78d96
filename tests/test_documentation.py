"""The pages of `notebooks/`: their examples run, and they name everything public."""

import ast
import doctest
import importlib
import inspect
import json
import pathlib
import re
import subprocess
import sys
import types

import pandas as pd
import pytest

import jaxtree
from tests.page.conftest import browser  # noqa: F401, a fixture

ROOT = pathlib.Path(__file__).parent.parent
PAGES = ROOT / "notebooks"
ANSWERS = sorted((PAGES / "how_do_i").glob("*.md"))
GUIDES = [PAGES / f"{name}.md" for name in ("index", "install", "which_estimator", "faq")]
NOTEBOOKS = sorted(PAGES.glob("*.ipynb"))
PUBLIC_ROOMS = (
    "jaxtree",
    "jaxtree.boosting",
    "jaxtree.compilation",
    "jaxtree.criteria",
    "jaxtree.datasets",
    "jaxtree.doctor",
    "jaxtree.dropout",
    "jaxtree.effects",
    "jaxtree.errors",
    "jaxtree.explain",
    "jaxtree.functional",
    "jaxtree.growth",
    "jaxtree.metrics",
    "jaxtree.plot",
    "jaxtree.prune",
    "jaxtree.ray",
    "jaxtree.resampling",
    "jaxtree.soft",
    "jaxtree.soft.losses",
    "jaxtree.table",
    "jaxtree.tree",
)
NAME = re.compile(r"(?<![\w.])jaxtree(?:\.[a-z]\w*)+")
FENCE = re.compile(r"^```(\{\w+\}|\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DIRECTIVE = re.compile(r"^\.\. (currentmodule|auto\w+):: (\S+)", re.MULTILINE)


def examples(page):
    """The Python examples of a page, one below the other; their output ends where a fence does."""
    return "\n".join(text for language, text in FENCE.findall(page) if language == "python")


def commands(page):
    """The commands of a page, in order, each with what it prints."""
    sessions = "".join(text for language, text in FENCE.findall(page) if language == "sh")
    for session in re.split(r"^\$ ", sessions, flags=re.MULTILINE)[1:]:
        command, _, output = session.partition("\n")
        yield command, output


def documented():
    """The objects on the pages of the reference, by their last name and identity: rooms hand on what others made."""
    found = set()
    for page in (PAGES / "api").glob("*.md"):
        room = None
        for directive, name in DIRECTIVE.findall(page.read_text()):
            if directive == "currentmodule":
                room = importlib.import_module(name)
            else:
                found.add((name, id(getattr(room, name))))
    return found


def public(room):
    """The same of what a room makes or hands on, without modules and what it uses itself; or its `__all__`."""
    module = importlib.import_module(room)
    path = pathlib.Path(module.__file__)
    source = "".join(file.read_text() for file in (path, path.with_suffix(".pyi")) if file.exists())
    for name in dir(module):
        value = getattr(module, name)
        is_own = re.search(rf"\bas {name}$|^(class|def) {name}\b|^{name}\b.* = ", source, re.MULTILINE)
        is_listed = name in getattr(module, "__all__", dir(module))
        if is_own and is_listed and not name.startswith("_") and not isinstance(value, types.ModuleType):
            yield name, id(value)


@pytest.mark.slow
@pytest.mark.parametrize("page", [*GUIDES, *ANSWERS], ids=lambda page: page.stem)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    test = doctest.DocTestParser().get_doctest(examples(page.read_text()), {}, page.stem, str(page), 0)
    said = []
    results = doctest.DocTestRunner(optionflags=flags).run(test, out=said.append)
    assert results.failed == 0, "".join(said)


@pytest.mark.parametrize("page", [*GUIDES, *ANSWERS], ids=lambda page: page.stem)
def test_python_on_a_page_is_an_example_with_its_output(page):
    """A fence of Python without a prompt would be shown and never run; a line over 88 would wrap on the site."""
    for language, text in FENCE.findall(page.read_text()):
        if language == "python":
            assert text.startswith(">>> "), text
            assert not [line for line in text.splitlines() if line[:4] in (">>> ", "... ") and len(line) > 88]
        else:
            assert language in ("sh", "text", "sql", "c", "{toctree}"), language


@pytest.mark.slow
def test_the_commands_of_a_page_print_what_stands_there(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from jaxtree.cli.app import app

    monkeypatch.chdir(tmp_path)
    sessions = list(commands((PAGES / "how_do_i" / "use_the_command_line.md").read_text()))
    assert len(sessions) == 4
    for command, output in sessions:
        program, *arguments = command.split()
        result = CliRunner().invoke(app, arguments)
        assert (program, result.exit_code) == ("jaxtree", 0), result.output
        # How long a program compiled is told on a slow machine alone.
        lines = [line for line in result.output.splitlines() if not line.startswith("compiled ")]
        assert " ".join(lines).split() == output.split()


def test_an_example_that_is_wrong_is_seen():
    page = "# A page\n\n```python\n>>> 1 + 1\n3\n```\n\n```python\n>>> 2\n2\n```\n"
    test = doctest.DocTestParser().get_doctest(examples(page), {}, "page", None, 0)
    assert doctest.DocTestRunner().run(test, out=lambda line: None) == (1, 2)


@pytest.mark.parametrize("room", PUBLIC_ROOMS)
def test_the_reference_has_every_public_name(room):
    names = set(public(room))
    assert names, f"{room} has no public names"
    assert sorted(name for name, _ in names - documented()) == []


def test_the_page_of_parameters_is_what_the_code_says():
    made = subprocess.run([sys.executable, PAGES / "make_parameters.py"], capture_output=True, text=True, check=True)
    assert (PAGES / "api" / "parameters.md").read_text() == made.stdout, "run notebooks/make_parameters.py"


def made_by(script, code):
    """The output of code after the import of a script of the pages, in a process of its own."""
    whole = f"import sys; sys.path.insert(0, {str(PAGES)!r}); import {script}; {code}"
    return subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, check=True).stdout


@pytest.mark.slow
def test_the_gallery_is_what_its_code_says():
    assert (PAGES / "gallery.md").read_text() == made_by("make_gallery", "print(make_gallery.page(), end='')")
    pictures = re.findall(r"!\[.*\]\((images/gallery/.*)\)", (PAGES / "gallery.md").read_text())
    assert sorted(pictures) == sorted(f"images/gallery/{own.name}" for own in (PAGES / "images" / "gallery").iterdir())
    assert max((PAGES / picture).stat().st_size for picture in pictures) < 60_000


@pytest.mark.slow
def test_the_charts_have_the_figures_of_the_results(tmp_path):
    """Their words and numbers; the lines differ by versions of Matplotlib."""
    made_by("make_charts", f"[make_charts.draw(name, {str(tmp_path)!r}) for name in make_charts.CHARTS]")
    drawn = sorted(tmp_path.iterdir())
    assert len(drawn) == 8
    for chart in drawn:
        words = [re.findall(r">([^<>]+)</text>", own.read_text()) for own in (chart, PAGES / "images" / chart.name)]
        assert words[0] == words[1], chart.name


IN_PROSE = re.compile(r"`((?:jaxtree\.)?[\w.]+\([^`]*\))`")


def wrong_calls(text):
    """Calls in prose of what jaxtree has, with keywords that it does not take."""
    for call in IN_PROSE.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
        try:
            tree = ast.parse(call.replace("...", "_"), mode="eval").body
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                function = named(ast.unparse(node.func))
                keywords = [keyword.arg for keyword in node.keywords if keyword.arg]
                if function is not None and not takes(function, keywords):
                    yield call


def named(path):
    """The object of a dotted name in prose, in a public room of jaxtree; None if it is another library's."""
    *rooms, name = path.removeprefix("jaxtree.").split(".")
    # Without its room `fit` is a method, not a function of these.
    unnamed = [room for room in PUBLIC_ROOMS if room not in ("jaxtree.ray", "jaxtree.functional")]
    listed = [".".join(["jaxtree", *rooms])] if rooms else unnamed
    rooms = [importlib.import_module(room) for room in listed if room in PUBLIC_ROOMS]
    return next((own for room in rooms if callable(own := getattr(room, name, None))), None)


def takes(function, keywords):
    parameters = inspect.signature(function).parameters.values()
    takes_all = any(own.kind is inspect.Parameter.VAR_KEYWORD for own in parameters)
    return takes_all or set(keywords) <= {own.name for own in parameters}


@pytest.mark.parametrize("page", [*GUIDES, *ANSWERS, ROOT / "README.md"], ids=lambda path: path.stem)
def test_calls_in_prose_have_parameters_that_are_there(page):
    assert not list(wrong_calls(page.read_text()))


def test_a_wrong_call_in_prose_is_seen():
    wrong = '`GradientBoostingRegressor(loss="quantile", quantile=[0.1, 0.9])`'
    assert len(list(wrong_calls(wrong))) == 1 and not list(wrong_calls("`GradientBoostingRegressor(loss=...)`"))


def stands(name):
    """Whether a name with its packages is there: a module, or what one has, an attribute of a record included."""
    words = name.split(".")
    for number in range(len(words), 0, -1):
        try:
            found = importlib.import_module(".".join(words[:number]))
        except ImportError:
            continue
        for word in words[number:-1]:
            found = getattr(found, word, None)
        return number == len(words) or hasattr(found, words[-1]) or words[-1] in getattr(found, "__annotations__", {})
    return False


def test_what_the_source_refers_to_by_its_whole_name_is_there():
    files = [file for room in ("jaxtree", "studies", "native") for file in (ROOT / room).rglob("*")]
    texts = [file.read_text() for file in files if file.suffix in (".py", ".h", ".cc")]
    names = {name for text in texts for name in re.findall(r"`(jaxtree(?:_studies)?(?:\.\w+)+)`", text)}
    assert len(names) > 50 and not [name for name in sorted(names) if not stands(name)]
    assert not stands("jaxtree.tree.no_such_name") and not stands("jaxtree.no_such_room.no_such_name")


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_as_it_ran(notebook):
    """Whole, in order, without warnings, and small; the site shows it as it is."""
    cells = [cell for cell in json.loads(notebook.read_text())["cells"] if cell["cell_type"] == "code"]
    outputs = [output for cell in cells for output in cell["outputs"]]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert outputs
    assert not [output for output in outputs if output["output_type"] == "error" or output.get("name") == "stderr"]
    assert notebook.stat().st_size < 300_000
    assert str(pathlib.Path.home()) not in notebook.read_text()


def live_links(page):
    """The links of a page to live pages."""
    return re.findall(r'href="([^"]*_static/pages/[^"]*)"', page.read_text())


def test_live_pages_are_linked_from_the_home_page_and_the_gallery():
    names = made_by("gallery_pages", "print(*(own.name for own in gallery_pages.LIVE))").split()
    linked = {
        page: {pathlib.Path(link).stem for link in live_links(PAGES / page)} for page in ("index.md", "gallery.md")
    }
    assert linked["gallery.md"] == set(names) and linked["index.md"] and linked["index.md"] < set(names)


def test_papers_that_docstrings_cite_are_links():
    code = """import citations
print(citations.link_papers("By *Random\\nforests*, and (Breiman, 2001); *no such paper* and Breiman, 20011."))
addresses = [address for _, _, address in citations.references()]
print(len(addresses) == len(set(addresses)) > 50)"""
    linked, is_right = made_by("citations", code).strip().rsplit("\n", 1)
    way = "https://doi.org/10.1023/A:1010933404324"
    assert (
        linked == f"By `Random forests <{way}>`__, and (`Breiman, 2001 <{way}>`__); *no such paper* and Breiman, 20011."
    )
    assert is_right == "True"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built without a warning."""
    pytest.importorskip("sphinx", reason='the site needs pip install "jaxtree[docs]"')
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", "-d", folder / "trees"]
    built = subprocess.run([*command, PAGES, folder / "html"], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder / "html"


@pytest.mark.slow
def test_every_class_has_a_page(site):
    """It has its own parameters, what other libraries call them, links to papers, an example, and who uses it."""
    assert "DecisionTreeClassifier" in (site / "api" / "trees.html").read_text()
    page = (site / "api" / "classes" / "GradientBoostingClassifier.html").read_text()
    assert "min_child_samples" in page and "../../how_do_i/boost_trees.html" in page
    assert "hessian" in page and "**parameters" not in page and 'href="https://doi.org/' in page
    pages = sorted((site / "api" / "classes").glob("*.html"))
    assert len(pages) > 40 and not [page.stem for page in pages if "&gt;&gt;&gt;" not in page.read_text()]


@pytest.mark.slow
def test_every_link_to_a_live_page_finds_it(site):
    """Live pages are made as the site is built."""
    links = {(page.parent / link).resolve() for page in site.rglob("*.html") for link in live_links(page)}
    assert len(links) > 10 and links == set((site / "_static" / "pages").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("class imbalance", "weigh_classes_and_rows"),
        ("feature importance", "measure_importances"),
        ("early stopping", "hold_out_rows"),
        ("monotonic constraints", "get_monotone_trees"),
        ("hyperparameters", "search_settings"),
        ("partial dependence", "plot_dependence"),
        ("save and load", "save_and_load"),
        ("overfitting", "prune_a_tree"),
        ("gpu", "run_on_a_gpu"),
    ],
)
def test_a_search_finds_the_guide_first(site, browser, words, page):  # noqa: F811
    opened = browser.new_page()
    opened.goto(f"{(site / 'search.html').as_uri()}?q={words.replace(' ', '+')}")
    first = opened.wait_for_selector("ul.search li a")
    assert first.get_attribute("href").startswith(f"how_do_i/{page}.html")


@pytest.mark.slow
def test_the_python_of_the_readme_runs_in_order_in_an_empty_folder(tmp_path, monkeypatch, capsys):
    """A reader has no file but those that the lines above have written."""
    monkeypatch.chdir(tmp_path)
    exec(examples((ROOT / "README.md").read_text()), {})
    printed = capsys.readouterr().out
    assert printed.startswith("root: unacc") and "unacc; most for it: " in printed and " is the best: " in printed
    assert (tmp_path / "car.html").stat().st_size > 10_000 and (tmp_path / "car.jaxtree").exists()


STEP = re.compile(r"^\| (\d+) \| `(?:\w+\.)?(\w+)` \| `([\w/]+\.py)` \|", re.MULTILINE)


def test_the_walk_of_a_frame_runs_the_functions_of_its_page_in_order():
    """At most twelve: a walk that needs more is a way that nobody can follow."""
    steps = STEP.findall((PAGES / "how_it_works.md").read_text())
    assert [number for number, *_ in steps] == [str(number) for number in range(1, len(steps) + 1)]
    assert 8 < len(steps) <= 12
    table = pd.DataFrame({"size": [1.0, 2.0, 3.0, 4.0], "word": ["a", "b", "a", "b"]})
    room, called = str(pathlib.Path(jaxtree.__file__).parent), []
    jaxtree.DecisionTreeClassifier().fit(table, ["x", "x", "y", "y"]).predict(table)  # imports, unobserved

    def note(frame, event, arg):
        if event == "call" and frame.f_code.co_filename.startswith(room):
            called.append((frame.f_code.co_name, frame.f_code.co_filename))

    sys.setprofile(note)
    try:
        jaxtree.DecisionTreeClassifier().fit(table, ["x", "x", "y", "y"]).predict(table)
    finally:
        sys.setprofile(None)
    place = 0
    for _, name, file in steps:
        path = str(pathlib.Path(room, file))
        assert (name, path) in called[place:], f"{name} of {file} is not called behind the step before it"
        place = called.index((name, path), place)


SENTENCE = re.compile(r"(?:\A|[.!] +|[.!]\n|\n\n|\n[-*] +)(?:What|Of|That|Those) [^?]*?[.:!](?=\s|\Z)")
WRITTEN = [*PAGES.rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]


def sentences_without_noun(text):
    """The sentences of a page that begin with What, Of, That or Those; questions and headings may."""
    prose = re.sub(r"^```.*?^```$|^#[^\n]*|^\|[^\n]*", "", text, flags=re.MULTILINE | re.DOTALL)
    return [found.strip(" .\n") for found in SENTENCE.findall(prose)]


def test_sentences_of_pages_begin_with_their_nouns():
    found = {page.name: sentences_without_noun(page.read_text()) for page in WRITTEN if "classes" not in page.parts}
    assert len(found) > 60 and not {name: own for name, own in found.items() if own}
    assert sentences_without_noun("A tree.\nOf trees it is one.\n\nWhat is it?") == ["Of trees it is one"]


def test_the_readme_is_short_and_shows_first():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert 120 <= len(lines) <= 150
    assert next(number for number, line in enumerate(lines) if line == "```python") < 30
    assert any(line.startswith("![") for line in lines[:10])


@pytest.mark.parametrize("page", [ROOT / "README.md", ROOT / "CONTRIBUTING.md"], ids=lambda path: path.stem)
def test_what_a_page_links_to_is_there(page):
    """Sphinx checks the pages of the site, these it does not read."""
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text())
    assert not [link for link in links if "://" not in link and not (page.parent / link).exists()]


def test_what_the_readme_names_is_there_after_import_jaxtree_alone():
    """Matplotlib, which takes longer than the rest, is imported only when `jaxtree.plot` is asked for."""
    names = sorted({*NAME.findall((ROOT / "README.md").read_text()), *PUBLIC_ROOMS})
    assert "jaxtree.explain.shap_values" in names and "jaxtree.plot" in names
    code = (
        "import sys, jaxtree; assert 'matplotlib' not in sys.modules and 'plot' in dir(jaxtree)\n"
        f"for name in {names}: eval(name)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_jaxtree_does_not_have_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'jaxtree' has no attribute 'compile'"):
        jaxtree.compile  # noqa: B018


@pytest.mark.parametrize("place", ["plot.plot_tree", "explain.shap_values", "boosting.poisson", "soft.SoftForm"])
def test_a_name_of_a_room_is_found_by_its_error(place):
    name = place.split(".")[1]
    with pytest.raises(AttributeError, match=f"'jaxtree' has no attribute '{name}': it is jaxtree.{place}$"):
        getattr(jaxtree, name)


def test_a_name_that_is_misspelled_is_suggested():
    code = "import jaxtree; jaxtree.DecisionTreeClasifier"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stderr
    assert said.strip().endswith("Did you mean: 'DecisionTreeClassifier'?")
