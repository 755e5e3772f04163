"""The words of an entry: which snapshots are read as text, because the parser is slow on them as JSON."""

import psycopg
import pytest

READ_AS_TEXT = """
select svc.audit_words(s, null, null) @@ 'keyword'::tsquery as is_read_as_text, s::text ~ '<!--|[^[:space:]]{250}'
  from jsonb_build_object('keyword', %s::text) s
"""


@pytest.mark.parametrize(
    "value",
    [
        "",
        "a" * 240,
        "a" * 248,
        "a" * 249,
        "a" * 250,
        f"a {'b' * 250} c",
        f"{'a' * 249} {'b' * 248}",
        f"{'a' * 249}\u2003{'b' * 248}",
        f"{'a' * 249}\u00a0{'b' * 248}",
        f"{'a' * 200}\n{'b' * 200}",
        "a\tb" * 100,
        "é" * 250,
        "<!-- a -->",
        "word " * 100,
    ],
)
def test_a_snapshot_is_read_as_text_if_it_has_250_characters_without_a_space(
    conn: psycopg.Connection, value: str
) -> None:
    found = conn.execute(READ_AS_TEXT, [value]).fetchone()
    assert found in [(True, True), (False, False)]
