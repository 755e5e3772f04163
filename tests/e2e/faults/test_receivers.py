"""A receiver that misbehaves costs its own deliveries, nobody else's."""

from collections import Counter
from ipaddress import ip_network
from pathlib import Path

import psycopg
import pytest

from svc_pg import webhooks
from svc_pg.webhooks.http.tls import Tls
from tests.support.certificates import authority
from tests.support.hooks import endpoint, hooks_config, rows, working
from tests.support.leases import shorten_leases
from tests.support.raw_receiver import OK, Answer, dripping, flooding, in_a_thread, saying, saying_and_closing, silence
from tests.support.receiver import receiving
from tests.support.waiting import wait_until

CONFIG = hooks_config("order.created")


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (silence, "timeout"),
        (dripping(b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"), "timeout"),
        (dripping(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n", b"x"), "timeout"),
        (flooding(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;", b"extension"), "connect_error"),
        (flooding(b"", b"HTTP/1.1 102 Processing\r\n\r\n"), "http_error"),
    ],
    ids=["silence", "header drip", "body drip", "endless chunk", "endless interim responses"],
)
def test_others_get_theirs_and_no_lease_is_outlived(database: str, answer: Answer, outcome: str) -> None:
    with receiving() as healthy, in_a_thread(answer) as url:
        bad, _ = endpoint(database, CONFIG, url)
        good, _ = endpoint(database, CONFIG, healthy.url)
        shorten_leases(database)
        with psycopg.connect(database) as conn:
            webhooks.send_many(conn, "order.created", [{"id": number} for number in range(40)])
        with working(database, CONFIG, concurrency=20):
            healthy.wait_for(40)
    assert rows(database, "webhook_leases") == []  # stopping waited for them, and their leases still held
    outcomes = Counter((str(row["endpoint_id"]), row["outcome"]) for row in rows(database, "webhook_delivery_attempts"))
    of_bad = {each for key, each in outcomes if key == bad}
    assert of_bad
    assert of_bad <= {outcome, "timeout"}  # on a busy machine a flood may not get as far as its limit
    assert [number for (key, _), number in outcomes.items() if key == good] == [outcomes[good, "success"]] == [40]


@pytest.mark.parametrize("is_uvloop", [False, True], ids=["asyncio", "uvloop"])
def test_receivers_over_tls_over_ipv6_and_of_old_versions_get_theirs(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, is_uvloop: bool
) -> None:
    config = CONFIG.model_copy(deep=True)
    config.webhooks.allow_cidrs = [ip_network("127.0.0.0/8"), ip_network("::1/128")]
    signer = authority(tmp_path)
    trusted = signer.trusted()
    monkeypatch.setattr("svc_pg.webhooks.http.contexts.default_context", lambda: trusted)
    old = saying_and_closing(b"HTTP/1.0 200 OK\r\n\r\nuntil the end")
    with (
        in_a_thread(saying(OK), tls=signer.server()) as tls,
        in_a_thread(saying_and_closing(OK), tls=signer.server()) as closing,
        in_a_thread(saying(OK), host="::1") as ipv6,
        in_a_thread(old) as http10,
    ):
        ids = {endpoint(database, config, url)[0]: url for url in (tls, closing, ipv6, http10)}
        with psycopg.connect(database) as conn:
            webhooks.send_many(conn, "order.created", [{"id": number} for number in range(20)])
        with working(database, config, concurrency=20, is_uvloop=is_uvloop):
            wait_until(
                lambda: {row["status"] for row in rows(database, "webhook_deliveries")} == {"delivered"}, "all arrived"
            )
    found = Counter(
        (ids[str(row["endpoint_id"])], row["outcome"], row["status_code"], str(row["remote_ip"]), row["response_body"])
        for row in rows(database, "webhook_delivery_attempts")
    )
    assert found == {
        (tls, "success", 200, "127.0.0.1", "ok"): 20,
        (closing, "success", 200, "127.0.0.1", "ok"): 20,
        (ipv6, "success", 200, "::1", "ok"): 20,
        (http10, "success", 200, "127.0.0.1", "until the end"): 20,
    }


def test_a_private_receiver_gets_its_own_and_one_that_cannot_be_proved_says_why(database: str, tmp_path: Path) -> None:
    ours = authority(tmp_path)
    certificate, key = ours.client()
    with in_a_thread(saying(OK), tls=ours.asking_server()) as url:
        good, _ = endpoint(database, CONFIG, url, tls=Tls(ours.pem, certificate, key))
        strange, _ = endpoint(database, CONFIG, url)
        with psycopg.connect(database) as conn:
            webhooks.send(conn, "order.created", {"id": 7})
        with working(database, CONFIG):
            wait_until(
                lambda: {row["status"] for row in rows(database, "webhook_deliveries")} == {"delivered", "failed"},
                "both have ended",
            )
    attempts = rows(database, "webhook_delivery_attempts")
    assert [row["outcome"] for row in attempts if str(row["endpoint_id"]) == good] == ["success"]
    failed = [row for row in attempts if str(row["endpoint_id"]) == strange]
    assert {row["outcome"] for row in failed} == {"tls_error"}
    assert "certificate verify failed" in failed[0]["error"]
    assert key.splitlines()[1] not in str(attempts)
