"""The certificates of private receivers: what no worker could use is refused when it is set."""

from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.errors import EndpointError
from svc_pg.webhooks.http.contexts import usable_until
from svc_pg.webhooks.http.tls import Tls, check_tls
from svc_pg.webhooks.http.transport import Destination
from tests.support.certificates import DAY, Authority, authority


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return authority(tmp_path_factory.mktemp("authority"))


def test_good_material_is_taken_and_tells_the_end_of_the_client_certificate(ours: Authority) -> None:
    certificate, key = ours.client(expires=7 * DAY)
    ends = check_tls(Tls(ours.pem, certificate, key))
    assert ends is not None
    assert timedelta(0) < datetime.now(UTC) + 7 * DAY - ends < timedelta(minutes=1)
    assert check_tls(Tls(ca_bundle=ours.pem)) is None
    assert check_tls(Tls(client_certificate=certificate, client_key=key)) == ends


def test_the_first_certificate_of_a_chain_to_end_is_the_end(ours: Authority) -> None:
    certificate, key = ours.client(expires=7 * DAY)
    assert check_tls(Tls(None, certificate + ours.pem, key)) == ours.certificate.not_valid_after_utc


def test_a_bundle_may_still_hold_an_authority_that_has_ended(ours: Authority, tmp_path: Path) -> None:
    old = authority(tmp_path, expires=-DAY).pem
    assert check_tls(Tls(ca_bundle=old + ours.pem)) is None
    with pytest.raises(EndpointError, match="the CA bundle has ended: CN=authority, "):
        check_tls(Tls(ca_bundle=old))


def test_what_no_worker_could_use_is_refused_with_the_reason(ours: Authority) -> None:
    certificate, key = ours.client()
    other = ours.client("other")[1]
    ended, its_key = ours.client(expires=-DAY)
    encrypted = (
        ed25519.Ed25519PrivateKey.generate()
        .private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
        .decode()
    )
    refusals: list[tuple[Tls, str]] = [
        (Tls(), "tls is empty"),
        (Tls(client_certificate=certificate), "a client certificate and its key go together"),
        (Tls(client_key=key), "a client certificate and its key go together"),
        (Tls(ca_bundle="rubbish"), "the CA bundle is not a certificate in PEM"),
        (Tls(ca_bundle=""), "the CA bundle is not a certificate in PEM"),
        (Tls(ca_bundle=ours.pem.replace("M", "N")), "the CA bundle is not a certificate in PEM"),
        (Tls(ca_bundle=ours.pem * 200), "the CA bundle has "),
        (Tls(None, "rubbish", key), "the client certificate is not a certificate in PEM"),
        (Tls(None, certificate, "rubbish"), "the client key is not a private key in PEM"),
        (Tls(None, certificate, "\udcff\0"), "the client key is not a private key in PEM"),
        (Tls(None, certificate, encrypted), "the client key is encrypted"),
        (Tls(None, certificate, other), "the client key does not belong to the client certificate"),
        (Tls(None, ours.pem + certificate, key), "the client key does not belong to the client certificate"),
        (Tls(None, ended, its_key), "the client certificate has ended: CN=sender, "),
        (Tls(None, certificate + ended, key), "the client certificate has ended: CN=sender, "),
    ]
    for tls, message in refusals:
        with pytest.raises(EndpointError) as refusal:
            check_tls(tls)
        assert refusal.value.message.startswith(message)
        assert refusal.value.hint
        assert key[30:60] not in refusal.value.message


def test_the_repr_shows_no_text_and_json_keeps_all(ours: Authority) -> None:
    tls = Tls(ours.pem, *ours.client())
    assert repr(tls) == "Tls()"
    assert Tls.from_json(tls.to_json()) == tls


def test_the_repr_of_a_destination_shows_no_credentials() -> None:
    assert "Bearer" not in repr(Destination("https://example.com/", {"Authorization": "Bearer of bad news"}))


def test_the_end_of_a_client_certificate_costs_no_look_at_the_authorities_of_the_system(
    ours: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The event loop of a worker waits for it, for each endpoint that has one."""

    def fail(*_: object) -> None:
        raise AssertionError

    tls = Tls(None, *ours.client())
    monkeypatch.setattr("ssl.SSLContext.load_default_certs", fail)
    assert usable_until(tls) == check_tls(tls)


texts = st.none() | st.text() | st.sampled_from(["-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])


@given(given_texts=st.fixed_dictionaries({field.name: texts for field in fields(Tls)}))
def test_whatever_the_texts_are_the_only_error_is_one_of_an_endpoint(given_texts: dict[str, Any]) -> None:
    with pytest.raises(EndpointError):
        check_tls(Tls(**given_texts))
