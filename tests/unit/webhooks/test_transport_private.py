"""Receivers of a private network: an endpoint trusts their authority and shows them its own certificate."""

import asyncio
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from threading import Thread

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)

from svc_pg.webhooks.http.contexts import Contexts, UnusableTls
from svc_pg.webhooks.http.tls import Tls
from svc_pg.webhooks.http.transport import Transport
from tests.support.certificates import Authority, authority
from tests.support.raw_receiver import OK, Answer, receiver, saying
from tests.support.transports import post, send

pytestmark = pytest.mark.anyio


@pytest.fixture
def ours(tmp_path: Path) -> Authority:
    return authority(tmp_path)


def naming(names: list[str]) -> Answer:
    """Answer every request of a connection, and note the name on the certificate of its client."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        certificate = writer.get_extra_info("peercert")
        names.append(certificate["subject"][0][0][1])
        await saying(OK)(reader, writer)

    return answer


async def test_a_private_receiver_and_its_sender_prove_who_they_are(transport: Transport, ours: Authority) -> None:
    names: list[str] = []
    async with receiver(naming(names), tls=ours.asking_server()) as address:
        for _ in range(3):
            request = post(f"https://{address}/", tls=Tls(ours.pem, *ours.client("shop")))
            assert (await send(transport, request)).outcome == "success"
    assert names == ["shop"] * 3


@contextmanager
def shaking_hands(context: ssl.SSLContext) -> Iterator[str]:
    """The address of a server that shakes hands, and says why it does not: asyncio's hangs up without a word."""

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                try:
                    context.wrap_socket(connection.dup(), server_side=True).close()
                except ssl.SSLError:
                    while connection.recv(4096):  # otherwise a reset would overtake the alert
                        pass
                connection.close()

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listening.getsockname()[1]}"
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("is_known", [False, True], ids=["no certificate", "one of somebody else"])
async def test_a_sender_that_cannot_prove_who_it_is_is_told_so(
    transport: Transport, ours: Authority, tmp_path: Path, version: ssl.TLSVersion, *, is_known: bool
) -> None:
    (tmp_path / "other").mkdir()
    shown = authority(tmp_path / "other").client() if is_known else (None, None)
    server = ours.asking_server()
    server.minimum_version = server.maximum_version = version
    with shaking_hands(server) as address:
        result = await send(transport, post(f"https://{address}/", tls=Tls(ours.pem, *shown)))
    assert (result.outcome, result.status, result.remote_ip) == ("tls_error", None, "127.0.0.1")
    assert "TLS connection" in str(result.error)
    assert "alert" in str(result.error).lower()


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("is_shown", [False, True], ids=["no certificate", "one of somebody else"])
async def test_a_receiver_that_refuses_a_certificate_by_hanging_up_is_suspected_of_it(
    transport: Transport, ours: Authority, tmp_path: Path, version: ssl.TLSVersion, *, is_shown: bool
) -> None:
    (tmp_path / "other").mkdir()
    shown = authority(tmp_path / "other").client() if is_shown else (None, None)
    server = ours.asking_server()
    server.minimum_version = server.maximum_version = version
    async with receiver(saying(OK), tls=server) as address:  # asyncio sends no alert
        result = await send(transport, post(f"https://{address}/", tls=Tls(ours.pem, *shown)))
    when, outcome = {
        ssl.TLSVersion.TLSv1_2: ("no TLS connection to 127.0.0.1: the receiver hung up during", "tls_error"),
        ssl.TLSVersion.TLSv1_3: ("the receiver hung up after the TLS handshake, without an answer", "connect_error"),
    }[version]
    assert (result.outcome, result.remote_ip) == (outcome, "127.0.0.1")
    assert str(result.error).startswith(when)
    assert str(result.error).endswith(
        "it may refuse the client certificate" if is_shown else "it may ask for a client certificate"
    )


