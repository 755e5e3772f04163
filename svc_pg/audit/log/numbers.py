"""The numbers of the log: ids of entries, and those of transactions."""

from typing import Final

from svc_pg.errors import QueryError

HIGHEST: Final = 2**63 - 1


def number_of(entry_id: str | int) -> int:
    """The id of an entry as a number. Raises QueryError if it is not an id."""
    if (number := bigint(entry_id)) is None:
        raise QueryError(f"{str(entry_id)!r} is not the id of an entry", hint="Ids are whole numbers, such as 812.")
    return number


def transaction_number(xact_id: str | int) -> int:
    """The ``xact_id`` of an entry as a number. Raises QueryError if it is not one."""
    if (number := bigint(xact_id)) is None:
        hint = "Its number is xact_id in its entries, such as 812."
        raise QueryError(f"{str(xact_id)!r} is not a transaction", hint=hint)
    return number


def in_cursor(text: str) -> int:
    """A number in a cursor. Raises ValueError."""
    if (number := bigint(text)) is None:
        raise ValueError(f"{text!r} is not a number of the log")
    return number


def bigint(value: str | int) -> int | None:
    """A whole number that fits into a bigint; None if it is another text."""
    text = str(value)
    if not (text.isascii() and text.isdecimal() and len(text) <= len(str(HIGHEST)) and int(text) <= HIGHEST):
        return None
    return int(text)
