"""The verifier in one file runs without svc-pg and without any package, and names each forgery of tests/vectors/."""

import ast
import base64
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.audit import SealKey
from svc_pg.seals.alone import verify_svc_pg as alone
from svc_pg.seals.alone.verify_svc_pg import UnreadableError, read_entry, verify, verify_ed25519
from tests.support.evidence import PROGRAM, VECTORS, result_of, run_alone

CASES: Final = sorted(folder.name for folder in VECTORS.iterdir() if folder.is_dir())
INTACT: Final = VECTORS / "intact"
OWNER: Final = SealKey("s1", b"k" * 32)
RFC_8032: Final = [  # section 7.1: the public key, the message, the signature
    (
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe2465"
        "5141438e7a100b",
    ),
    (
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb0"
        "0d291612bb0c00",
    ),
    (
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc0"
        "27beceea1ec40a",
    ),
    (
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a"
        "9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b58909351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9"
        "bef1177331a704",
    ),
]


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The files of the intact log, to change."""
    for name in ("export.ndjson", "seals.ndjson"):
        shutil.copy(INTACT / name, tmp_path / name)
    return tmp_path


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("bare", [False, True], ids=["cryptography", "standard library"])
def test_it_finds_what_the_verifier_of_the_database_found(case: str, bare: bool) -> None:  # noqa: FBT001 - a parameter
    assert result_of(VECTORS / case, bare=bare) == json.loads((VECTORS / case / "expected.json").read_text())


def test_it_needs_the_standard_library_alone() -> None:
    tree = ast.parse(PROGRAM.read_text(encoding="utf-8"))
    names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    names |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in names} - sys.stdlib_module_names == {"cryptography"}
    done = run_alone(INTACT, bare=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_no_module_beside_the_evidence_is_imported(copied: Path) -> None:
    program = Path(shutil.copy(PROGRAM, copied / PROGRAM.name))
    taken_over = "import sys; sys.stdout.write('taken over'); sys.stdout.flush(); import os; os._exit(0)"
    for name in ("argparse", "cryptography", "json", "sqlite3"):
        (copied / f"{name}.py").write_text(taken_over)
    for flags in ([], ["-I"], ["-P"]):
        command = [sys.executable, *flags, program.name, "export.ndjson", "seals.ndjson", str(VECTORS / "key")]
        done = subprocess.run(command, cwd=copied, capture_output=True, text=True, timeout=100)
        assert (done.returncode, done.stderr, "14 entries as sealed" in done.stdout) == (0, "", True), flags
    (copied / "sys.path.py").write_text(f"import sys; sys.path.insert(0, {str(copied)!r}); import json")
    assert (
        "taken over"
        in subprocess.run([sys.executable, "-I", "sys.path.py"], cwd=copied, capture_output=True, text=True).stdout
    )  # as it would be


def test_a_person_reads_a_line_for_each_difference() -> None:
    done = run_alone(VECTORS / "re-dated")
    assert done.returncode == 3
    first, counts, seal, unsealed = done.stdout.splitlines()
    assert first.startswith("entry 3 was re-dated: its time was 20")
    assert "entries as sealed by 3 seals; 1 are newer than the last seal, and nothing proves them." in counts
    assert seal.startswith("The last seal is 3, of 20")
    assert unsealed.startswith("Without a seal: 17 (line 15); from 20")


@pytest.mark.parametrize(("key", "message", "signature"), RFC_8032)
def test_the_signatures_of_the_rfc_are_verified(key: str, message: str, signature: str) -> None:
    values = [bytes.fromhex(each) for each in (key, message, signature)]
    assert verify_ed25519(*values)
    for position in range(3):
        for place in (0, -1):
            forged = [bytearray(each or b"\0") for each in values]
            forged[position][place] ^= 1
            assert not verify_ed25519(*map(bytes, forged)) or (position == 1 and not message)


@given(
    seed=st.binary(min_size=32, max_size=32),
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
    flipped=st.none() | st.integers(0, 511),
    other=st.booleans(),
)
def test_signatures_are_verified_as_cryptography_does(
    seed: bytes, text: str, flipped: int | None, *, other: bool
) -> None:
    key = SealKey("s1", seed)
    public, signature = key.public.keys["s1"], bytearray(key.sign(text))
    if flipped is not None:
        signature[flipped // 8] ^= 1 << flipped % 8
    text += "!" if other else ""
    try:
        Ed25519PublicKey.from_public_bytes(public).verify(bytes(signature), text.encode())
        is_signed = True
    except InvalidSignature:
        is_signed = False
    assert verify_ed25519(public, text.encode(), bytes(signature)) == is_signed == (flipped is None and not other)


def test_a_signature_whose_scalar_is_too_large_is_refused() -> None:
    key, message, signature = (bytes.fromhex(each) for each in RFC_8032[1])
    scalar = int.from_bytes(signature[32:], "little") + 2**252 + 27742317777372353535851937790883648493
    assert not verify_ed25519(key, message, signature[:32] + scalar.to_bytes(32, "little"))
    assert not verify_ed25519(b"\xff" * 32, message, signature)
    assert not verify_ed25519(key[1:], message, signature)


def test_a_key_has_one_encoding() -> None:
    """The neutral element, whose x is 0, has no sign; with it as a key, R = [1]B and S = 1 sign all messages."""
    base, one = (4 * pow(5, -1, alone._P) % alone._P).to_bytes(32, "little"), (1).to_bytes(32, "little")
    assert verify_ed25519(one, b"text", base + one)
    assert not verify_ed25519((1 | 1 << 255).to_bytes(32, "little"), b"text", base + one)


def cut(text: str) -> str:
    return text[: len(text) // 2]


@pytest.mark.parametrize(
    ("name", "change", "error"),
    [
        ("export.ndjson", cut, "export.ndjson is cut: its line"),
        ("seals.ndjson", cut, "seals.ndjson is cut: its line"),
        ("export.ndjson", lambda text: text.replace(',"tableOid"', "}\n", 1), "lacks tableOid, movedFrom"),
        ("export.ndjson", lambda text: f"[\n{text}]\n", "line 1 is no entry as svc-pg evidence writes it"),
        ("export.ndjson", lambda text: text.replace('"label"', '"actorId"', 1), "line 1 is no entry"),
        ("export.ndjson", lambda text: text.replace('{"id":"', '{"id":"0', 1), "line 1 is no entry"),
        ("export.ndjson", lambda text: text.replace('}\n', ',"label":1}\n', 1), "line 1 is no entry"),
        ("export.ndjson", lambda text: text.replace("}\n", "}x\n", 1), "line 1 is no entry"),
        ("export.ndjson", lambda text: text.replace("}\n", "]\n", 1), "line 1 is no entry"),
        ("export.ndjson", lambda text: text.replace("{", "[", 1), "line 1 is no entry"),
        ("export.ndjson", lambda _: '{"id":' + '"\\"' * 10 + "\n", "line 1 is no entry"),
        ("export.ndjson", lambda text: re.sub('(mp":)"(.*?)"', r'\1[\2]', text, count=1), "is no entry"),
        ("export.ndjson", lambda text: re.sub('(mp":)"(.*?)"', r'\g<1>1\g<2>1', text, count=1), "is no entry"),
        ("seals.ndjson", lambda text: text.replace('"digest":"', '"digest":"00', 1), "is no removal"),
        ("seals.ndjson", lambda text: text.replace('root\\":\\"', 'root\\":\\"00', 1), "is no seal"),
        ("seals.ndjson", lambda text: "x" * alone.LONGEST_SEAL + text, "line 1 is longer than 4194304 bytes"),
        ("seals.ndjson", lambda _: "", "has no seals, so nothing can be verified"),
        ("seals.ndjson", lambda text: text.replace("audit seal", "audit sael"), "is no seal"),
        ("seals.ndjson", lambda text: text.replace('"number', '"nomber'), "is no seal"),
        ("seals.ndjson", lambda text: text + text.splitlines(keepends=True)[-1], "comes after seal 3"),
        ("seals.ndjson", lambda text: text.replace('"who":"', '"hwo":"', 1), "is no removal"),
        ("seals.ndjson", lambda text: text.replace(':1,\\"prev', f':{"9" * 20},\\"prev', 1), "is no seal"),
        ("export.ndjson", lambda text: text.replace('"recordId":"1"', '"recordId":5', 1), "is no entry"),
        ("seals.ndjson", lambda text: "[" * 100_000 + "\n" + text, "is no seal"),
        ("seals.ndjson", lambda text: text.replace('version\\":2', 'version\\":3', 1), "is no seal"),
        ("seals.ndjson", lambda text: text.replace('version\\":2', 'version\\": 2', 1), "is no seal"),
        ("seals.ndjson", lambda text: text.replace('key_id\\":\\"s1\\"', 'key_id\\":[]', 1), "is no seal"),
        ("seals.ndjson", lambda text: text.replace('epoch\\":\\"', 'epoch\\":\\"\\\\ud800', 1), "is no seal"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_words(copied: Path, name: str, change: Callable[[str], str], error: str) -> None:
    file = copied / name
    file.write_text(change(file.read_text(encoding="utf-8")), encoding="utf-8")
    done = run_alone(copied)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: ")
    assert error in done.stderr


def test_a_file_that_is_not_there_or_no_text_is_refused_in_words(copied: Path) -> None:
    assert "public key cannot be read: No such file" in run_alone(copied, key=copied / "none").stderr
    (copied / "export.ndjson").write_bytes(b"\xff\n")
    assert "line 1 is not UTF-8" in run_alone(copied).stderr
    (copied / "export.ndjson").unlink()
    assert "export.ndjson cannot be read: No such file" in run_alone(copied).stderr


def test_a_file_of_copies_has_copies(copied: Path) -> None:
    (copied / "copies").touch()
    done = run_alone(copied, "--copies", str(copied / "copies"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "copies has no copies of seals" in done.stderr


def test_each_file_is_read_once_so_that_none_can_change_meanwhile(tmp_path: Path) -> None:
    """A pipe gives its bytes once."""
    for name in ("export.ndjson", "seals.ndjson", "copies"):
        os.mkfifo(tmp_path / name)
        content = (VECTORS / "intact-with-copies" / name).read_bytes()
        threading.Thread(target=(tmp_path / name).write_bytes, args=(content,), daemon=True).start()
    done = run_alone(tmp_path, "--copies", str(tmp_path / "copies"))
    assert (done.returncode, done.stdout.split(";")[0]) == (0, "14 entries as sealed by 3 seals")


def test_what_verifies_no_entry_says_so(copied: Path) -> None:
    (copied / "export.ndjson").write_text("")
    done = run_alone(copied, "--since", "2099-01-01T00:00:00Z")
    assert (done.returncode, done.stdout.splitlines()[0]) == (
        0,
        "The files have no entry of that time that has a seal, so none was verified.",
    )


def test_a_damaged_package_of_signatures_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Damaged(ModuleType):
        def __getattr__(self, name: str) -> object:
            raise RuntimeError(name)

    monkeypatch.setitem(sys.modules, "cryptography.exceptions", Damaged("cryptography.exceptions"))
    assert alone.has_signed(OWNER.public.keys["s1"], "text", OWNER.sign("text"))
    assert not alone.has_signed(OWNER.public.keys["s1"], "texts", OWNER.sign("text"))


@pytest.mark.parametrize(
    ("limit", "error"),
    [
        ("RLIMIT_FSIZE, (0, 0)", "; SQLITE_TMPDIR names another folder for it"),
        ("RLIMIT_AS, (1 << 29, 1 << 29)", "error: the memory is too small for these files"),
    ],
)
def test_a_machine_that_is_too_small_is_told_in_words(copied: Path, limit: str, error: str) -> None:
    with (copied / "export.ndjson").open("r+") as file:
        if "AS" in limit:
            file.truncate(1 << 30)  # a line without end, of holes
        else:
            file.writelines(line_with(str(key)) + "\n" for key in range(50_000))
    code = f"import resource, runpy, sys; resource.setrlimit(resource.{limit}); sys.argv = sys.argv[1:];" + (
        "runpy.run_path(sys.argv[0], run_name='__main__')"
    )
    files = [copied / "export.ndjson", copied / "seals.ndjson", VECTORS / "key"]
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, PROGRAM, *files], capture_output=True, text=True, timeout=100
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert error in done.stderr
    assert "Traceback" not in done.stderr


def test_keys_that_nobody_gave_are_named_up_to_a_bound(copied: Path) -> None:
    [line] = [line for line in SEALS.splitlines() if '\\"number\\":1,' in line]
    with (copied / "seals.ndjson").open("w", encoding="utf-8") as file:
        for number in range(1, 1500):
            named = line.replace('key_id\\":\\"s1', f'key_id\\":\\"m{number}')
            file.write(named.replace('\\"number\\":1,', f'\\"number\\":{number},') + "\n")
    found = json.loads(run_alone(copied, "--json").stdout)
    assert (len(found["findings"]), found["is_complete"], found["seals"]) == (1000, False, 1001)
    assert {each["kind"] for each in found["findings"]} == {"seal_of_unknown_key"}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("", "is no public key of Ed25519"),
        ("s1:abc", "is no public key of Ed25519"),
        ("s1:" + "A" * 40, "is no public key of Ed25519"),
        ("-----BEGIN PRIVATE KEY-----", "has a private key"),
        ("SVC_SEAL_KEY=s1:x", "has a private key"),
        ("-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----\n", "is no public key of Ed25519"),
    ],
)
def test_what_is_no_public_key_is_refused(text: str, error: str, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(text)
    done = run_alone(INTACT, key=file)
    assert (done.returncode, error in done.stderr) == (1, True)


def test_a_key_may_be_pem_or_one_of_several(tmp_path: Path) -> None:
    pem = VECTORS / "key.pem"
    assert run_alone(INTACT, key=pem).returncode == 0
    both = tmp_path / "key"
    both.write_text(f"SVC_SEAL_PUBLIC_KEYS={SealKey('s2', b'n' * 32).public.text},{(VECTORS / 'key').read_text()}")
    assert run_alone(INTACT, key=both).returncode == 0
    other = tmp_path / "other"
    other.write_text(SealKey("s1", b"n" * 32).public.text)
    assert "seal 1 was changed, or signed with another key" in run_alone(INTACT, key=other).stdout


def test_an_export_of_another_database_is_told_as_such(copied: Path) -> None:
    export = copied / "export.ndjson"
    export.write_text(export.read_text(encoding="utf-8").replace('{"id":"', '{"id":"7'), encoding="utf-8")
    lines = [line.replace('"tableOid":"', '"tableOid":"9') for line in export.read_text(encoding="utf-8").splitlines()]
    export.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    done = run_alone(copied)
    assert done.returncode == 3
    assert "No entry is as it was sealed: are the export and the seals of one database?" in done.stdout


def test_a_duplicate_line_and_a_different_spelling_are_named(copied: Path) -> None:
    export = copied / "export.ndjson"
    lines = export.read_text(encoding="utf-8").splitlines(keepends=True)
    position = next(number for number, line in enumerate(lines) if line.startswith('{"id":"3",'))
    export.write_text("".join([*lines, lines[position]]), encoding="utf-8")
    assert "entry 3 was inserted" in run_alone(copied).stdout
    lines[position] = lines[position].replace('"name": ', '"name":')
    export.write_text("".join(lines), encoding="utf-8")
    assert f"entry 3 was changed: the digest of line {position + 1} was" in run_alone(copied).stdout


def test_control_characters_of_a_forged_seal_do_not_reach_the_terminal(copied: Path) -> None:
    seals = copied / "seals.ndjson"
    text = seals.read_text(encoding="utf-8").replace('\\"key_id\\":\\"s1\\"', '\\"key_id\\":\\"\\\\u001b[2J\\"')
    seals.write_text(text, encoding="utf-8")
    done = run_alone(copied)
    assert "\x1b" not in done.stdout
    assert 'signed with the key "?[2J"' in done.stdout


def with_seals(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change each seal of a folder, and sign it again."""
    before, lines = "0" * 64, []
    for line in (folder / "seals.ndjson").read_text(encoding="utf-8").splitlines():
        values = json.loads(line)
        if "text" in values:
            seal = json.loads(values["text"]) | {"previous": before}
            change(seal)
            values["text"] = json.dumps(seal, separators=(",", ":"), sort_keys=True)
            values["signature"] = base64.b64encode(OWNER.sign(values["text"])).decode()
            before = sha256(values["text"].encode()).hexdigest()
        lines.append(json.dumps(values, separators=(",", ":")) + "\n")
    (folder / "seals.ndjson").write_text("".join(lines), encoding="utf-8")


