"""The verifier in one file verifies certificates too, without svc-pg, and refuses each that was edited."""

import base64
import copy
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.audit import SealKey
from svc_pg.seals.alone.verify_svc_pg import UnreadableError, check_certificate
from svc_pg.seals.verification.leaf import sha256_of
from svc_pg.seals.verification.proof import Proof
from svc_pg.seals.verification.seal import BEFORE_FIRST, Seal
from svc_pg.seals.verification.tree import path_to_root, root_of
from tests.support.evidence import PROGRAM

KEY: Final = SealKey("s1", b"k" * 32)
OTHER: Final = SealKey("s1", b"o" * 32)
KEYS: Final = [("s1", KEY.public.keys["s1"])]
CONTENT: Final = '["7", null, {"a": 1}, {"a": "ü\\n"}, null, null, null, null]'


def certificate(number: int = 3, key: SealKey = KEY, *, content: str | None = CONTENT, sealed: str = CONTENT) -> Any:
    """The certificate of some entries of one seal of seven."""
    whos = [
        f'[2, {900 + each}, "public.t", "16500", "UPDATE", "7", null, "ann", null, "app", null, ["a"], null, null, '
        "null, null]"
        for each in range(7)
    ]
    bare = Seal("e", None, 1, 2000, 0, 99, 1, 7, b"", BEFORE_FIRST, datetime(2026, 1, 5, tzinfo=UTC), key.key_id)
    proofs = [Proof(each, 10**14, whos[each], content, sha256_of(sealed), [], bare) for each in range(7)]
    leaves = [bytes(proof.leaf) for proof in proofs]
    unsigned = replace(bare, root=root_of(leaves))
    seal = replace(unsigned, signature=key.sign(unsigned.text))
    entries = [
        {
            "id": str(each),
            "state": "sealed",
            "proof": json.loads(replace(proofs[each], path=path_to_root(leaves, each), seal=seal).text),
        }
        for each in range(number)
    ]
    digest = root_of(leaves[:number]).hex()
    about = {"subject": "record", "table": "public.t", "record": "7"}
    return {"kind": "svc-pg audit certificate", "version": 1, **about, "digest": digest, "entries": entries}


def written(folder: Path, document: Any) -> Path:
    file = folder / "certificate.json"
    file.write_text(json.dumps(document), encoding="utf-8")
    return file


