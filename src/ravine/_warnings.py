"""Warnings that point to the code of the user."""

import sys
import warnings


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warn with the line of the user's code that led here, not a line of this library or of scikit-learn."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("ravine", "sklearn"):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
