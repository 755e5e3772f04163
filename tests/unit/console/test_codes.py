from collections import Counter
from hashlib import sha256
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svc_pg.console.sign_in import codes

KEY = codes.hashing_key(b"0123456789abcdef0123456789abcdef")
SESSION = UUID("018f0000-0000-4000-8000-000000000001")


def test_a_code_has_six_characters_that_nobody_confuses() -> None:
    seen = [codes.new_code() for _ in range(2000)]
    assert {len(code) for code in seen} == {6}
    assert set("".join(seen)) == set(codes.ALPHABET)
    assert not set("IO01") & set(codes.ALPHABET)
    assert len(set(seen)) > len(seen) - 3  # two of 2,000 are equal in one of 500 runs
    assert max(Counter("".join(seen)).values()) < 2 * 12_000 / 32


@given(st.text(alphabet=codes.ALPHABET, min_size=6, max_size=6), st.randoms())
def test_a_code_is_read_however_it_is_typed(code: str, random: object) -> None:
    del random
    for text in (code, code.lower(), codes.displayed(code), " ".join(code), f"\t{code[:1]}- {code[1:].lower()}\n"):
        assert codes.typed_code(text) == code


@given(st.text())
def test_what_was_typed_is_a_code_or_nothing(text: str) -> None:
    code = codes.typed_code(text)
    assert code is None or (len(code) == 6 and set(code) <= set(codes.ALPHABET))


@pytest.mark.parametrize(
    "text", ["", "ABCDE", "ABCDEFG", "ABCDE0", "ABCDE\u0131", "ABCDE\u017f", "\uff21BCDEF", "ABC_DE"]
)
def test_what_no_code_looks_like_is_none(text: str) -> None:
    assert codes.typed_code(text) is None


def test_a_hash_depends_on_key_session_and_code() -> None:
    other_key = codes.hashing_key(b"1123456789abcdef0123456789abcdef")
    other_session = UUID("018f0000-0000-4000-8000-000000000002")
    hashes = {
        codes.code_hash(KEY, SESSION, "ABCDEF"),
        codes.code_hash(KEY, SESSION, "ABCDEG"),
        codes.code_hash(KEY, other_session, "ABCDEF"),
        codes.code_hash(other_key, SESSION, "ABCDEF"),
        sha256(b"ABCDEF").digest(),
    }
    assert len(hashes) == 5


def test_the_key_of_codes_is_not_the_key_of_tokens() -> None:
    signing_key = b"0123456789abcdef0123456789abcdef"
    assert codes.hashing_key(signing_key) == KEY
    assert signing_key != KEY
    assert len(KEY) == 32


def test_a_keyed_hash_has_a_known_value() -> None:
    """Another release must read the links of this one."""
    known = "be998260acaf2bf99a2d1e281d0b97b4226ef307a34327155cdc7b6bf5f0b9ba"
    assert codes.code_hash(KEY, SESSION, "ABCDEF").hex() == known
