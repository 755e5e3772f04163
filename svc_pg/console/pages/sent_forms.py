"""Answer a form: with the page to which it leads, which is the same if it is sent again with the same key."""

import json
from dataclasses import replace
from hashlib import sha256
from typing import Final, Protocol, cast

from pydantic import JsonValue

from svc_pg.console.http.once import AlreadyMadeError, Once
from svc_pg.console.http.requests import Problem
from svc_pg.console.pages.answers import Answer, SeeOther
from svc_pg.console.pages.page_request import PageRequest, View

_PURPOSE: Final = "answer"
_SECONDS: Final = 24 * 3600
"""As long as ``svc.console_prune`` leaves it."""
_ENTERING_SECONDS: Final = 60
"""For a link that made a session: it must not do so later."""


class OnceOf(Protocol):
    """Begins the transaction of a form."""

    def __call__(self, digest: bytes, *, session_id: str) -> Once:
        """``digest`` tells the form from all others."""


async def answered(request: PageRequest, view: View, once_of: OnceOf) -> Answer:
    """The answer of a view, or the one that was kept as the same form was sent before. Raises Problem."""
    if not request.form.get("key"):
        return await view(request)
    once = once_of(_digest(request), session_id=_session_id(request))
    try:
        async with once:
            answer = await view(_within(request, once))
            if isinstance(answer, SeeOther):
                await once.keep(_sealed(request, answer))
            return answer
    except AlreadyMadeError as made:
        kept: str | None = made.answer
    except Problem as problem:  # perhaps because the form has changed already what it asks for
        kept = await _kept(once, problem)
        if kept is None:
            raise
    return _opened(request, kept or "")


async def _kept(once: Once, problem: Problem) -> str | None:
    try:
        return await once.kept()
    except Problem:
        raise problem from None


def _within(request: PageRequest, once: Once) -> PageRequest:
    http = replace(request.http, once=once)
    return replace(request, http=http, api=replace(request.api, request=http))


def _session_id(request: PageRequest) -> str:
    return "" if request.session is None else request.session.session_id


def _digest(request: PageRequest) -> bytes:
    """The form: all that was sent, by whom, and to which address. Another form of the page has the same key."""
    sent = [_session_id(request), request.http.path, request.form.multi_items()]
    return sha256(json.dumps(sent).encode()).digest()


def _sealed(request: PageRequest, answer: SeeOther) -> str:
    value: list[JsonValue] = [answer.address, list(answer.cookies)]
    seconds = _SECONDS if request.session else _ENTERING_SECONDS
    return request.sealer.sealed(value, purpose=_PURPOSE, whose=_session_id(request), seconds=seconds)


def _opened(request: PageRequest, kept: str) -> SeeOther:
    opened = request.sealer.opened(kept, purpose=_PURPOSE, whose=_session_id(request))
    if not isinstance(opened, list):  # its time is over, or the key that sealed it is none of the settings any more
        raise Problem(409, "already_sent", "This form was sent before. Nothing was changed again.")
    address, given = cast(tuple[str, list[str]], opened)
    return SeeOther(address, tuple(given))
