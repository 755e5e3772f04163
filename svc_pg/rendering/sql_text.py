"""SQL composed in Python for databases that psycopg does not quote for, of constant texts and quoted values alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, LiteralString

from svc_pg.errors import RenderError

_FLAT: Final = 50
"""The most operands in a row. SQLite counts each as a level of nesting, and accepts 1,000."""


@dataclass(frozen=True, slots=True)
class Sql:
    """A piece of SQL in which every value is quoted. Only ``sql`` and a dialect's quoting make one."""

    text: str


def sql(template: LiteralString, *parts: Sql) -> Sql:
    """Put ``parts`` into the holes ``{}``, ``{0}`` of a constant text, in which ``{{`` is a brace."""
    for part in parts:
        _require(part)
    return Sql(template.format(*(part.text for part in parts)))


def joined(operator: LiteralString, parts: Sequence[Sql]) -> Sql:
    """Join by a separator, such as a comma."""
    for part in parts:
        _require(part)
    return Sql(operator.join(part.text for part in parts))


def chained(operator: LiteralString, parts: Sequence[Sql]) -> Sql:
    """Join by an associative operator, such as ``or``; many operands in parentheses, so that none is nested deeply."""
    if len(parts) <= _FLAT:
        return joined(operator, parts)
    groups = [parts[start : start + _FLAT] for start in range(0, len(parts), _FLAT)]
    return chained(operator, [sql("({})", joined(operator, group)) for group in groups])


def checked(text: str, *, nul: str) -> str:
    """A text that a statement can contain. Raises RenderError; ``nul`` says why NUL is refused."""
    if "\0" in text:
        raise RenderError(f"{text!r} contains NUL, {nul}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise RenderError(f"{text!r} is not valid Unicode: {error.reason}") from error
    return text


def _require(part: object) -> None:
    if not isinstance(part, Sql):
        raise RenderError(f"SQL is composed of SQL, not of {type(part).__name__}", hint="Quote the value first.")
