"""A small timestamp authority (RFC 3161): openssl's ``ts`` behind an HTTP server that answers as a test says."""

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_SETTINGS: Final = """
[tsa]
serial = serial
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256, sha512
accuracy = secs:1
ess_cert_id_alg = sha256
"""
Key = rsa.RSAPrivateKey


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


@dataclass(frozen=True)
class Certified:
    """A certificate with its key."""

    certificate: x509.Certificate
    key: Key

    @property
    def pem(self) -> bytes:
        """The certificate."""
        return self.certificate.public_bytes(Encoding.PEM)

    @property
    def der(self) -> bytes:
        """The certificate in DER."""
        return self.certificate.public_bytes(Encoding.DER)


def root(name: str = "root") -> Certified:
    """A root authority."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return Certified(_certificate(name, key, name, key, is_ca=True), key)


def _certificate(
    name: str,
    key: Key,
    issuer: str,
    issuer_key: Key,
    *,
    is_ca: bool = False,
    usage: x509.ObjectIdentifier = ExtendedKeyUsageOID.TIME_STAMPING,
    serial: int | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
) -> x509.Certificate:
    now = datetime.now(UTC).replace(microsecond=0)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_name(name))
        .issuer_name(_name(issuer))
        .public_key(key.public_key())
        .serial_number(serial or x509.random_serial_number())
        .not_valid_before(since or now - timedelta(days=2))
        .not_valid_after(until or now + timedelta(days=2))
        .add_extension(x509.BasicConstraints(ca=is_ca, path_length=None), critical=True)
    )
    if not is_ca:
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=True)
    return builder.sign(issuer_key, hashes.SHA256())


@dataclass
class TimestampAuthority:
    """Answers queries with ``openssl ts`` in a folder, as the authority that a root certified."""

    folder: Path
    root: Certified
    signer: Certified

    @classmethod
    def new(
        cls, folder: Path, ca: Certified, *, since: datetime | None = None, until: datetime | None = None
    ) -> "TimestampAuthority":
        """An authority whose certificate is valid in this time."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        issuer = ca.certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)[0].value
        certificate = _certificate("timestamps", key, str(issuer), ca.key, since=since, until=until)
        folder.mkdir()
        made = cls(folder, ca, Certified(certificate, key))
        pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
        folder.joinpath("key.pem").write_bytes(pem)
        folder.joinpath("signer.pem").write_bytes(made.signer.pem)
        folder.joinpath("ca.pem").write_bytes(ca.pem)
        folder.joinpath("ts.cnf").write_text(_SETTINGS)
        return made

    @property
    def ca_file(self) -> Path:
        """The file with the root certificate."""
        return self.folder / "ca.pem"

    def reply(self, query: bytes) -> bytes:
        """The answer to a query, in DER."""
        self.folder.joinpath("query").write_bytes(query)
        self._run("ts", "-reply", "-config", "ts.cnf", "-section", "tsa", "-queryfile", "query", "-out", "answer",
                  "-signer", "signer.pem", "-inkey", "key.pem")  # fmt: skip
        return self.folder.joinpath("answer").read_bytes()

    def reply_for_mail(self, query: bytes) -> bytes:
        """An answer whose certificate, of the same key and serial number, is for mail and not for timestamps."""
        mine = self.signer.certificate
        for_mail = _certificate(
            "timestamps",
            self.signer.key,
            "root",
            self.root.key,
            usage=ExtendedKeyUsageOID.EMAIL_PROTECTION,
            serial=mine.serial_number,
            since=mine.not_valid_before_utc,
            until=mine.not_valid_after_utc,
        )
        other = for_mail.public_bytes(Encoding.DER)
        assert len(other) == len(self.signer.der)
        answer = self.reply(query)
        assert self.signer.der in answer
        return answer.replace(self.signer.der, other)

    def refusal(self) -> bytes:
        """An answer that refuses a query which is none."""
        return self.reply(b"no query")

    def verify(self, text: bytes, answer: bytes, *options: str) -> str:
        """The output of ``openssl ts -verify`` , with options. Raises CalledProcessError if it refuses the answer."""
        self.folder.joinpath("text").write_bytes(text)
        self.folder.joinpath("taken").write_bytes(answer)
        return self._run("ts", "-verify", "-data", "text", "-in", "taken", "-CAfile", "ca.pem", *options)

    def _run(self, *arguments: str) -> str:
        command = ["openssl", *arguments]
        return subprocess.run(command, cwd=self.folder, check=True, capture_output=True, text=True).stdout


Answer = tuple[int, dict[str, str], Iterator[bytes] | bytes]


@dataclass
class Served:
    """A server; ``answer`` decides what the next query gets, and ``queries`` has those so far."""

    url: str
    answer: Callable[[bytes], Answer]
    queries: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    is_ending: threading.Event = field(default_factory=threading.Event)


def granted(authority: TimestampAuthority) -> Callable[[bytes], Answer]:
    """Answers as an authority does."""
    return lambda query: (200, {"Content-Type": "application/timestamp-reply"}, authority.reply(query))


@contextmanager
def serving(answer: Callable[[bytes], Answer]) -> Iterator[Served]:
    """Serve on a free port of 127.0.0.1."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"]))
            served.queries.append(query)
            served.headers.append({name.lower(): value for name, value in self.headers.items()})
            status, headers, body = served.answer(query)
            parts = iter([body]) if isinstance(body, bytes) else body
            try:
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                for part in parts:
                    self.wfile.write(part)
                    self.wfile.flush()
            except OSError:
                pass  # whoever asked has hung up

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name in the library
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        served = Served(f"http://127.0.0.1:{server.server_address[1]}/tsa?key=secret", answer)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield served
        finally:
            served.is_ending.set()
            server.shutdown()
            thread.join()
