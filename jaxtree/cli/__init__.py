"""The command line."""

from jaxtree.errors import MissingExtraError

try:
    import rich
    import typer
except ImportError as error:
    raise MissingExtraError('the command line needs rich and typer: pip install "jaxtree[cli]"') from error
del rich, typer

from jaxtree.cli.app import app as app  # noqa: E402, which needs both
from jaxtree.cli.app import main as main  # noqa: E402
