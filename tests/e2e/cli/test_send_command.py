import json
import subprocess
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import UUID

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from svc_pg import schema
from svc_pg.database.query import scalar
from tests.support.commands import svc_pg
from tests.support.hooks import endpoint, hooks_config
from tests.support.postgres import new_database
from tests.support.roles import execute, new_role

CONFIG = hooks_config("order.created", "order.paid")


@pytest.fixture(scope="module")
def shop(postgres: str, template: str) -> Iterator[str]:
    """A database with two events and an endpoint that wants one of them."""
    with new_database(postgres, template=template) as conninfo:
        endpoint(conninfo, CONFIG, "http://127.0.0.1:9/hook", events=["order.created"])
        yield conninfo


def send(conninfo: str, folder: Path, *arguments: str, stdin: bytes = b"") -> "subprocess.CompletedProcess[str]":
    return svc_pg("send", *arguments, folder=folder, variables={"DATABASE_URL": conninfo}, read=stdin)


def sent(result: "subprocess.CompletedProcess[str]") -> UUID:
    assert result.returncode == 0, result.stderr
    return UUID(result.stdout.strip())


def test_the_id_is_all_that_is_printed_as_data(shop: str, tmp_path: Path) -> None:
    result = send(shop, tmp_path, "order.created", '{"id": 7}')
    with psycopg.connect(shop) as conn:
        stored = scalar(conn, "select payload::text from svc.webhook_messages where id = %s", (sent(result),))
    assert stored == '{"id": 7}'
    assert result.stderr == "It goes to 1 endpoint.\n"


@pytest.mark.parametrize("text", ['{"n": 12345678901234567.10,  "n": 1}\n', '"Zoë \\ud800"', "[" * 900 + "]" * 900])
def test_standard_input_is_stored_byte_for_byte(shop: str, tmp_path: Path, text: str) -> None:
    result = send(shop, tmp_path, "order.created", "-", stdin=text.encode())
    with psycopg.connect(shop) as conn:
        assert scalar(conn, "select payload::text from svc.webhook_messages where id = %s", (sent(result),)) == text


def test_an_event_that_nobody_wants_is_stored_and_says_so(shop: str, tmp_path: Path) -> None:
    result = send(shop, tmp_path, "order.paid", "{}")
    sent(result)
    assert "No endpoint wants it. To register one: svc-pg webhooks add" in result.stderr


def test_a_filter_that_cannot_be_decided_is_told(database: str, tmp_path: Path) -> None:
    for options in ({"filter": "$.amount > 9"}, {"filter": "$.id > 9"}, {}):
        endpoint(database, CONFIG, "http://127.0.0.1:9/hook", events=["order.created"], **options)
    result = send(database, tmp_path, "order.created", '{"id": 7, "amount": "ten"}')
    sent(result)
    assert result.stderr.startswith("It goes to 1 endpoint. The filter of 1 endpoint cannot be decided; ")
    found = json.loads(send(database, tmp_path, "order.created", '{"amount": "ten", "id": 10}', "--json").stdout)
    assert (found["endpoints"], found["undecided"]) == (2, 1)


def test_every_option_arrives(shop: str, tmp_path: Path) -> None:
    options = ["--tenant", "acme", "--delay", "10m", "--idempotency-key", "k", "--key", "order-7", "--json"]
    first, second = (json.loads(send(shop, tmp_path, "order.created", "{}", *options).stdout) for _ in range(2))
    assert first == {"id": second["id"], "isNew": True, "endpoints": 1, "undecided": 0}
    assert second["isNew"] is False
    with psycopg.connect(shop) as conn:
        query = "select next_attempt_at - created_at from svc.webhook_deliveries where message_id = %s"
        assert scalar(conn, query, (first["id"],)) == timedelta(minutes=10)
        query = "select concat_ws(' ', tenant, idempotency_key, key) from svc.webhook_messages where id = %s"
        assert scalar(conn, query, (first["id"],)) == "acme k order-7"
    again = send(shop, tmp_path, "order.created", "{}", *options[:-1])
    assert "This idempotency key was used before" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "stdin", "words"),
    [
        (["order.creatd", "{}"], b"", ['event "order.creatd" is not defined', 'Did you mean "order.created"?']),
        (["zzz", "{}"], b"", ['event "zzz" is not defined', "svc-pg install"]),
        (["order.paid", "{id: 7}"], b"", ["line 1, column 2", "\n  {id: 7}\n   ^\n", "Quote it for the shell"]),
        (["order.paid", "-"], b'{\n "a": 1,\n "b"}', ["line 3, column 5", '\n   "b"}\n      ^\n']),
        (["order.paid", "-"], b"", ["line 1, column 1"]),
        (["order.paid", "-"], b'"\x1b"', ["Invalid control character, line 1, column 2", '"\\u001b"']),
        (["order.paid", "-"], b'{"a": "\xe9"}', ["the payload is not UTF-8: byte 8 is 0xe9"]),
        (["order.paid", "[NaN]"], b"", ["the payload is not JSON: NaN is not JSON"]),
        (["order.paid", "-"], b'"' + b"x" * 262144 + b'"', ["webhook payload is too large"]),
        (["order.paid", "-"], b"[" * 100_000 + b"]" * 100_000, ["nested too deep"]),
    ],
)
def test_what_cannot_be_sent_is_explained(
    shop: str, tmp_path: Path, arguments: list[str], stdin: bytes, words: list[str]
) -> None:
    result = send(shop, tmp_path, *arguments, stdin=stdin)
    assert (result.returncode, result.stdout) == (1, "")
    said = result.stderr
    assert all(word in said for word in words), said
    assert "Traceback" not in said


def test_a_long_text_is_shown_around_the_place(shop: str, tmp_path: Path) -> None:
    said = send(shop, tmp_path, "order.paid", '{"a": "' + "x" * 1000 + '" oops').stderr
    _, excerpt, caret, _ = said.splitlines()
    assert excerpt == "  " + "x" * 28 + '" oops'
    assert excerpt[caret.index("^")] == "o"


@pytest.mark.parametrize("delay", ["0s", "-1m", "10", "soon"])
def test_a_delay_is_a_positive_duration(tmp_path: Path, delay: str) -> None:
    result = send("", tmp_path, "order.paid", "{}", "--delay", delay)
    assert result.returncode == 2
    assert "is not a duration" in result.stderr


def test_whoever_may_only_send_gets_the_id_and_no_number(postgres: str, shop: str, tmp_path: Path) -> None:
    with psycopg.connect(shop) as conn:
        schema.install(conn, CONFIG)
    with new_role(postgres) as role:
        execute(shop, "grant svc_sender to {}", role)
        conninfo = make_conninfo(shop, user=role)
        result = send(conninfo, tmp_path, "order.created", "{}")
        sent(result)
        assert "may not read" in result.stderr
        found = json.loads(send(conninfo, tmp_path, "order.created", "{}", "--json").stdout)
        assert (found["isNew"], found["endpoints"]) == (None, None)
        unknown = send(conninfo, tmp_path, "order.creatd", "{}")
    assert "svc-pg install" in unknown.stderr
    assert "Traceback" not in unknown.stderr


def test_a_database_without_svc_pg_says_so(empty_database: str, tmp_path: Path) -> None:
    result = send(empty_database, tmp_path, "order.created", "{}")
    assert result.returncode == 1
    assert "hint: Run: svc-pg install" in result.stderr
