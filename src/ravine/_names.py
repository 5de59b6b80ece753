"""Names of columns, classes and files as people see them: whatever is in a name, it stays on its line and in its place.

Tables, pictures and pages write every name that came from a user through `shown`.
"""

import unicodedata
from typing import Any

UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
"""Categories of Unicode whose characters are not seen, but end lines, turn text around or drive a terminal."""

JOINERS = frozenset("\u200c\u200d")
"""Of these categories too, but letters of some scripts and some emoji are written with them."""


def shown(name: Any) -> str:
    r"""The name as text in which every character can be seen; control and direction characters become escapes.

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
