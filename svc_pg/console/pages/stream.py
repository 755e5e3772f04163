"""The stream that tells pages to look again."""

from collections.abc import AsyncIterator
from typing import cast

from svc_pg.console.built_in.account_changes import EVENT_STREAM
from svc_pg.console.pages.answers import Answer, File
from svc_pg.console.pages.page_request import PageRequest


async def changed(request: PageRequest) -> Answer:
    """The stream of the API, for the cookie."""
    content = cast(AsyncIterator[bytes], await request.api.call("GET", "account", "changes"))
    return File(content, {"Content-Type": EVENT_STREAM, "X-Accel-Buffering": "no"})