async def test_the_bundle_takes_the_place_of_the_authorities_of_the_system(
    transport: Transport, ours: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trusted = ours.trusted()
    monkeypatch.setattr("svc_pg.webhooks.http.contexts.default_context", lambda: trusted)
    (tmp_path / "other").mkdir()
    other = authority(tmp_path / "other")
    async with receiver(saying(OK), tls=ours.server()) as address:
        results = [
            await send(transport, post(f"https://{address}/", tls=tls))
            for tls in (None, Tls(ca_bundle=other.pem), Tls(ca_bundle=ours.pem))
        ]
    assert [result.outcome for result in results] == ["success", "tls_error", "success"]
    assert "certificate verify failed" in str(results[1].error)


async def test_endpoints_share_a_connection_only_if_they_show_the_same(transport: Transport, ours: Authority) -> None:
    names: list[str] = []
    first, second = (Tls(ours.pem, *ours.client(name)) for name in ("first", "second"))
    async with receiver(naming(names), tls=ours.asking_server()) as address:
        for tls in (first, second, Tls(ours.pem, first.client_certificate, first.client_key), second):
            assert (await send(transport, post(f"https://{address}/", tls=tls))).outcome == "success"
    assert names == ["first", "second"]


async def test_material_that_cannot_be_used_is_a_tls_error_that_shows_no_key(
    transport: Transport, ours: Authority
) -> None:
    certificate, key = ours.client()
    encrypted = (
        load_pem_private_key(key.encode(), None)
        .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
        .decode()
    )
    broken = key.replace(key.splitlines()[1], key.splitlines()[1][::-1])
    materials = {
        Tls(ours.pem, *ours.client(expires=-timedelta(hours=1))): "the client certificate has ended: CN=sender",
        Tls(ours.pem, certificate, ours.client()[1]): "the client key does not belong to the client certificate",
        Tls(ours.pem, certificate, encrypted): "the client key is encrypted",
        Tls(ours.pem, certificate, broken): "the client key is not a private key in PEM",
        Tls("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", None, None): "the CA bundle is not",
    }
    connections = []

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(writer)

    async with receiver(answer) as address:
        for tls, error in materials.items():
            result = await send(transport, post(f"https://{address}/", tls=tls))
            assert (result.outcome, result.remote_ip) == ("tls_error", None)
            assert str(result.error).startswith(error)
            assert not any(line in str(result.error) for line in (tls.client_key or "").splitlines())
            assert (tls.client_key or "key").splitlines()[-1] not in repr(tls)
    assert not connections


def test_a_private_authority_need_not_have_all_that_rfc_5280_wants(ours: Authority) -> None:
    assert not Contexts().of(Tls(ca_bundle=ours.pem)).verify_flags & ssl.VERIFY_X509_STRICT


def test_a_certificate_ends_while_its_context_is_kept(ours: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    contexts, tls = Contexts(), Tls(ours.pem, *ours.client(expires=timedelta(hours=6)))
    assert contexts.of(tls) is contexts.of(tls)

    class Later(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Later":
            return cls.fromtimestamp(datetime.now(UTC).timestamp(), tz) + timedelta(hours=12)

    monkeypatch.setattr("svc_pg.webhooks.http.contexts.datetime", Later)
    with pytest.raises(UnusableTls, match="the client certificate has ended"):
        contexts.of(tls)


def test_contexts_are_kept_for_a_limited_number_of_receivers(ours: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("svc_pg.webhooks.http.contexts._MOST", 3)
    contexts = Contexts()
    materials = [Tls(ours.pem, *ours.client()) for _ in range(4)]
    kept = [contexts.of(tls) for tls in materials]
    assert [contexts.of(tls) is context for tls, context in zip(materials[1:], kept[1:], strict=True)] == [True] * 3
    assert contexts.of(materials[0]) is not kept[0]


def test_a_client_certificate_is_loaded_where_there_are_no_files_in_memory(
    ours: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr("os.memfd_create", raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = set(tmp_path.iterdir())
    assert Contexts().of(Tls(None, *ours.client())).check_hostname
    assert set(tmp_path.iterdir()) == before
