"""Parse the body of a form."""

from collections.abc import AsyncIterator
from typing import Final

from starlette.datastructures import Headers, QueryParams

from svc_pg.console.http.body import received
from svc_pg.console.http.requests import Problem

MAX_BYTES: Final = 256 * 1024
_MAX_FIELDS: Final = 2000


async def read_form(headers: Headers, body: AsyncIterator[bytes]) -> QueryParams:
    """The fields of a form, each with one or more texts. Raises Problem 400, 408, 413 or 415."""
    media_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    is_form = media_type == "application/x-www-form-urlencoded"
    content = await received(body, max_bytes=MAX_BYTES, is_accepted=is_form)
    if content is None:
        raise Problem(415, "unsupported_media_type", "Send a form.")
    if content.count(b"&") >= _MAX_FIELDS:
        raise Problem(400, "invalid_form", f"A form may have {_MAX_FIELDS} fields.")
    try:
        fields = QueryParams(content.decode("ascii"))
    except UnicodeError as error:
        raise Problem(400, "invalid_form", "The form is not encoded as browsers do it.") from error
    if any("\0" in text for _, text in fields.multi_items()):
        raise Problem(400, "invalid_form", "The form contains the character NUL.")
    return fields