def test_seals_of_version_1_alone_verify_nothing(copied: Path) -> None:
    with_seals(copied, lambda seal: seal.update(version=2))
    assert run_alone(copied).returncode == 0
    with_seals(copied, lambda seal: seal.update(version=1))
    done = run_alone(copied)
    assert (done.returncode, done.stdout) == (1, "")
    assert "has no seal of version 2, so nothing can be verified" in done.stderr


def test_entries_without_a_seal_are_named_and_no_period_may_have_any(copied: Path) -> None:
    export = copied / "export.ndjson"
    lines = export.read_text(encoding="utf-8").splitlines(keepends=True)
    times = [json.loads(line)["timestamp"] for line in lines]
    [seal] = [json.loads(json.loads(line)["text"]) for line in SEALS.splitlines()[-1:]]
    for key in range(30, 55):  # dated back to the first entry, in a transaction after the seals
        line = line_with(str(key)).replace('"1"', f'"{key}"', 1).replace('"2"', '"4000000000000"', 1)
        lines.append(line.replace("2026-01-05T09:30:00.000000Z", times[0]) + "\n")
    export.write_text("".join(lines), encoding="utf-8")
    done = run_alone(copied)
    assert (done.returncode, "; 26 are newer than the last seal" in done.stdout) == (0, True)
    assert "Without a seal: 30 (line 16), 31 (line 17), " in done.stdout
    assert f", 49 (line 35) and 6 more; from {times[0].replace('T', ' ')} to " in done.stdout
    assert "25 of these have a time before the last seal: their transactions ended after it, or" in done.stdout
    found = json.loads(run_alone(copied, "--json").stdout)
    assert (found["last_seal"], found["unsealed_early"], found["is_behind"]) == (3, 25, False)
    assert (found["unsealed_first"][:1], len(found["unsealed_first"])) == ([{"entry": 30, "line": 16}], 20)
    assert found["sealed_at"] == seal["sealed_at"].replace("T", " ")
    done = run_alone(copied, "--until", seal["sealed_at"])
    assert done.returncode == 3
    assert "not proven, because 25 entries of that time have no seal: seal, and write anew." in done.stdout


