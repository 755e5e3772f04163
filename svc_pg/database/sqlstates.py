"""The errors that a database raises, by their SQLSTATE: ours have class SV."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Final

from svc_pg.errors import (
    AccessError,
    AppendOnlyError,
    ConflictError,
    EndpointError,
    NotFoundError,
    NotInstalledError,
    PayloadError,
    QueryError,
    SvcError,
    TransactionError,
    UnknownEventError,
    audit_not_installed,
    not_installed,
    older_schema,
    webhooks_not_installed,
)

# Our SQLSTATEs (class SV) and those that PostgreSQL raises if schema svc is missing.
BY_SQLSTATE: Final[dict[str, type[SvcError]]] = {
    "SV001": AppendOnlyError,
    "SV003": QueryError,
    "SV004": ConflictError,
    "SV101": PayloadError,
    "SV102": UnknownEventError,
    "SV103": EndpointError,
    "SV104": NotFoundError,
    "SV105": ConflictError,
    "SV106": TransactionError,
}
MISSING_FUNCTION: Final = "42883"
MISSING_OBJECT: Final = frozenset({"3F000", "42P01", MISSING_FUNCTION})
INSUFFICIENT_PRIVILEGE: Final = "42501"


def translate(error: Exception) -> SvcError | None:
    """The SvcError that a driver's error stands for, or None.

    Reads the SQLSTATE from ``sqlstate`` (psycopg 3) or ``pgcode`` (psycopg 2), also from the error inside a wrapper
    such as SQLAlchemy's or Django's.
    """
    state, source = sqlstate(error)
    return None if state is None else _translated(state, source)


def sqlstate(error: BaseException) -> tuple[str | None, BaseException]:
    """The SQLSTATE of a driver's error, as ``translate`` reads it, and the error that has it."""
    for source in unwrapped(error):
        state = getattr(source, "sqlstate", None) or getattr(source, "pgcode", None)
        if isinstance(state, str):
            return state, source
    return None, error


def unwrapped(error: BaseException) -> Iterator[BaseException]:
    """An error, and the one inside it if it is a wrapper such as SQLAlchemy's or Django's, and so on."""
    source: BaseException | None = error
    while source is not None:
        yield source
        source = getattr(source, "orig", None) or source.__cause__


def _translated(state: str, source: BaseException) -> SvcError | None:
    diag = getattr(source, "diag", None)
    message = getattr(diag, "message_primary", None) or str(source)
    if state in BY_SQLSTATE:
        detail = getattr(diag, "message_detail", None) or getattr(source, "detail", None)
        hint = getattr(diag, "message_hint", None) or getattr(source, "hint", None)
        known = BY_SQLSTATE[state](f"{message} ({detail})" if detail else message, hint=hint)
        if isinstance(known, EndpointError):
            known.field = getattr(diag, "column_name", None)
        return known
    if state in MISSING_OBJECT and "svc." in message.replace('"svc"', "svc."):
        return _missing(state, message)
    if state == INSUFFICIENT_PRIVILEGE and _not_allowed().search(message):
        hint = (
            "Name the role under send, read or admin of [grants] in svc-pg.toml and run svc-pg install, or connect as"
            ' another role: see "Roles and rights" in the documentation.'
        )
        return AccessError(message, hint=hint)
    return None


def _missing(state: str, message: str) -> NotInstalledError:
    """The error about a table, a view or a function that PostgreSQL misses."""
    from svc_pg.database import sql_products  # as below

    names = re.findall(r"svc\.(\w+)", message.replace('"svc"', "svc"))
    products = {sql_products.product_of(name) for name in names}
    if "webhooks" in products or any(map(sql_products.is_table_of_webhooks, names)):
        return webhooks_not_installed()
    if "audit" in products:
        return audit_not_installed()
    return older_schema() if state == MISSING_FUNCTION else not_installed()


@cache
def _not_allowed() -> re.Pattern[str]:
    """The ends of PostgreSQL's messages about objects of ours: it names no schema."""
    from svc_pg.database import sql_access  # an application whose roles have their rights never reads it

    tables = r"(audit|console|installed|webhook)_\w+|installation|maintenance|migrations"
    functions, views = sql_access.pattern("function"), sql_access.pattern("view")
    return re.compile(f" (schema svc|table ({tables})|view ({views})|function ({functions}))$")


@contextmanager
def translating() -> Iterator[None]:
    """Raise a driver's error as the SvcError that it stands for, if it stands for one."""
    try:
        yield
    except SvcError:
        raise  # which has been translated already
    except Exception as error:
        if known := translate(error):
            raise known from error
        raise
