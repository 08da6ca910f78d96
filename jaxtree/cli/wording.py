"""Words of the user's files in messages: short, and without what would steer a terminal."""

import unicodedata
from collections.abc import Iterable

_MOST_NAMES = 12
_LONGEST_WORD = 60
_LONGEST_MESSAGE = 2000


def in_short(text: object) -> str:
    """Returns a text as a string, cut with an ellipsis if it is long.

    >>> in_short("b"), len(in_short("b" * 200_000))
    ('b', 60)
    """
    word = str(text).replace("\n", " ")
    return word if len(word) <= _LONGEST_WORD else f"{word[: _LONGEST_WORD - 1]}…"


def listed(names: Iterable[object]) -> str:
    """Returns the first of some names, and how many more there are.

    >>> listed(["a", "b"]), listed([f"x{place}" for place in range(14)])[-15:]
    ('a, b', 'x11, and 2 more')
    """
    words = [in_short(name) for name in names]
    return ", ".join(
        words if len(words) <= _MOST_NAMES else [*words[:_MOST_NAMES], f"and {len(words) - _MOST_NAMES} more"]
    )


def in_one_line(message: str) -> str:
    """Returns a message on one line, without its middle if it is very long."""
    line = " ".join(message.split())
    if len(line) <= _LONGEST_MESSAGE:
        return line
    half = _LONGEST_MESSAGE // 2
    return f"{line[:half]} … {line[-half:]}"


def harmless(text: str) -> str:
    r"""Returns a text whose control characters, tabs and line ends aside, are written as escapes.

    >>> harmless("a\x1b[31m")
    'a\\x1b[31m'
    """
    return "".join(
        repr(character)[1:-1] if unicodedata.category(character) == "Cc" and character not in "\t\n" else character
        for character in text
    )