def test_a_period_needs_a_seal_after_it(copied: Path) -> None:
    export = copied / "export.ndjson"
    export.write_text("".join(LINES[number] for number in SEALED), encoding="utf-8")
    [seal] = [json.loads(json.loads(line)["text"]) for line in SEALS.splitlines()[-1:]]
    assert run_alone(copied, "--until", seal["sealed_at"]).returncode == 0
    done = run_alone(copied, "--until", seal["sealed_at"].replace("Z", "1Z").replace("2026", "2036"))
    assert done.returncode == 3
    assert "not proven, because the last seal is older than --until: seal, and write anew." in done.stdout
    done = run_alone(copied, "--since", seal["sealed_at"], "--until", seal["sealed_at"])
    assert (done.returncode, "--until must be after --since" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("after_id", "until_id", "index"),
    [(None, None, "entry_xact"), (None, 9, "entry_xact"), (9, None, "entry_xact"), (9, 12, "entry_id")],
)
def test_a_seal_reads_its_own_entries_alone(
    copied: Path, after_id: int | None, until_id: int | None, index: str
) -> None:
    with_seals(copied, lambda seal: seal.update(after_id=after_id, until_id=until_id))
    seal, _ = next(alone.seals_of(copied / "seals.ndjson"))
    text, values = alone.stretch_of(seal, ())
    with closing(sqlite3.connect(":memory:")) as store:
        store.executescript(alone._TABLES + alone._INDEXES)
        [first, *_] = store.execute(f"explain query plan {text}", values).fetchall()
    assert f"USING INDEX {index} " in first[3]


