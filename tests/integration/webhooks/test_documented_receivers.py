"""The receivers of docs/howto in other languages tell authentic requests from all others."""

import hmac
import shutil
import subprocess
import time
from base64 import b64decode, b64encode, urlsafe_b64decode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from svc_pg.webhooks.signing import sign
from svc_pg.webhooks.signing.signing_keys import new_secret
from tests.support import debian
from tests.support.commands import environment
from tests.support.documents import examples

PAGE: Final = "howto/receive-in-other-languages.md"
SECRET: Final = new_secret()
DELIVERY: Final = "01980a4e-0000-7000-8000-000000000001"
BODY: Final = b'{"type": "order.paid", "data": {"n": 12345678901234567.10}}'


class Language(NamedTuple):
    """A section of the page, the file for its function, and the commands that build and run ``main`` of receivers/.

    ``needs`` has the programs and files that they need, with their packages of Debian. What is slow takes more
    than ten seconds, or a large toolchain.
    """

    section: str
    file: str
    commands: Sequence[str]
    needs: Mapping[str, str]
    is_slow: bool = False


LANGUAGES: Final = {
    "js": Language("Node", "webhook.mjs", ["node main.mjs"], {"node": "nodejs"}),
    "go": Language("Go", "webhook/webhook.go", ["go build .", "./receiver"], {"go": "golang-go"}, is_slow=True),
    "ruby": Language("Ruby", "webhook.rb", ["ruby main.rb"], {"ruby": "ruby"}),
    "php": Language("PHP", "webhook.php", ["php main.php"], {"php": "php8.2-cli"}),
    "python": Language("Python", "webhook.py", ["python3 main"], {"python3": "python3"}),
    "java": Language(
        "Java", "Webhook.java", ["javac Main.java Webhook.java", "java Main"], {"javac": "openjdk-17-jdk-headless"}
    ),
    "csharp": Language(
        "C#",
        "Webhook.cs",
        ["mcs -out:main.exe Main.cs Webhook.cs", "mono main.exe"],
        {"mcs": "mono-mcs", "mono": "mono-runtime"},
        is_slow=True,
    ),
    "rust": Language(
        "Rust",
        "src/webhook.rs",
        [*examples(PAGE, "Rust", "sh")[0].splitlines(), "cargo build --quiet", "target/debug/receiver"],
        {"cargo": "cargo"}
        | {f"/usr/share/cargo/registry/{name}-*": f"librust-{name}-dev" for name in ("hmac", "sha2", "base64ct")},
        is_slow=True,
    ),
    "elixir": Language("Elixir", "webhook.ex", ["elixir -r webhook.ex main.exs"], {"elixir": "elixir"}),
}


class Request(NamedTuple):
    """The headers of Standard Webhooks, the body, and the secret that the receiver has."""

    headers: dict[str, str | bytes]
    body: bytes
    secret: str = SECRET


def signed(body: bytes = BODY, *, secret: str = SECRET, age: int = 0) -> Request:
    headers = sign(delivery_id=DELIVERY, timestamp=int(time.time()) - age, body=body, secrets=[secret])
    return Request({name: value for name, value in headers.items() if name.startswith("webhook-")}, body)


