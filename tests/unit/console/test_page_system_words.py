from datetime import timedelta

import pytest

from svc_pg.console.pages.administration.system import retention_words
from svc_pg.console.pages.formatting import size


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (999_600, "1 MB"),
        (188_400_000, "188 MB"),
        (2_114_000_000, "2.11 GB"),
        (10**15, "1,000 TB"),
    ],
)
def test_amounts_have_three_digits_and_a_unit(count: int, text: str) -> None:
    assert size(count) == text


@pytest.mark.parametrize(
    ("time", "text"),
    [(None, "forever"), (timedelta(days=400), "400 days"), (timedelta(hours=36), "36h"), (timedelta(hours=1), "1h")],
)
def test_the_time_that_things_are_kept_is_in_days(time: timedelta | None, text: str) -> None:
    assert retention_words(time) == text