def seal_of(number: int, *, signed_as: int | None = None, began: str | None = None) -> alone.Seal:
    """A seal without entries; one that is signed with another number is changed."""
    facts = {
        "kind": "svc-pg audit seal", "version": 2, "number": number, "previous": "0" * 64, "key_id": "s1", "epoch": "e",
        "epoch_began_at": began, "from_xact_id": None, "until_xact_id": 20, "after_id": None, "until_id": None,
        "entries": 0, "root": alone.root_of([]).hex(), "sealed_at": "2026-01-05T10:00:00.000000Z",
    }  # fmt: skip
    text, other = (
        json.dumps(facts | {"number": each}, separators=(",", ":"), sort_keys=True)
        for each in (number, signed_as or number)
    )
    return alone.Seal.of(text, OWNER.sign(other))


def test_a_seal_has_one_order_of_its_members() -> None:
    facts = json.loads(seal_of(1).text)
    text = json.dumps(dict(reversed(facts.items())), separators=(",", ":"))
    with pytest.raises(ValueError, match="text"):
        alone.Seal.of(text, OWNER.sign(text))


def new_chain() -> alone.Chain:
    return alone.Chain([("s1", OWNER.public.keys["s1"])], alone.Verification())


def test_the_part_of_a_seal_ends_before_the_next_epoch_whose_seal_is_signed() -> None:
    chain, began = new_chain(), [f"2026-01-0{day}T00:00:00.000000Z" for day in (2, 3, 4)]
    for number, time in enumerate([None, *began], 1):
        chain.take(seal_of(number, signed_as=9 if number == 3 else None, began=time))
    first, _, last = map(alone.microseconds, began)
    assert chain.epochs == {alone.LOWEST, first, last}
    ends = [alone.stretch_of(seal_of(1, began=time), chain.epochs)[1]["ended"] for time in (None, *began)]
    assert ends == [first - 1, last - 1, last - 1, alone.HIGHEST]


