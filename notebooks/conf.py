"""The documentation: `sphinx-build -W -b html notebooks site`."""

import pathlib
import re
import sys

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

import jaxtree
from jaxtree.estimators.common.display import Shown, is_for_users

project = "jaxtree"
author = "the jaxtree authors"
project_copyright = author
version = release = jaxtree.__version__

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "citations",
    "class_pages",
    "live_pages",
    "myst_nb",
    "sphinx_copybutton",
]
exclude_patterns = ["**/.ipynb_checkpoints", "README.md"]

html_theme = "furo"
html_title = f"jaxtree {release.partition('+')[0]}"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "search_scorer.js")
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#00695c", "color-brand-content": "#00695c"},
    "dark_css_variables": {"color-brand-primary": "#4db6ac", "color-brand-content": "#4db6ac"},
}
pygments_style = "friendly"
pygments_dark_style = "monokai"

# Notebooks are shown with the outputs that they were committed with.
nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Text between single backticks becomes a link if it is a name of these pages, else code.
default_role = "py:obj"
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
python_maximum_signature_line_length = 88
python_use_unqualified_type_names = True
toc_object_entries_show_parents = "hide"
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]

LISTED = [getattr(jaxtree, name) for name in jaxtree.__all__]
KINDS = [own for own in LISTED if isinstance(own, type) and issubclass(own, Shown)]
# Names that no estimator shows its users: they are for other rooms of the package.
INNER = {name for kind in KINDS for name in dir(kind)}
INNER -= {name for kind in KINDS for name in dir(kind) if is_for_users(kind, name)}
ESTIMATORS = ("jaxtree.estimators.", "jaxtree.search.", "jaxtree.files.")

_FORMULA = re.compile(r"(?<![\\$\w])\$([^$]+?)\$", re.DOTALL)


def formulas_as_roles(app, what, name, obj, options, lines):
    r"""Writes `$x$`, as docstrings have formulas, in the words of reStructuredText."""
    text = "\n".join(lines)
    lines[:] = _FORMULA.sub(lambda found: rf":math:`{' '.join(found[1].split())}`\ ", text).split("\n")


def skip_member(app, what, name, obj, skip, options):
    """Leaves out scikit-learn's own, what other rooms of the package ask of a fit, and fields, which are attributes."""
    function = getattr(obj, "fget", None) or obj
    if not callable(function):
        return True
    room = getattr(function, "__module__", None) or ""
    is_hidden = name == "get_metadata_routing" or (name in INNER and room.startswith(ESTIMATORS))
    return True if room.startswith("sklearn.") or name.endswith("_request") or is_hidden else None


def write_formula(writer, node):
    """Writes a formula as MathML, which browsers show without a script from elsewhere."""
    writer.body.append(tex2mathml(node.astext(), as_block=isinstance(node, nodes.math_block)))
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    # Before napoleon, which would see a formula's asterisks.
    app.connect("autodoc-process-docstring", formulas_as_roles, priority=400)
    app.connect("autodoc-skip-member", skip_member)
