"""Phrases of statuses are those of RFC 9110 on each Python."""

from http import HTTPStatus

import pytest

from svc_pg.console.http.phrases import phrase_of


@pytest.mark.parametrize(
    ("status", "phrase"),
    [
        (413, "Content Too Large"),
        (414, "URI Too Long"),
        (416, "Range Not Satisfiable"),
        (422, "Unprocessable Content"),
        (404, "Not Found"),
    ],
)
def test_a_phrase_is_that_of_the_standard(status: int, phrase: str) -> None:
    assert phrase_of(status) == phrase


def test_every_status_has_a_phrase() -> None:
    assert all(phrase_of(status.value) for status in HTTPStatus)
