"""`python -m jaxtree` is the command `jaxtree`."""

from jaxtree.cli import main

if __name__ == "__main__":
    main()
