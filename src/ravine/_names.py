"""Display the names of columns, classes and files, so that no character in a name can break a line or the layout.

Tables, figures and pages pass every name given by a user through `shown`.
"""

import unicodedata
from typing import Any

UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Unicode categories of invisible characters that end lines, reverse the text direction or control a terminal."""

JOINERS = frozenset("\u200c\u200d")
"""Characters of these categories that are kept, since some scripts and some emoji need them."""


OTHER = "other"
"""Name of the level that stands for all rare levels of a category."""


def shown(name: Any) -> str:
    r"""Return the name as text without invisible characters; control and direction characters become escapes.

    Examples
    --------
    >>> print(shown("width"), shown("cost_$"), shown("two\nlines"), shown("\x1b[31mred"), shown("\u202eleft"))
    width cost_$ two\nlines \x1b[31mred \u202eleft
    """
    text = str(name)
    if text.isprintable():
        return text
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in UNSEEN and c not in JOINERS else c
        for c in text
    )
