"""Texts and names that PostgreSQL can store: without NUL and lone surrogates, and names of a limited size."""

import re
from typing import Final

from svc_pg.errors import QueryError

MAX_IDENTIFIER_BYTES: Final = 63  # NAMEDATALEN - 1; PostgreSQL would cut a longer name silently
MAX_TENANT_BYTES: Final = 1024
"""The limit of a message's tenant in ``svc.send``: with an idempotency key it fits into an index."""
MAX_TENANT_CHARACTERS: Final = 400
"""The limit of a tenant of sessions, tokens, links and ``svc.tenants``: it is a part of the ids of actors."""

# an escape in JSON: a pair of surrogates, else in group 1 one that jsonb refuses, else any other
_ESCAPE: Final = re.compile(r"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u(0000|[dD][89a-fA-F]..)|.)")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_MAX_CHARACTERS: Final = 10_000
"""The limit of a text in a query."""


def is_storable(text: str) -> bool:
    """True if PostgreSQL can store the text."""
    return "\0" not in text and (text.isascii() or _SURROGATE.search(text) is None)


def is_storable_json(text: str) -> bool:
    """True if jsonb can store this JSON, escaped to ASCII: no NUL, no lone surrogate."""
    return not any(found[1] for found in _ESCAPE.finditer(text))


def refuse_unstorable(**texts: str | None) -> None:
    """Raise QueryError, naming the argument, if PostgreSQL cannot store a value, or it is no str."""
    for name, text in texts.items():
        if text is not None and not isinstance(text, str):
            raise QueryError(f"{name} is {text!r}, not a str", hint=f"Write {name}=str(...).")
        if text is not None and not is_storable(text):
            raise QueryError(f"{name} {text!r} contains NUL or a lone surrogate, which no text in PostgreSQL does")


def refuse_tenant(tenant: str) -> None:
    """Raise QueryError if a session, token, link or row of ``svc.tenants`` cannot have this tenant."""
    refuse_unstorable(tenant=tenant)
    if not 0 < len(tenant) <= MAX_TENANT_CHARACTERS or len(tenant.encode()) > MAX_TENANT_BYTES:
        raise QueryError(
            f"a tenant has 1 to {MAX_TENANT_CHARACTERS} characters, and at most {MAX_TENANT_BYTES} bytes",
            hint="Use its id, not what it is called.",
        )


def check_texts(*params: object) -> None:
    """Raise QueryError if PostgreSQL cannot store a text, or if it is too long to compare with."""
    for param in params:
        if isinstance(param, list):
            check_texts(*param)
        if not isinstance(param, str):
            continue
        if len(param) > _MAX_CHARACTERS:
            raise QueryError(f"a text has {len(param)} characters", hint=f"At most {_MAX_CHARACTERS} are accepted.")
        if not is_storable(param):
            raise QueryError(f"{param!r} contains NUL or a lone surrogate, which no text in PostgreSQL does")
