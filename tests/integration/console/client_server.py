"""A console with webhooks and two tenants, for clients of its API."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import httpx
import psycopg
from pydantic import SecretStr

from svc_pg.console import Console, register_tenants
from tests.integration.console.serving import bearer, serving_installed, settings
from tests.support.hooks import KEYS_TEXT, hooks_config, install

CONFIG: Final = hooks_config("order.created")
TOKENS: Final = {"operator": ("admin", None), "reader": ("read", None), "customer": ("write", "acme")}


@dataclass(frozen=True)
class Served:
    """The address of a console, and the tokens of an operator's program, of one that reads, and of a customer's."""

    base_url: str
    tokens: dict[str, str]
    document: str


@contextmanager
def serving_clients(conninfo: str) -> Iterator[Served]:
    """Serve a console in an empty database."""
    install(conninfo, CONFIG)
    with psycopg.connect(conninfo) as conn:
        conn.execute("insert into svc.tenants (id, name) values ('acme', 'Acme'), ('globex', 'Globex')")
    given = {"encryption_keys": SecretStr(KEYS_TEXT)}
    console = Console(settings(database_url=conninfo, **given), config=CONFIG)
    register_tenants(console)
    with serving_installed(console) as client:
        tokens = {name: _token(client, name, *of) for name, of in TOKENS.items()}
        yield Served(str(client.base_url).rstrip("/"), tokens, client.get("/console/openapi.json").text)


def _token(client: httpx.Client, name: str, permission: str, tenant: str | None) -> str:
    body = {"name": name, "permission": permission, "tenant": tenant}
    return str(client.post("/account/tokens", json=body, headers=bearer("admin")).json()["token"])