def test_exchanged_seals_are_told_from_changed_ones_as_far_as_twenty_back() -> None:
    kinds = []
    for changed in (19, 20):
        chain = new_chain()
        for number in range(1, changed + 1):
            chain.take(seal_of(number, signed_as=900 + number))
        chain.take(seal_of(50, signed_as=51))
        chain.take(seal_of(51, signed_as=50))
        kinds.append(Counter(each["kind"] for each in chain.result.findings))
    assert [(each["seals_swapped"], each["seal_changed"]) for each in kinds] == [(1, 19), (0, 22)]
    chain = new_chain()
    chain.take(seal_of(1, signed_as=2))
    chain.take(seal_of(2, signed_as=3))
    assert [each["kind"] for each in chain.result.findings] == ["seal_changed", "seal_changed"]


def test_a_seal_that_is_not_its_copy_is_of_another_log_only_if_that_has_another_name() -> None:
    chain = new_chain()
    chain.take(seal_of(1), seal_of(1, began="2026-01-02T00:00:00.000000Z"))
    assert [each["message"] for each in chain.result.findings] == ["seal 1 is not the one of the copies"]


def test_forged_copies_are_named_up_to_a_bound_and_prove_no_seal() -> None:
    chain = new_chain()
    chain.take(seal_of(1))
    chain.end(seal_of(number, signed_as=1) for number in range(2, 1200))
    assert Counter(each["kind"] for each in chain.result.findings) == {"copy_changed": alone.MOST_FINDINGS + 1}