def run(*arguments: object, bare: bool = False) -> "subprocess.CompletedProcess[str]":
    flags = ["-I", "-S"] if bare else ["-I"]
    command = [sys.executable, *flags, str(PROGRAM), "certificate", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


@pytest.mark.parametrize("bare", [False, True], ids=["cryptography", "standard library"])
def test_a_certificate_is_verified_with_the_public_key_alone(tmp_path: Path, bare: bool) -> None:  # noqa: FBT001
    key, other = tmp_path / "key", tmp_path / "other"
    key.write_text(KEY.public.text)
    other.write_text(OTHER.public.text)
    file = written(tmp_path, certificate())
    done = run(file, key, bare=bare)
    assert (done.returncode, done.stderr) == (0, "")
    assert "entry 0 is proven by seal 1 of log e, 2026-01-05" in done.stdout
    assert "UPDATE of public.t 7 by ann" in done.stdout
    assert "The certificate is about record 7 of public.t." in done.stdout
    assert sha256(KEY.public.keys["s1"]).hexdigest() in done.stdout
    assert f"The digest of the certificate is {certificate()['digest']}." in done.stdout
    assert run(file, other, bare=bare).returncode == 3
    elsewhere = run(written(tmp_path, certificate(key=OTHER)), key, bare=bare)
    assert (elsewhere.returncode, "the signature of seal 1 is not of that key" in elsewhere.stdout) == (3, True)
    missing = run(tmp_path / "none.json", key, bare=bare)
    assert (missing.returncode, "cannot be read" in missing.stderr) == (1, True)


def test_contents_that_were_erased_are_not_needed(tmp_path: Path) -> None:
    lines, is_proven = check_certificate(written(tmp_path, certificate(content=None)), list(KEYS))
    assert is_proven
    assert "its contents are not in the proof" in lines[1]


def test_keys_are_of_the_contents_too_until_they_are_erased(tmp_path: Path) -> None:
    """A key that is neither a number nor a UUID is in the second part alone."""
    content = CONTENT.replace('"7"', '"ann"')
    document = certificate(1, content=content, sealed=content) | {"record": "ann"}
    assert check_certificate(written(tmp_path, document), list(KEYS))[1]
    erased = certificate(1, content=None, sealed=content) | {"record": "ann"}
    lines, is_proven = check_certificate(written(tmp_path, erased), list(KEYS))
    assert (is_proven, "is not proven to be about record ann" in lines[1]) == (False, True)


def edited(change: Callable[[Any], object]) -> Any:
    document = copy.deepcopy(certificate())
    change(document)
    return document


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda c: c["entries"][0]["proof"]["entry"].update(content="[]"), "its contents have another digest"),
        (lambda c: c["entries"][0]["proof"]["entry"].update(time=1), "it is not in seal 1 as it is here"),
        (lambda c: c["entries"][1]["proof"]["path"].pop(), "it is not in seal 1"),
        (lambda c: c["entries"][1].update(state="not_sealed", proof=None), "it has no seal yet"),
        (lambda c: c["entries"].pop(), "digest of the certificate is not that of its entries"),
        (lambda c: c["entries"].reverse(), "digest of the certificate is not that of its entries"),
        (lambda c: c.update(record="8"), "is not proven to be about record 8 of public.t"),
        (lambda c: c.update(table="public.u"), "is not proven to be about record 7 of public.u"),
        (lambda c: c.update(record=None), "is not proven to be about record None"),
        (lambda c: c.update(subject="erasure"), "entry 0 tells of no erasure"),
        (lambda c: c.update(subject="entry"), "The certificate is about entry 0."),
        (lambda c: c["entries"][1].update(state="not_sealed"), 'has the state "not_sealed"'),
        (lambda c: c["entries"][1].update(state="changed"), "digest of the certificate is not that of its entries"),
        (lambda c: c.update(digest="00" * 32), "digest of the certificate is not that of its entries"),
        (lambda c: c.update(entries=[], digest=None), "The digest of the certificate is None"),
    ],
)
def test_an_edited_certificate_is_refused(tmp_path: Path, change: Callable[[Any], object], words: str) -> None:
    lines, is_proven = check_certificate(written(tmp_path, edited(change)), list(KEYS))
    assert not is_proven
    assert words in "\n".join(lines)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.update(kind="another"),
        lambda c: c.update(version=2),
        lambda c: c.pop("digest"),
        lambda c: c.pop("subject"),
        lambda c: c.update(subject="all"),
        lambda c: c.update(entries=[{}] * 1001),
        lambda c: c["entries"][0].update(id="8"),
        lambda c: c["entries"][0]["proof"]["entry"].update(who="[3]"),
        lambda c: c["entries"][0]["proof"]["entry"].update(who="[]"),
        lambda c: c["entries"][0]["proof"]["entry"].update(id=True),
        lambda c: c["entries"][0]["proof"]["entry"].update(time=2**63),
        lambda c: c["entries"][0]["proof"].update(path=[{"left": "00" * 32}] * 65),
        lambda c: c["entries"][0]["proof"].update(path=[{"up": "00" * 32}]),
        lambda c: c["entries"][0]["proof"]["seal"].update(text="{}"),
        lambda c: c["entries"][0].update(proof="x"),
    ],
)
def test_a_file_that_is_no_certificate_is_an_error(tmp_path: Path, change: Callable[[Any], object]) -> None:
    with pytest.raises(UnreadableError, match=r"is no certificate|is damaged"):
        check_certificate(written(tmp_path, edited(change)), list(KEYS))


TEXT: Final = json.dumps(certificate(1))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("edited")


@given(position=st.integers(0, len(TEXT) - 1), character=st.sampled_from('0123456789abcdef{}[]":,\\ n'))
def test_no_change_of_a_character_proves_something_else(folder: Path, position: int, character: str) -> None:
    changed = TEXT[:position] + character + TEXT[position + 1 :]
    file = folder / "certificate.json"
    file.write_text(changed, encoding="utf-8")
    try:
        _, is_proven = check_certificate(file, list(KEYS))
    except UnreadableError:
        return
    if is_proven:
        [before], [after] = json.loads(TEXT)["entries"], json.loads(changed)["entries"]
        assert plain(after["proof"]) == plain(before["proof"])


def plain(proof: Any) -> Any:
    """The proof with its base64 decoded, whose last character has bits that say nothing."""
    seal = proof["seal"]
    return {**proof, "seal": {**seal, "signature": base64.b64decode(seal["signature"])}}
