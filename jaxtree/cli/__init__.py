"""The command line."""

from importlib.util import find_spec

from jaxtree.errors import MissingExtraError

_absent = [name for name in ("rich", "typer", "pandas", "polars") if find_spec(name) is None]
if _absent:
    raise MissingExtraError(f'the command line needs {", ".join(_absent)}: pip install "jaxtree[cli]"')

from jaxtree.cli.app import app as app  # noqa: E402, which needs all of them
from jaxtree.cli.app import main as main  # noqa: E402