def requests() -> dict[str, tuple[Request, bool]]:
    """Requests, and if they are authentic."""
    good = signed()
    headers = good.headers
    signature = str(headers["webhook-signature"])
    _, _, encoded = signature.partition(",")

    def having(**changed: str | bytes) -> Request:
        return Request(headers | {f"webhook-{name}": value for name, value in changed.items()}, BODY)

    authentic = {
        "good": good,
        "with an empty body": signed(b""),
        "with a body of other letters": signed('{"name": "Ärger, 山, 🦆"}'.encode()),
        "with a body that is no text": signed(bytes(range(256))),
        "old enough to have waited": signed(age=200),
        "from a clock that is ahead": signed(age=-200),
        "with several signatures, ours the last": having(signature=f"v1,AAAA v1a,AAAA {signature}"),
        "with several signatures, ours the first": having(signature=f"{signature} v2,AAAA v1,{'A' * 43}="),
        "with more spaces than needed": having(signature=f"v1,AAAA  {signature}"),
    }
    others = {
        "forged": signed(secret=new_secret()),
        "changed": Request(headers, BODY + b" "),
        "changed in one letter": Request(headers, BODY.replace(b"paid", b"Paid")),
        "without its body": Request(headers, b""),
        "of another id": having(id="other"),
        "of another time": having(timestamp=str(int(headers["webhook-timestamp"]) + 1)),
        "old": signed(age=400),
        "of the future": signed(age=-400),
        "without headers": Request({}, BODY),
        "without an id": Request({name: headers[name] for name in headers if name != "webhook-id"}, BODY),
        "without a time": Request({name: headers[name] for name in headers if name != "webhook-timestamp"}, BODY),
        "without a signature": Request({name: headers[name] for name in headers if name != "webhook-signature"}, BODY),
        "with an empty id": having(id=""),
        "with an id of other letters": having(id="é山".encode()),
        "with an id that is no text": having(id=b"\xff\xfe"),
        "with an id and a body of other letters": Request(headers | {"webhook-id": "é山"}, bytes(range(256))),
        "with a version of the future": having(signature=f"v2,{encoded}"),
        "with the version of another kind of key": having(signature=f"v1a,{encoded}"),
        "with a version that begins alike": having(signature=f"v11,{encoded}"),
        "without a version": having(signature=encoded),
        "with nothing but a version": having(signature="v1"),
        "with an empty signature of the version": having(signature="v1,"),
        "with an empty list of signatures": having(signature=""),
        "with half a signature": having(signature=signature[:24]),
        "with a signature in capitals": having(signature=f"v1,{encoded.swapcase()}"),
        "with a signature before its version": having(signature=f"{encoded},v1"),
        "with signatures that are nonsense": having(signature="v1, , nonsense v1,%%% v1,===="),
        "with a signature of other letters": having(signature="v1,é山".encode()),
        "with a signature that is no text": having(signature=b"v1,\xff\xfe"),
        **{
            f"of the time {text[:20]!r}": having(timestamp=text)
            for text in (
                "",
                "soon",
                "-1",
                "0",
                "1e9",
                "NaN",
                "Infinity",
                "0x7fffffff",
                "9" * 19,
                "-9223372036854775808",
            )
        },
        "of a time that is longer than a number may be": having(timestamp="9" * 6000),
        "of a time in other digits": having(timestamp="١٧٦٩٨٦٠٨٠٠".encode()),
    }
    return {name: (case, True) for name, case in authentic.items()} | {
        name: (case, False) for name, case in others.items()
    }


def unusable() -> dict[str, Request]:
    """Requests to a receiver whose secret is none, signed with keys that everybody can read from it."""
    headers = signed().headers
    content = f"{DELIVERY}.{headers['webhook-timestamp']!s}.".encode() + BODY
    public = b64encode(bytes(range(32))).decode()
    as_url = urlsafe_b64decode(f"whpk_{public.rstrip('=')}")
    keys = {b"", bytes(range(32)), as_url, b64decode(f"whpk_{public}"), b64decode("whpk")}
    signatures = (b64encode(hmac.digest(key, content, "sha256")).decode() for key in keys)
    forged = headers | {"webhook-signature": " ".join(f"v1,{each}" for each in signatures)}
    return {
        secret: Request(forged, BODY, secret)
        for secret in ("", "whsec_", "whsec_A", "whsec_====", "whsec_%%%%", "whsec_\n", f"whpk_{public}")
    }


def line(request: Request) -> str:
    """A line of input for the programs: names with values in base64."""
    fields = request.headers | {"body": request.body, "secret": request.secret}
    return " ".join(
        f"{name}:{b64encode(value if isinstance(value, bytes) else value.encode()).decode()}"
        for name, value in fields.items()
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_documented_receiver_tells_authentic_requests_from_all_others(language: str, tmp_path: Path) -> None:
    section, file, commands, needs, is_slow = LANGUAGES[language]
    debian.need(needs, is_slow=is_slow)
    folder = tmp_path / language
    shutil.copytree(Path(__file__).with_name("receivers") / language, folder)
    [example] = examples(PAGE, section, language)
    (folder / file).parent.mkdir(exist_ok=True)
    (folder / file).write_text(example, encoding="utf-8")
    *builds, run = commands
    for build in builds:
        output_of(build, folder)
    cases, of_bad_secrets = requests(), unusable()
    lines = [line(case) for case in [*(case for case, _ in cases.values()), *of_bad_secrets.values()]]
    answers = output_of(run, folder, "".join(f"{each}\n" for each in lines)).lower().split()
    assert dict(zip(cases, answers, strict=False)) == {name: str(answer).lower() for name, (_, answer) in cases.items()}
    refusals = dict(zip(of_bad_secrets, answers[len(cases) :], strict=True))
    assert {secret: answer for secret, answer in refusals.items() if answer not in {"false", "unusable"}} == {}


def output_of(command: str, folder: Path, given: str = "") -> str:
    done = subprocess.run(
        command.split(),
        input=given,
        cwd=folder,
        env=environment(CARGO_NET_OFFLINE="true", GOTOOLCHAIN="local", GOFLAGS=""),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
