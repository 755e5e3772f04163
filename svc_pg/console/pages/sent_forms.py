"""Answer a form: with the page to which it leads, which is the same if it is sent again with the same key."""

import json
from dataclasses import replace
from hashlib import sha256
from typing import Final, Protocol, cast

from pydantic import JsonValue

from svc_pg.console.once import AlreadyMadeError, Once
from svc_pg.console.pages.answers import Answer, SeeOther
from svc_pg.console.pages.visit import View, Visit
from svc_pg.console.requests import Problem

_PURPOSE: Final = "answer"
_SECONDS: Final = 24 * 3600
"""As long as ``svc.console_prune`` leaves it."""
_ENTERING_SECONDS: Final = 60
"""For a link that made a session: it must not do so later."""


class OnceOf(Protocol):
    """Begins the transaction of a form."""

    def __call__(self, digest: bytes, *, session_id: str) -> Once:
        """``digest`` tells the form from all others."""


async def answered(visit: Visit, view: View, once_of: OnceOf) -> Answer:
    """The answer of a view, or the one that was kept as the same form was sent before. Raises Problem."""
    if not visit.form.get("key"):
        return await view(visit)
    once = once_of(_digest(visit), session_id=_session_id(visit))
    try:
        async with once:
            answer = await view(_within(visit, once))
            if isinstance(answer, SeeOther):
                await once.keep(_sealed(visit, answer))
            return answer
    except AlreadyMadeError as made:
        kept: str | None = made.answer
    except Problem as problem:  # perhaps because the form has changed already what it asks for
        kept = await _kept(once, problem)
        if kept is None:
            raise
    return _opened(visit, kept or "")


async def _kept(once: Once, problem: Problem) -> str | None:
    try:
        return await once.kept()
    except Problem:
        raise problem from None


def _within(visit: Visit, once: Once) -> Visit:
    request = replace(visit.request, once=once)
    return replace(visit, request=request, api=replace(visit.api, request=request))


def _session_id(visit: Visit) -> str:
    return "" if visit.session is None else visit.session.session_id


def _digest(visit: Visit) -> bytes:
    """The form: all that was sent, by whom, and to which address. Another form of the page has the same key."""
    sent = [_session_id(visit), visit.request.path, visit.form.multi_items()]
    return sha256(json.dumps(sent).encode()).digest()


def _sealed(visit: Visit, answer: SeeOther) -> str:
    value: list[JsonValue] = [answer.address, list(answer.cookies)]
    seconds = _SECONDS if visit.session else _ENTERING_SECONDS
    return visit.sealer.sealed(value, purpose=_PURPOSE, whose=_session_id(visit), seconds=seconds)


def _opened(visit: Visit, kept: str) -> SeeOther:
    opened = visit.sealer.opened(kept, purpose=_PURPOSE, whose=_session_id(visit))
    if not isinstance(opened, list):  # its time is over, or the key that sealed it is none of the settings any more
        raise Problem(409, "already_sent", "This form was sent before. Nothing was changed again.")
    address, given = cast(tuple[str, list[str]], opened)
    return SeeOther(address, tuple(given))
