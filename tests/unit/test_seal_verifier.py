"""The verifier of seals is one folder, read in an hour, and its page tells what it does."""

import json
import re
import subprocess
import sys
from base64 import b64encode
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.audit import SealKey
from svc_pg.errors import ProofError
from svc_pg.seals.verification.chain import Chain
from svc_pg.seals.verification.comparison import compare
from svc_pg.seals.verification.leaf import Leaf, digest_of, sha256_of, split
from svc_pg.seals.verification.proof import Proof, check
from svc_pg.seals.verification.seal import Seal, has_signed
from svc_pg.seals.verification.tree import path_to_root, root_of
from svc_pg.seals.writing.copy_line import line_of
from tests.support.documents import ROOT, examples

PAGE: Final = "explanation/verifier.md"
FOLDER: Final = ROOT / "svc_pg" / "seals" / "verification"
MODULES: Final = sorted(file.stem for file in FOLDER.glob("*.py") if file.stem != "__init__")
KEY: Final = SealKey("s1", b"k" * 32)
NOW: Final = datetime(2026, 1, 5, tzinfo=UTC)

ALONE: Final = """
import importlib, pathlib, sys

OURS = ("svc_pg", "svc_pg.errors", "svc_pg.version", "svc_pg.seals", "svc_pg.seals.verification")
OTHERS = {*sys.stdlib_module_names, "cryptography", "_openssl", "_cffi_backend"}

class Wall:
    def find_spec(self, name, path=None, target=None):
        if name not in OURS and not name.startswith(f"{OURS[-1]}.") and name.partition(".")[0] not in OTHERS:
            raise ModuleNotFoundError(f"the verifier imports {name}")

sys.meta_path.insert(0, Wall())
before = set(sys.modules)
for name in sys.argv[2:]:
    importlib.import_module(f"svc_pg.seals.verification.{name}")
from svc_pg.seals.verification.chain import Chain
from svc_pg.seals.verification.copies import read_copies

chain = Chain({"s1": bytes.fromhex(sys.stdin.read())})
for seal in read_copies(pathlib.Path(sys.argv[1])):
    chain.take(seal)
print(chain.taken, chain.findings)
print(*sorted(name for name in set(sys.modules) - before if name.partition(".")[0] == "svc_pg"))
"""


@pytest.fixture(scope="module")
def example() -> dict[str, Any]:
    """The names of the page's example, which has run."""
    names: dict[str, Any] = {}
    exec("".join(examples(PAGE, "The format")), names)
    return names


@pytest.fixture
def seal(example: dict[str, Any]) -> Seal:
    """The seal of the example."""
    return Seal.of_copy({"text": example["text"], "signature": b64encode(example["signature"]).decode()})


def proof_of(example: dict[str, Any], seal: Seal, position: int) -> Proof:
    number, _, who, content = example["entries"][position]
    path = path_to_root(example["leaves"], position)
    time = Leaf.of(example["leaves"][position]).time
    return Proof(number, time, who, content, sha256_of(content), path, seal)


def test_the_example_of_the_page_is_what_the_verifier_computes(example: dict[str, Any], seal: Seal) -> None:
    for (number, time, who, content), leaf in zip(example["entries"], example["leaves"], strict=True):
        found = Leaf.of(leaf)
        assert (found.id, found.digest) == (number, digest_of(who, sha256_of(content)))
        assert f"{found.timestamp:%Y-%m-%dT%H:%M:%S.%fZ}" == time
        assert bytes(found) == leaf
    assert root_of(example["leaves"]) == example["root"] == seal.root
    assert (seal.text, seal.entries, seal.digest) == (example["text"], 3, example["digest"](seal.text.encode()))
    assert seal.signature == KEY.sign(seal.text) == example["signature"]
    assert has_signed(example["public_key"], seal.text, seal.signature)
    assert not has_signed(example["public_key"], f"{seal.text} ", seal.signature)
    leaves = b"".join(example["leaves"])
    assert compare(seal, leaves, leaves).is_sealed
    assert [leaf.id for leaf in compare(seal, leaves[48:], leaves).missing] == [1]
    steps = [("left" if step.is_left else "right", step.digest) for step in path_to_root(example["leaves"], 1)]
    assert steps == [("left", example["first"]), ("right", example["third"])]


