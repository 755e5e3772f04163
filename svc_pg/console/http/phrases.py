"""The words for a status of HTTP."""

from http import HTTPStatus
from typing import Final

_RENAMED: Final = {
    413: "Content Too Large",
    414: "URI Too Long",
    416: "Range Not Satisfiable",
    422: "Unprocessable Content",
}
"""Those to which RFC 9110 gave another name, which Python has from 3.13 on."""


def phrase_of(status: int) -> str:
    """The reason phrase of a status in RFC 9110, section 15, such as ``Not Found``, whichever Python runs."""
    return _RENAMED.get(status) or HTTPStatus(status).phrase
