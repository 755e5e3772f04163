"""Receivers in every framework: they take what is authentic and answer the rest without a reason."""

import asyncio
import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import httpx
import psycopg
import pytest
from django.core.wsgi import get_wsgi_application
from django.test import override_settings
from django.urls import path
from fastapi import Depends, FastAPI, HTTPException, Request
from psycopg.conninfo import conninfo_to_dict

from svc_pg.database.query import scalar
from svc_pg.errors import WebhookSignatureError
from svc_pg.integrations.fastapi import Envelope, limited_body, signed_webhook
from svc_pg.webhooks.signing import sign
from svc_pg.webhooks.signing.signing_keys import new_secret
from tests.integration.actor import django_shop
from tests.integration.actor.servers import serving_asgi, serving_wsgi
from tests.support.documents import examples
from tests.support.peers import node

OLD, SECRET = new_secret(), new_secret()
EVENT = {"id": "01980a4e-0000-7000-8000-000000000001", "type": "order.created", "data": {"id": 7}}
BODY = json.dumps(EVENT).encode()


def signed(body: bytes = BODY, *, secret: str = SECRET, age: int = 0) -> dict[str, Any]:
    """The arguments of a POST that is authentic, or was, or is to somebody else."""
    headers = sign(delivery_id="d", timestamp=int(time.time()) - age, body=body, secrets=[secret])
    return {"headers": headers | {"content-type": "application/json"}, "content": body}


REFUSED: dict[str, dict[str, Any]] = {
    "not signed": {"content": BODY},
    "by another secret": signed(secret=new_secret()),
    "too old": signed(age=301),
    "another body": signed() | {"content": BODY + b" "},
    "not JSON": signed(b"NaN"),
    "not UTF-8": signed(b'{"a": "\xff"}'),
    "no timestamp": {"headers": {"webhook-id": "d", "webhook-signature": "v1,"}, "content": BODY},
    "a signature of Latin letters": signed() | {"headers": [(b"webhook-signature", b"v1,\xe9")]},
}


@pytest.fixture(scope="module")
def received() -> list[dict[str, Any]]:
    return []


@pytest.fixture(scope="module")
def fastapi(received: list[dict[str, Any]]) -> Iterator[httpx.Client]:
    app = FastAPI()
    verified = signed_webhook(secret=[SECRET, OLD], max_bytes=2000)

    @app.post("/webhooks", status_code=204)
    def receive(event: Annotated[Envelope, Depends(verified)]) -> None:
        received.append(event)

    @app.post("/parsed", status_code=204)
    def receive_parsed(body: dict[str, Any], event: Annotated[Envelope, Depends(verified)]) -> None:
        assert body == event

    @app.post("/seen-before", status_code=204)
    async def receive_raw(request: Request) -> None:
        raw = await request.body()
        await verified(request)
        received.append(json.loads(raw))

    with serving_asgi(app) as url, httpx.Client(base_url=url) as client:
        yield client


@pytest.mark.parametrize("path", ["/webhooks", "/parsed", "/seen-before"])
@pytest.mark.parametrize("secret", [SECRET, OLD], ids=["the new secret", "the old secret"])
def test_fastapi_gets_the_envelope_by_either_secret(fastapi: httpx.Client, path: str, secret: str) -> None:
    answer = fastapi.post(path, **signed(secret=secret))
    assert (answer.status_code, answer.content) == (204, b"")


def test_fastapi_hands_over_what_was_sent(fastapi: httpx.Client, received: list[dict[str, Any]]) -> None:
    received.clear()
    fastapi.post("/webhooks", **signed())
    assert received == [EVENT]


@pytest.mark.parametrize("what", REFUSED)
def test_fastapi_answers_401_whatever_is_wrong_and_logs_the_reason(
    fastapi: httpx.Client, received: list[dict[str, Any]], caplog: pytest.LogCaptureFixture, what: str
) -> None:
    received.clear()
    with caplog.at_level(logging.WARNING):
        answer = fastapi.post("/webhooks", **REFUSED[what])
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json() == {"detail": "This is not an authentic webhook."}
    assert received == []
    [record] = caplog.records
    assert record.getMessage().startswith("webhook refused: ")