def test_the_page_verifies_copies_and_a_proof_by_hand(
    example: dict[str, Any],
    seal: Seal,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    [by_hand] = examples(PAGE, "Verify copies and proofs by hand")
    second = replace(seal, number=2, previous=seal.digest)
    forged = replace(second, signature=seal.signature)
    monkeypatch.chdir(tmp_path)
    Path("proof.json").write_text(proof_of(example, seal, 1).text, encoding="utf-8")
    Path("seals").write_bytes(line_of(seal) + line_of(replace(second, signature=KEY.sign(second.text))))
    exec(by_hand, {})
    assert capsys.readouterr().out == '2 seals were read\n"alice" "UPDATE"\n'
    Path("seals").write_bytes(line_of(seal) + line_of(forged))
    exec(by_hand, {})
    [told] = re.findall(r"print\(finding.message\)  # (.*)", by_hand)
    assert capsys.readouterr().out.splitlines()[0] == told
    Path("seals").write_bytes(line_of(seal) + line_of(replace(second, key_id="s2")))
    exec(by_hand, {})
    assert 'seal 2 is signed with the key "s2", whose public key is not given' in capsys.readouterr().out


def test_the_verifier_imports_the_standard_library_cryptography_and_the_errors_alone(
    seal: Seal, tmp_path: Path
) -> None:
    file = tmp_path / "seals"
    file.write_bytes(line_of(seal))
    done = subprocess.run(
        [sys.executable, "-c", ALONE, file, *MODULES],
        input=KEY.public.keys["s1"].hex(),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == ""
    verified, loaded = done.stdout.splitlines()
    assert verified == "1 []"
    own = [f"svc_pg.seals.verification.{name}" for name in MODULES]
    others = ["svc_pg", "svc_pg.errors", "svc_pg.seals", "svc_pg.seals.verification", "svc_pg.version"]
    assert loaded.split() == sorted([*own, *others])


def test_the_page_has_each_file_with_its_lines_and_an_hour_is_enough() -> None:
    text = (ROOT / "docs" / PAGE).read_text(encoding="utf-8")
    first, second = text.split("## The verifier of a whole log")
    lines = {f"{name}.py": (FOLDER / f"{name}.py").read_text(encoding="utf-8").splitlines() for name in MODULES}
    assert told(first) == {name: len(text) for name, text in lines.items()}
    assert sum(1 for each in lines.values() for line in each if line.strip()) <= 770
    beside = told(second)
    folder = ROOT / "svc_pg" / "seals" / "database"
    assert beside == {name: len((folder / name).read_text(encoding="utf-8").splitlines()) for name in beside}
    assert {"leaf_queries.py", "log_verification.py"} < beside.keys()
    statements = (ROOT / "sql" / "queries" / "seals").iterdir()
    count = sum(len(file.read_text(encoding="utf-8").splitlines()) for file in statements)
    assert f"| `sql/queries/seals/` | {count} |" in second


def told(text: str) -> dict[str, int]:
    """The lines of each file in the tables of a text."""
    return {name: int(lines) for name, lines in re.findall(r"^\| `(\w+\.py)` \| (\d+) \|", text, flags=re.MULTILINE)}


@pytest.mark.parametrize("name", ["id", "time"])
def test_a_proof_whose_number_is_a_truth_value_is_damaged(name: str, example: dict[str, Any], seal: Seal) -> None:
    proof = proof_of(example, seal, 0)
    check(proof, KEY.public.keys)
    written = json.loads(proof.text)
    written["entry"][name] = True
    with pytest.raises(ProofError, match="damaged"):
        Proof.parse(json.dumps(written))


def test_a_proof_of_parts_with_more_members_than_are_known_is_refused(example: dict[str, Any], seal: Seal) -> None:
    proof = proof_of(example, seal, 0)
    for who, content in ((f"{proof.who[:-1]}, 1]", None), (proof.who.replace("2", "3", 1), None)):
        digest = proof.digest
        bare = replace(seal, entries=1, root=root_of([bytes(Leaf(proof.id, proof.time, digest_of(who, digest)))]))
        signed = replace(bare, signature=KEY.sign(bare.text))
        with pytest.raises(ProofError, match="another version"):
            check(replace(proof, who=who, content=content, path=[], seal=signed), KEY.public.keys)


@pytest.mark.parametrize(("kept", "words"), [(0, "seals 1 to 3 are"), (1, "seals 2 to 3 are"), (2, "seal 3 is")])
def test_the_copies_name_the_newest_seals_that_are_gone(seal: Seal, kept: int, words: str) -> None:
    seals = [seal]
    for number in (2, 3):
        unsigned = replace(seal, number=number, previous=seals[-1].digest)
        seals.append(replace(unsigned, signature=KEY.sign(unsigned.text)))
    chain = Chain(KEY.public.keys, seals)
    for each in seals[:kept]:
        assert chain.take(each)
    chain.end()
    assert [each.message for each in chain.findings] == [f"{words} missing: the copies have them"]


@pytest.mark.parametrize(
    "change",
    [{"key_id": 7}, {"epoch": None}, {"number": True}, {"number": "1"}, {"entries": None}, {"version": 3}],
    ids=str,
)
def test_a_seal_whose_member_has_another_type_is_damaged(change: dict[str, Any], seal: Seal) -> None:
    text = json.dumps(json.loads(seal.text) | change, separators=(",", ":"), sort_keys=True)
    with pytest.raises(ProofError, match="damaged"):
        Seal.of_copy({"text": text, "signature": b64encode(KEY.sign(text)).decode()})


def test_a_seal_has_one_order_of_its_members(seal: Seal) -> None:
    text = json.dumps(dict(reversed(json.loads(seal.text).items())), separators=(",", ":"))
    with pytest.raises(ProofError, match="damaged"):
        Seal.of_copy({"text": text, "signature": b64encode(KEY.sign(text)).decode()})


@pytest.mark.parametrize(("steps", "is_damaged"), [(64, False), (65, True)])
def test_a_proof_leads_through_a_tree_of_at_most_64_levels(
    example: dict[str, Any], seal: Seal, steps: int, *, is_damaged: bool
) -> None:
    proof = proof_of(example, seal, 0)
    text = replace(proof, path=[*proof.path, *proof.path[:1] * (steps - len(proof.path))]).text
    if is_damaged:
        with pytest.raises(ProofError, match="damaged"):
            Proof.parse(text)
    else:
        assert len(Proof.parse(text).path) == steps


@pytest.mark.parametrize("name", ["who", "content"])
def test_a_proof_whose_part_is_no_text_is_damaged(name: str, example: dict[str, Any], seal: Seal) -> None:
    written = json.loads(proof_of(example, seal, 0).text)
    written["entry"][name] = 7
    with pytest.raises(ProofError, match="damaged"):
        Proof.parse(json.dumps(written))


LEAVES: Final = st.lists(
    st.builds(Leaf, st.integers(1, 2), st.integers(0, 1), st.sampled_from([bytes(32), b"d" * 32])), max_size=6
)


@given(sealed=LEAVES, found=LEAVES)
def test_a_comparison_names_each_entry_that_was_sealed_or_is_found_more_often(
    sealed: list[Leaf], found: list[Leaf]
) -> None:
    kept, now = (b"".join(map(bytes, leaves)) for leaves in (sealed, found))
    seal = Seal("e", None, None, None, None, None, 1, len(sealed), root_of(split(kept)), bytes(32), NOW, "s1")
    compared = compare(seal, now, kept)
    before, after = ([pair[side] for pair in compared.changed] for side in (0, 1))
    assert Counter([*compared.missing, *before]) == Counter(sealed) - Counter(found)
    assert Counter([*compared.extra, *after]) == Counter(found) - Counter(sealed)
    assert all(old.id == new.id for old, new in compared.changed)
    assert not {leaf.id for leaf in compared.missing} & {leaf.id for leaf in compared.extra}
