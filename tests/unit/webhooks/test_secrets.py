"""Secrets at rest: they open where they were sealed and nowhere else, and no key is ever shown."""

import base64

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from svc_pg.errors import EncryptionKeyError
from svc_pg.webhooks.secrets import KeyRing, new_key

FIRST = new_key("k1")
SECOND = new_key("k2")
RING = KeyRing.parse(f"{SECOND},{FIRST}")
SEALED = RING.seal("whsec_abc", owner="7", column="secret")

names = st.text(st.characters(codec="utf-8"))


@given(plaintext=names, owner=names, column=names)
def test_what_is_sealed_opens_to_the_same_text(plaintext: str, owner: str, column: str) -> None:
    sealed = RING.seal(plaintext, owner=owner, column=column)
    assert RING.open(sealed, owner=owner, column=column) == plaintext


def test_the_same_text_is_sealed_differently_each_time() -> None:
    assert RING.seal("whsec_abc", owner="7", column="secret") != SEALED


def test_a_sealed_secret_names_its_key_and_hides_its_text() -> None:
    assert SEALED[:4] == b"\x01\x02k2"
    assert b"whsec" not in SEALED
    assert len(SEALED) == 4 + 12 + len("whsec_abc") + 16


def test_the_first_key_seals_and_all_open() -> None:
    old = KeyRing.parse(FIRST)
    assert RING.open(old.seal("s", owner="7", column="secret"), owner="7", column="secret") == "s"
    with pytest.raises(EncryptionKeyError, match='sealed with key "k2", and the key ring has: k1') as refusal:
        old.open(SEALED, owner="7", column="secret")
    assert refusal.value.hint == "Add k2 to SVC_ENCRYPTION_KEYS, after the first."


@given(owner=names, column=names)
@example(owner="8", column="secret")
@example(owner="7s", column="ecret")
@example(owner="", column="7secret")
@example(owner="7", column="previous_secret")
def test_a_secret_does_not_open_in_another_place(owner: str, column: str) -> None:
    if (owner, column) == ("7", "secret"):
        return
    with pytest.raises(EncryptionKeyError, match="does not open"):
        RING.open(SEALED, owner=owner, column=column)


@given(data=st.data())
def test_one_changed_byte_anywhere_is_refused(data: st.DataObject) -> None:
    changed = bytearray(SEALED)
    changed[data.draw(st.integers(0, len(SEALED) - 1))] ^= data.draw(st.integers(1, 255))
    with pytest.raises(EncryptionKeyError):
        RING.open(bytes(changed), owner="7", column="secret")


@given(sealed=st.binary() | st.binary().map(lambda tail: SEALED[:4] + tail))
def test_whatever_is_stored_instead_is_refused_with_a_hint(sealed: bytes) -> None:
    with pytest.raises(EncryptionKeyError) as refusal:
        RING.open(sealed, owner="7", column="secret")
    assert refusal.value.hint


def test_the_id_of_the_key_cannot_be_exchanged() -> None:
    key = FIRST.partition(":")[2]
    twins = [KeyRing({name: base64.b64decode(key)}) for name in ("k1", "k9")]
    sealed = twins[0].seal("s", owner="7", column="secret")
    with pytest.raises(EncryptionKeyError, match="does not open"):
        twins[1].open(sealed.replace(b"k1", b"k9", 1), owner="7", column="secret")


KEY = base64.b64encode(bytes(range(32))).decode()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "encryption key 1 does not begin with an id"),
        (KEY, "encryption key 1 does not begin with an id"),
        ("0123456789abcdef0123456789abcdef", "encryption key 1 does not begin with an id"),
        (f"k1:{KEY},", "encryption key 2 does not begin with an id"),
        (f"k 1:{KEY}", "encryption key 1 does not begin with an id"),
        (f"{'k' * 33}:{KEY}", "encryption key 1 does not begin with an id"),
        (f"k1:{KEY},k1:{KEY}", 'encryption key 2 has the id "k1" of another'),
        (f"k1:{KEY[:-1]}", 'encryption key 1, "k1", is not base64'),
        (f"k1:{KEY}!", 'encryption key 1, "k1", is not base64'),
        ("k1:äöü", 'encryption key 1, "k1", is not base64'),
        (f"k2:{KEY},k1:c2hvcnQ=", 'encryption key 2, "k1", has 5 bytes, not 32'),
    ],
)
def test_a_faulty_key_ring_names_the_entry_and_shows_no_key(text: str, problem: str) -> None:
    with pytest.raises(EncryptionKeyError) as refusal:
        KeyRing.parse(text)
    assert (
        refusal.value.message == f"{problem}; write id:key, separated by commas; svc-pg keys new encryption prints one"
    )
    assert KEY[:-1] not in f"{refusal.value!r} {refusal.value.hint} {refusal.value.__cause__}"


def test_spaces_around_entries_do_not_matter() -> None:
    assert KeyRing.parse(f" {SECOND} , {FIRST}\n") == RING


def test_the_repr_shows_ids_only() -> None:
    assert repr(RING) == "KeyRing(k2, k1)"


def test_a_new_key_is_random_and_its_id_is_checked() -> None:
    assert new_key("k1") != new_key("k1")
    with pytest.raises(EncryptionKeyError, match="'not an id' cannot be the id of a key"):
        new_key("not an id")
