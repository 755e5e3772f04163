"""The OpenAPI document without a server, a database or an environment: the contract that integrators read."""

import json
from collections.abc import Mapping
from typing import Final

from pydantic import JsonValue, SecretStr

from svc_pg.console.app import Console, register_tenants
from svc_pg.console.http.tokens import new_connection_token
from svc_pg.settings import Permission, Settings

_ALLOWED: Final[Mapping[str, Permission]] = {"*@corp.example": "read"}


def published_document() -> Mapping[str, JsonValue]:
    """The document of a console that mails its codes, with the product ``tenant`` and none of an application."""
    _, token_hash = new_connection_token()
    console = Console(
        Settings.model_construct(  # which reads no environment
            env="test",
            console_connection_token_hash=SecretStr(token_hash),
            console_allowed_emails=_ALLOWED,
        )
    )
    register_tenants(console)
    return console.openapi()


def published_text() -> str:
    """The document as docs/openapi.json has it."""
    return json.dumps(published_document(), indent=2, ensure_ascii=False) + "\n"