def test_fastapi_answers_413_to_what_is_too_large_however_it_comes(fastapi: httpx.Client) -> None:
    at_most = fastapi.post("/webhooks", **signed(b'{"a":"' + b"x" * 1992 + b'"}'))
    assert at_most.status_code == 204
    more = signed(b'{"a":"' + b"x" * 1993 + b'"}')
    in_chunks = more | {"content": iter([more["content"][:1000], more["content"][1000:]])}
    for request in (more, in_chunks):
        answer = fastapi.post("/webhooks", **request)
        assert (answer.status_code, answer.json()) == (413, {"detail": "The body may have 2000 bytes."})


def test_a_caller_who_leaves_in_the_middle_is_no_error_of_the_receiver() -> None:
    messages: Iterator[dict[str, Any]] = iter(
        [{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}]
    )

    async def receive() -> dict[str, Any]:
        return next(messages)

    with pytest.raises(HTTPException) as caught:
        asyncio.run(limited_body(Request({"type": "http"}, receive), max_bytes=2))
    assert caught.value.status_code == 400


@pytest.mark.parametrize("secret", ["", "whsec_?", []])
def test_fastapi_does_not_start_with_an_unusable_secret(secret: Any) -> None:
    with pytest.raises(WebhookSignatureError, match="secret"):
        signed_webhook(secret=secret)


@pytest.fixture(scope="module", params=["FastAPI", "Flask", "Django"])
def documented(request: pytest.FixtureRequest, received: list[dict[str, Any]]) -> Iterator[httpx.Client]:
    """The receiver of docs/receiving.md, with a limit of 2000 bytes where its framework has one."""
    names: dict[str, Any] = {"__name__": "receiver", "SECRET": SECRET, "handle": received.append}
    [example] = examples("receiving.md", request.param)
    exec(example, names)
    match request.param:
        case "FastAPI":
            server = serving_asgi(names["app"])
        case "Flask":
            assert names["app"].config["MAX_CONTENT_LENGTH"] == 1024 * 1024
            names["app"].config["MAX_CONTENT_LENGTH"] = 2000
            server = serving_wsgi(names["app"])
        case "Django":
            server = serving_wsgi(django_application(names["receive"]))
    with server as url, httpx.Client(base_url=url) as client:
        yield client


def django_application(view: Any) -> Any:
    django_shop.use("host=127.0.0.1 port=9 user=nobody dbname=none")
    urls: Any = ModuleType("urls")
    urls.urlpatterns = [path("webhooks", view)]
    protected = override_settings(
        ROOT_URLCONF=urls,
        MIDDLEWARE=["django.middleware.csrf.CsrfViewMiddleware"],
        DATA_UPLOAD_MAX_MEMORY_SIZE=2000,
    )
    with protected:
        application = get_wsgi_application()
    return protected(application)


def test_each_documented_receiver_takes_what_is_authentic(
    documented: httpx.Client, received: list[dict[str, Any]]
) -> None:
    received.clear()
    answer = documented.post("/webhooks", **signed())
    assert (answer.status_code, answer.content, received) == (204, b"", [EVENT])


@pytest.mark.parametrize("what", REFUSED)
def test_each_documented_receiver_answers_401_to_the_rest(
    documented: httpx.Client, received: list[dict[str, Any]], what: str
) -> None:
    received.clear()
    answer = documented.post("/webhooks", **REFUSED[what])
    assert (answer.status_code, received) == (401, [])
    assert not any(word in answer.text for word in ("timestamp", "signature", "JSON"))


@pytest.mark.parametrize("documented", ["Flask", "Django"], indirect=True)
def test_each_documented_receiver_has_a_limit(documented: httpx.Client, received: list[dict[str, Any]]) -> None:
    received.clear()
    answer = documented.post("/webhooks", **signed(b'{"a":"' + b"x" * 2000 + b'"}'))
    assert (answer.status_code in (400, 413), received) == (True, [])


