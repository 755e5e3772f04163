"""The files for PgBouncer in docs/, as they are written, serve commands, writers and a console."""

import shlex
from concurrent.futures import ThreadPoolExecutor

import httpx
import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from svc_pg import Config, audit, schema
from svc_pg.config import Grants
from svc_pg.console import Console
from svc_pg.database.query import scalar
from tests.integration.console.serving import bearer, serving_installed, settings
from tests.support import debian
from tests.support.documents import examples
from tests.support.pgbouncer import running
from tests.support.ports import free_port
from tests.support.roles import new_role

PAGE = "howto/poolers-and-replicas.md"
PASSWORD = "pass:word/ü"


def settings_of(conninfo: str, port: int) -> str:
    """The documented settings, for the database at that conninfo."""
    server = conninfo_to_dict(conninfo)
    [text] = examples(PAGE, "PgBouncer", "ini")
    assert (text.count("host=127.0.0.1 port=5432 dbname=shop"), text.count("listen_port = 6432")) == (1, 1)
    return text.replace(
        "host=127.0.0.1 port=5432 dbname=shop",
        " ".join(f"{each}={server[each]}" for each in ("host", "port", "dbname")),
    ).replace("listen_port = 6432", f"listen_port = {port}")


def users_of(conn: psycopg.Connection[object], role: str) -> str:
    """The documented list of users, with the role in place of those that are named there."""
    command = shlex.split(examples(PAGE, "PgBouncer", "sh")[1].replace("\\\n", " "))
    statement = command[command.index("-Atc") + 1]
    assert "^(shop|svc)$" in statement
    line: str = scalar(conn, statement.replace("shop|svc", role))
    return f"{line}\n"


def test_the_documented_pgbouncer_serves_all_that_the_page_says(empty_database: str, postgres: str) -> None:
    debian.program("pgbouncer", package="pgbouncer")  # or what an install grants would be left
    config = Config()
    config.audit.table("public.note")
    port = free_port()
    with new_role(postgres) as role, psycopg.connect(empty_database, autocommit=True) as conn:
        conn.execute("set password_encryption = 'scram-sha-256'")
        conn.execute(sql.SQL("alter role {} password {}").format(sql.Identifier(role), sql.Literal(PASSWORD)))
        conn.execute(
            sql.SQL("create table note (id int primary key); grant all on note to {}").format(sql.Identifier(role))
        )
        config = config.model_copy(update={"grants": Grants(admin=[role])})
        schema.install(conn, config)
        client = make_conninfo(host="127.0.0.1", port=port, dbname="shop", user=role, password=PASSWORD)
        with running(settings_of(empty_database, port), client, users=users_of(conn, role)) as pooled:
            with psycopg.connect(pooled) as writer, audit.actor(writer, "alice"):
                writer.execute("insert into note values (1)")
            with psycopg.connect(pooled) as reader:
                assert [entry.actor_id for entry in audit.query().list(reader).data] == ["alice"]
            with serving_installed(Console(settings(database_url=pooled), config=config)) as served:
                served.headers.update(bearer("read"))
                drift = served.get("/account/system").json()["drift"]
                assert (drift["problem"], drift["count"]) == (None, 0)

                def ask(_: int) -> httpx.Response:
                    return served.get("/audit/entries")

                with ThreadPoolExecutor(4) as threads:  # over several connections of the server, each statement often
                    assert {answer.status_code for answer in threads.map(ask, range(60))} == {200}
        conn.execute("drop table note; drop schema svc cascade")
        conn.execute(sql.SQL("drop owned by {}").format(sql.Identifier(role)))
