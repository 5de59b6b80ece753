"""Standard SQL text: quoted identifiers and literals."""

from collections.abc import Sequence


def identifier(name: str) -> str:
    r"""Return a name as an identifier in quotes.

    Examples
    --------
    >>> print(identifier('the "best" column'))
    "the ""best"" column"
    """
    return f'"{_checked(name, "name").replace(chr(34), chr(34) * 2)}"'


def table_identifier(name: str | Sequence[str]) -> str:
    """Return the name of a table; a sequence has the names of its schema, and so on, first.

    Examples
    --------
    >>> print(table_identifier("customers"), table_identifier(("sales", "customers")))
    "customers" "sales"."customers"
    """
    return identifier(name) if isinstance(name, str) else ".".join(map(identifier, name))


def text_literal(text: str) -> str:
    """Return a text as a literal.

    Examples
    --------
    >>> print(text_literal("it's"))
    'it''s'
    """
    return f"'{_checked(text, 'text').replace(chr(39), chr(39) * 2)}'"


def double_literal(number: float) -> str:
    """Return a number as a literal of type double, with all its digits: an exponent makes it one in standard SQL.

    Examples
    --------
    >>> print(double_literal(0.1), double_literal(-3.0), double_literal(1e-300))
    0.1e0 -3.0e0 1e-300
    """
    text = repr(float(number))
    return text if "e" in text else f"{text}e0"


def _checked(text: str, what: str) -> str:
    if "\0" in text:
        raise ValueError(f"the {what} {text!r} has a null character, which no SQL text can have: rename it")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"the {what} {text!r} is no valid Unicode text, which SQL needs: rename it") from None
    return text