def test_a_documented_unique_key_handles_a_message_once_and_again_after_a_failure(
    empty_database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    section = "Handle each message once"
    [table], [example] = examples("receiving.md", section, "sql"), examples("receiving.md", section)
    for name, variable in (("host", "PGHOST"), ("port", "PGPORT"), ("user", "PGUSER"), ("dbname", "PGDATABASE")):
        monkeypatch.setenv(variable, str(conninfo_to_dict(empty_database)[name]))
    handled = []

    def handle(_: object, event: dict[str, Any]) -> None:
        handled.append(event["id"])
        if len(handled) == 1:
            raise RuntimeError("the first attempt fails")

    def deliver() -> None:
        exec(example, {"psycopg": psycopg, "event": EVENT, "handle": handle})

    with psycopg.connect(empty_database) as conn:
        conn.execute(table)
    with pytest.raises(RuntimeError):
        deliver()
    deliver()
    deliver()
    assert handled == [EVENT["id"]] * 2
    with psycopg.connect(empty_database) as conn:
        assert scalar(conn, "select count(*) from received_webhooks") == 1


# keys and sequences in the order of their arrival; the first attempt fails
ARRIVALS = [("a", 2), ("a", 1), ("a", 3), ("b", 1), ("a", 2), ("a", 4), ("a", 3), ("b", 2), ("b", 1), ("a", 4)]
HANDLED = [("a", 1), ("a", 3), ("b", 1), ("a", 4), ("b", 2)]
BASE = 1_769_860_800_000_000  # sequences are microseconds since 1970, which every language must keep exactly
DRIVER = """
const pool = new (require("pg").Pool)();
let calls = 0;
const handle = async (client, event) => {
  await client.query("insert into handled (key, sequence) values ($1, $2)", [event.key, event.sequence]);
  if (++calls === 1) throw new Error("the first attempt fails");
};
const lines = require("node:readline").createInterface({ input: process.stdin });
lines.on("line", async (line) => {
  const done = await keepLatest(pool, JSON.parse(line), handle).then(() => true, () => false);
  console.log(JSON.stringify(done));
});
lines.on("close", () => pool.end());
"""


@pytest.mark.parametrize("language", ["python", "js"])
def test_the_documented_receivers_keep_the_latest_of_each_key(
    empty_database: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, language: str
) -> None:
    section = "Keep the latest"
    [table], [example] = examples("receiving.md", section, "sql"), examples("receiving.md", section, language)
    for name, variable in (("host", "PGHOST"), ("port", "PGPORT"), ("user", "PGUSER"), ("dbname", "PGDATABASE")):
        monkeypatch.setenv(variable, str(conninfo_to_dict(empty_database)[name]))
    with psycopg.connect(empty_database) as conn:
        conn.execute(table)
        conn.execute("create table handled (key text, sequence bigint)")
    envelopes = [{"key": key, "sequence": BASE + number} for key, number in ARRIVALS]
    newest = python_receiver(example, envelopes) if language == "python" else js_receiver(example, envelopes, tmp_path)
    assert newest == [False] + [True] * (len(ARRIVALS) - 1)
    with psycopg.connect(empty_database) as conn:
        handled = conn.execute("select key, sequence - %s from handled order by ctid", (BASE,)).fetchall()
        assert handled == HANDLED
        assert dict(conn.execute("select * from latest_webhooks").fetchall()) == {"a": BASE + 4, "b": BASE + 2}


def python_receiver(example: str, envelopes: list[dict[str, Any]]) -> list[bool]:
    """True for each that was taken."""
    calls = iter(range(len(envelopes)))

    def handle(conn: psycopg.Connection[Any], event: dict[str, Any]) -> None:
        conn.execute("insert into handled (key, sequence) values (%(key)s, %(sequence)s)", event)
        if next(calls) == 0:
            raise RuntimeError("the first attempt fails")

    def receive(event: dict[str, Any]) -> bool:
        try:
            exec(example, {"psycopg": psycopg, "event": event, "handle": handle})
        except RuntimeError:
            return False
        return True

    return [receive(event) for event in envelopes]


def js_receiver(example: str, envelopes: list[dict[str, Any]], folder: Path) -> list[bool]:
    """True for each that was taken."""
    program = folder / "receiver.cjs"
    program.write_text(example + DRIVER)
    with node(program) as process:
        assert process.stdin
        assert process.stdout
        answers = []
        for event in envelopes:
            process.stdin.write(json.dumps(event) + "\n")
            process.stdin.flush()
            answers.append(json.loads(process.stdout.readline()))
        return answers