@pytest.mark.parametrize(("kept", "words"), [(0, "seals 1 to 3 are"), (1, "seals 2 to 3 are"), (2, "seal 3 is")])
def test_the_copies_name_the_newest_seals_that_are_gone(copied: Path, kept: int, words: str) -> None:
    seals = [line for line in SEALS.splitlines(keepends=True) if not line.startswith('{"removal":')]
    (copied / "seals.ndjson").write_text("".join(seals[:kept]), encoding="utf-8")
    copies = VECTORS / "intact-with-copies" / "copies"
    found = verify(copied / "export.ndjson", copied / "seals.ndjson", VECTORS / "key", copies=copies)
    messages = [each["message"] for each in found.findings if each["kind"] == "seal_missing"]
    assert messages == [f"{words} missing: the copies have them"]


def line_with(record: str) -> str:
    members = dict.fromkeys(alone.MEMBERS, "null")
    members |= {
        "id": '"1"',
        "timestamp": '"2026-01-05T09:30:00.000000Z"',
        "xactId": '"2"',
        "recordId": json.dumps(record),
    }
    return "{" + ",".join(f'"{name}":{value}' for name, value in members.items()) + "}"


@pytest.mark.parametrize(
    "hostile",
    ["[" + "1" * 100_000, "[" + '"1", ' * 50_000, '["' + "0" * 50_000 + "x", "[-" * 50_000, "[null" + "null" * 50_000],
)
def test_a_hostile_key_is_read_in_one_go(hostile: str) -> None:
    """Backtracking would take years."""
    assert read_entry(line_with(hostile)).who.count("null") > 10
    with pytest.raises(ValueError, match='"'):
        read_entry('{"id":"' + '\\"' * 100_000)


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    def entries(number: int) -> Path:
        folder = tmp_path / str(number)
        folder.mkdir()
        shutil.copy(INTACT / "seals.ndjson", folder / "seals.ndjson")
        with (folder / "export.ndjson").open("w", encoding="utf-8") as file:
            file.write((INTACT / "export.ndjson").read_text(encoding="utf-8"))
            for key in range(1000, 1000 + number):  # newer than the last seal
                line = line_with(str(key)).replace('"1"', f'"{key}"', 1).replace('"2"', '"4000000000000"', 1)
                file.write(line.replace("2026", "2036", 1) + "\n")
        return folder

    def peak(folder: Path) -> int:
        code = (
            "import resource, runpy, sys\n"
            "sys.argv = sys.argv[1:]\n"
            "try: runpy.run_path(sys.argv[0], run_name='__main__')\n"
            "except SystemExit as end: assert end.code == 0, end.code\n"
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)"
        )
        files = [folder / "export.ndjson", folder / "seals.ndjson", VECTORS / "key"]
        done = subprocess.run(
            [sys.executable, "-I", "-c", code, PROGRAM, *files], capture_output=True, text=True, timeout=100
        )
        assert f"{int(folder.name) + 1} are newer than the last seal" in done.stdout
        return int(done.stderr)

    assert peak(entries(60_000)) - peak(entries(6_000)) < 10_000  # kB


