"""An extension of Sphinx: every estimator has a page of its own, with a table of its parameters.

The pages of `api/` name classes by `autoclass`. Where the class is an estimator or a search, a page `api/classes/NAME`
is written as the site is built, and the topic's page links to it.
"""

import inspect
import pathlib
import re

import jaxtree
from jaxtree.estimators.common.peers import peers

DIRECTIVE = re.compile(r"^\.\. autoclass:: (\w+)\n((?:   :.*\n)*)", re.MULTILINE)
ROOM = re.compile(r"^\.\. currentmodule:: (\S+)", re.MULTILINE)
ARGUMENT = re.compile(r"^ {4}(\w+): (.*)$")


def classes_of(text):
    """The estimators of a page: name and the options of its directive."""
    for found in DIRECTIVE.finditer(text):
        rooms = ROOM.findall(text[: found.start()])
        own = getattr(jaxtree, found[1], None)
        if rooms and rooms[-1] == "jaxtree" and inspect.isclass(own) and hasattr(own, "get_params"):
            yield found[1], found[2]


def first_line(kind):
    """The first line of a class's docstring."""
    return inspect.getdoc(kind).split("\n\n")[0].replace("\n", " ")


def title_of(page):
    """The heading of a page or notebook."""
    text = page.read_text(encoding="utf-8")
    if page.suffix == ".ipynb":
        return re.search(r'"# (.*?)(?:\\n)?"', text)[1]
    return re.search(r"^# (.*)$", text, re.MULTILINE)[1]


def users_of(name, source):
    """The pages and notebooks whose code has the class, as lines of a list."""
    pages = [*sorted((source / "how_do_i").glob("*.md")), *sorted(source.glob("*.ipynb"))]
    for page in pages:
        if re.search(rf"\b{name}\(", page.read_text(encoding="utf-8")):
            way = page.relative_to(source).as_posix()
            yield f"- [{title_of(page)}](../../{way})"


def page_of(name, options, source):
    """The page of a class."""
    lines = [f"# {name}\n", "```{eval-rst}", ".. currentmodule:: jaxtree\n", f".. autoclass:: {name}", f"{options}```"]
    users = list(users_of(name, source))
    if users:
        lines += ["\n## Pages that use it\n", *users]
    return "\n".join(lines) + "\n"


def write_pages(app):
    """Writes the pages of all classes; those that have not changed stay as they are, so that nothing is built again."""
    source = pathlib.Path(app.srcdir)
    folder = source / "api" / "classes"
    folder.mkdir(exist_ok=True)
    written = set()
    for topic in sorted((source / "api").glob("*.md")):
        for name, options in classes_of(topic.read_text(encoding="utf-8")):
            page, file = page_of(name, options, source), folder / f"{name}.md"
            written.add(file)
            if not file.exists() or file.read_text(encoding="utf-8") != page:
                file.write_text(page, encoding="utf-8")
    for file in set(folder.glob("*.md")) - written:
        file.unlink()


def link_classes(app, docname, content):
    """Puts links in place of the classes that have pages of their own."""
    if not re.fullmatch(r"api/\w+", docname):
        return
    names = [name for name, _ in classes_of(content[0])]
    if not names:
        return

    def link(found):
        if found[1] not in names:
            return found[0]
        summary = first_line(getattr(jaxtree, found[1])).replace("$", "")
        return f"\n* :doc:`{found[1]} <classes/{found[1]}>`: {summary}\n\n"

    pages = "\n".join(f"classes/{name}" for name in names)
    content[0] = DIRECTIVE.sub(link, content[0]) + f"\n```{{toctree}}\n:hidden:\n\n{pages}\n```\n"


def write_signature(app, what, name, obj, options, signature, return_annotation):
    """Gives an estimator the parameters that it has, in place of those of its base; their kinds stand in the table."""
    if what != "class" or not hasattr(obj, "get_params"):
        return None
    own = inspect.signature(obj)
    bare = [each.replace(annotation=inspect.Parameter.empty) for each in own.parameters.values()]
    return str(own.replace(parameters=bare, return_annotation=inspect.Signature.empty)), return_annotation


def elsewhere(name):
    """The names of a parameter in other libraries, in words."""
    same, others = [], []
    for library, names in peers().parameters.get(name, {}).items():
        if name in names:
            same.append(library)
        else:
            others.append(f"``{names[0]}`` ({library})")
    return "; ".join([*([f"the same: {', '.join(same)}"] if same else []), *others])


def arguments_of(lines):
    """The parameters of a docstring's `Args:` with their meanings, and the lines before and after."""
    start = lines.index("Args:")
    end = next((i for i in range(start + 1, len(lines)) if lines[i] and not lines[i].startswith(" ")), len(lines))
    found: dict[str, str] = {}
    name = None
    for line in lines[start + 1 : end]:
        match = ARGUMENT.match(line)
        if match:
            name = match[1]
            found[name] = match[2]
        elif name is not None and line.strip():
            found[name] += " " + line.strip()
    return lines[:start], found, lines[end:]


def table_of(arguments, defaults):
    """The parameters as a table: name, default, meaning, and names elsewhere."""
    yield from (".. rubric:: Parameters", "", ".. list-table::", "   :header-rows: 1", "   :class: parameters", "")
    yield from ("   * - parameter", "     - default", "     - meaning", "     - elsewhere")
    for name, meaning in arguments.items():
        default = "" if defaults[name].default is inspect.Parameter.empty else f"``{defaults[name].default!r}``"
        yield from (f"   * - ``{name}``", f"     - {default}", f"     - {meaning}", f"     - {elsewhere(name)}")
    yield ""


def tabulate(app, what, name, obj, options, lines):
    """Makes a table of the arguments of an estimator."""
    is_ours = what == "class" and name.startswith("jaxtree.") and hasattr(obj, "get_params")
    if not is_ours or "Args:" not in lines:
        return
    before, arguments, after = arguments_of(lines)
    defaults = inspect.signature(obj).parameters
    if arguments and set(arguments) <= set(defaults):
        lines[:] = [*before, *table_of(arguments, defaults), *after]


def setup(app):
    """Registers the extension."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", link_classes)
    app.connect("autodoc-process-signature", write_signature)
    # Before formulas and napoleon are.
    app.connect("autodoc-process-docstring", tabulate, priority=390)
    return {"parallel_read_safe": True}
