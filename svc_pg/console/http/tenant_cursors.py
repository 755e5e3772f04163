"""Encrypt the cursors of sessions of one tenant: those of searches and followers hold times and numbers of others."""

import os
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final, TypeVar

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from starlette.datastructures import QueryParams

from svc_pg.console.http.parameters import refuse
from svc_pg.console.http.tokens import Session
from svc_pg.database.pagination import Page

Item = TypeVar("Item")

_PURPOSE: Final = b"svc-pg console cursors"
_NONCE_BYTES: Final = 12
_CURSORS: Final = ("cursor", "before", "after")


class TenantCursors:
    """Encrypts with a key derived from the first of those that sign sessions, and decrypts with all."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self._ciphers = [
            AESGCM(HKDF(SHA256(), length=32, salt=None, info=_PURPOSE).derive(key))  # RFC 5869
            for key in keys
        ]

    def encrypted(self, session: Session, page: Page[Item]) -> Page[Item]:
        """The page as the session may get it."""
        if session.tenant is None:
            return page
        next_cursor, prev_cursor = (self.cursor_for(session, cursor) for cursor in (page.next_cursor, page.prev_cursor))
        return replace(page, next_cursor=next_cursor, prev_cursor=prev_cursor)

    def cursor_for(self, session: Session, cursor: str | None) -> str | None:
        """One cursor as the session may get it."""
        if session.tenant is None or cursor is None:
            return cursor
        nonce = os.urandom(_NONCE_BYTES)
        content = nonce + self._ciphers[0].encrypt(nonce, cursor.encode(), session.tenant.encode())
        return urlsafe_b64encode(content).decode().rstrip("=")

    def decrypted(self, session: Session, query: QueryParams, *, words: Sequence[str] = ()) -> QueryParams:
        """The parameters with the cursors decrypted; ``words`` are those that stand for one. Raises Problem 422."""
        if session.tenant is None:
            return query
        tenant = session.tenant
        return QueryParams(
            [
                (name, self._decrypted(tenant, name, text) if name in _CURSORS and text not in words else text)
                for name, text in query.multi_items()
            ]
        )

    def _decrypted(self, tenant: str, name: str, text: str) -> str:
        with suppress(ValueError):
            content = urlsafe_b64decode(text + "=" * (-len(text) % 4))
            for cipher in self._ciphers:
                with suppress(InvalidTag):
                    return cipher.decrypt(content[:_NONCE_BYTES], content[_NONCE_BYTES:], tenant.encode()).decode()
        return refuse(name, "is not a cursor of this session")