def test_the_library_call_reads_the_same(copied: Path) -> None:
    found: Any = verify(copied / "export.ndjson", copied / "seals.ndjson", VECTORS / "key")
    assert (found.findings, found.is_complete, found.seals) == ([], True, 3)
    with pytest.raises(UnreadableError):
        verify(copied, copied / "seals.ndjson", VECTORS / "key")


LINES: Final = (INTACT / "export.ndjson").read_text(encoding="utf-8").splitlines(keepends=True)
SEALED: Final = [number for number, line in enumerate(LINES) if '"operation":"DELETE","recordId":"5"' not in line]
SEALS: Final = (INTACT / "seals.ndjson").read_text(encoding="utf-8")
assert len(SEALED) == len(LINES) - 1  # the last has no seal
CHARACTERS: Final = st.sampled_from('0123456789abcn{}[]":,\\ é\n\x00-')


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For examples, each of which writes its own files."""
    return tmp_path_factory.mktemp("forged")


def is_accepted(folder: Path, export: str, seals: str = SEALS) -> bool:
    (folder / "export.ndjson").write_text(export, encoding="utf-8", newline="")
    (folder / "seals.ndjson").write_text(seals, encoding="utf-8", newline="")
    try:
        found = verify(folder / "export.ndjson", folder / "seals.ndjson", VECTORS / "key")
    except UnreadableError:
        return False
    return not found.findings and not found.unproven and found.is_complete


@given(number=st.sampled_from(SEALED), position=st.integers(0, 2000), character=CHARACTERS)
def test_no_change_of_a_character_of_a_sealed_entry_is_accepted(
    folder: Path, number: int, position: int, character: str
) -> None:
    line = LINES[number]
    place = position % len(line)
    forged = line[:place] + character + line[place + 1 :]
    changed = "".join([*LINES[:number], forged, *LINES[number + 1 :]])
    assert is_accepted(folder, changed) == (forged == line)


@given(first=st.sampled_from(SEALED), second=st.sampled_from(SEALED), name=st.sampled_from(alone.MEMBERS))
def test_no_exchange_of_values_and_no_other_number_of_lines_is_accepted(
    folder: Path, first: int, second: int, name: str
) -> None:
    one, other = alone._members(LINES[first][:-1]), alone._members(LINES[second][:-1])
    lines = [*LINES]
    for number, own, theirs in ((first, one, other), (second, other, one)):
        values = own | {name: theirs[name]}
        lines[number] = "{" + ",".join(f'"{each}":{value}' for each, value in values.items()) + "}\n"
    assert is_accepted(folder, "".join(lines)) == (one[name] == other[name])
    assert not is_accepted(folder, "".join([*LINES[:first], *LINES[first + 1 :]]))
    assert not is_accepted(folder, "".join([*LINES, LINES[first]]))
    assert is_accepted(folder, "".join(sorted(LINES, key=lambda line: line[second:])))  # their order says nothing


@given(position=st.integers(0, len(SEALS) - 1), character=CHARACTERS, cut=st.booleans())
def test_a_changed_file_of_seals_raises_nothing_but_its_error(
    folder: Path, position: int, character: str, *, cut: bool
) -> None:
    changed = SEALS[:position] + character + ("" if cut else SEALS[position + 1 :])
    if is_accepted(folder, "".join(LINES), changed):  # the newest seals may be gone, and leaves that entries prove
        for before, now in zip(signed(SEALS), signed(changed), strict=False):
            assert now[:2] == before[:2]
            assert now[2] in (None, before[2])


def signed(seals: str) -> list[tuple[str, bytes, bytes | None]]:
    """The text, the signature and the leaves of each seal."""
    values = [json.loads(line) for line in seals.splitlines() if not line.startswith('{"removal":')]
    parts = [[each.get(name) for name in ("text", "signature", "leaves")] for each in values]
    decoded = base64.b64decode
    return [(text, decoded(sign), None if leaves is None else decoded(leaves)) for text, sign, leaves in parts]


@given(number=st.integers(1, 3), position=st.integers(0, 2000), character=st.sampled_from("0123456789abcdef"))
def test_no_change_of_the_text_of_a_seal_is_accepted(folder: Path, number: int, position: int, character: str) -> None:
    lines = SEALS.splitlines(keepends=True)
    values = json.loads(lines[number - 4])
    place = position % len(values["text"])
    forged = values | {"text": values["text"][:place] + character + values["text"][place + 1 :]}
    lines[number - 4] = json.dumps(forged) + "\n"
    assert is_accepted(folder, "".join(LINES), "".join(lines)) == (forged == values)
