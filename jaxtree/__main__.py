"""`python -m jaxtree` is the command `jaxtree`."""

import sys

from jaxtree.errors import MissingExtraError


def main() -> None:
    """Runs the command line; where its libraries are not installed, one line says how to get them, with status 2."""
    try:
        from jaxtree.cli import main as run
    except MissingExtraError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    run()


if __name__ == "__main__":
    main()
