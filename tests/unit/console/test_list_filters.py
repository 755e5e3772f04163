import pytest

from svc_pg.console.pages.list_filters import time_in_words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("24h", "24 hours ago"),
        ("1d", "1 day ago"),
        ("2026-11-27", "2026-11-27"),
        ("yesterday", "yesterday"),
        ("2026-11-27T09:30", "2026-11-27T09:30"),
        ("2026-10-25T02:30:00+02:00", "25 Oct 2026, 00:30:00 UTC"),
        ("2026-10-25T02:30:00+01:00", "25 Oct 2026, 01:30:00 UTC"),
        ("2026-11-27T09:30:00+02:00", "27 Nov 2026, 07:30:00 UTC"),
        ("0001-01-01T00:00:00+14:00", "0001-01-01T00:00:00+14:00"),
        ("9T", "9T"),
        ("٣h", "٣h"),
    ],
)
def test_the_time_of_a_filter_is_read_as_a_sentence_with_its_zone(value: str, words: str) -> None:
    assert time_in_words(value) == words
