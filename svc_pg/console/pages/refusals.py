"""Lead from a refused form to its page, with the reason and the typed values: that can be reloaded.

The problem and the typed values are in one sealed cookie of a few minutes, and the address of the page names it. So
Back and a reload send nothing again, and the same page without that name is empty.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from secrets import token_urlsafe
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

from starlette.datastructures import QueryParams

from svc_pg.console.http.requests import Problem
from svc_pg.console.pages import cookies
from svc_pg.console.pages.answers import Answer, SeeOther
from svc_pg.console.pages.own_addresses import referring
from svc_pg.console.pages.page_request import REFUSED, PageRequest
from svc_pg.console.pages.refused_forms import mark_of

SECONDS: Final = 600
_PURPOSE: Final = "refusal"
_SECRETS: Final = frozenset({"ca_bundle", "client_certificate", "client_key", "code", "headers", "token"})
"""The fields that are not kept: secrets, and what belongs to one."""
_KEY: Final = "key"
_MOST_CHARACTERS: Final = 500
_GONE: Final = "What you typed could not be kept."
_UNKNOWN: Final = Problem(
    HTTPStatus.CONFLICT, "refusal_unknown", "The form was refused, and the reason is known no longer: send it again."
)


@dataclass(frozen=True)
class SentBackError(Exception):
    """Raised to lead a form that was refused to another page than its own."""

    problem: Problem
    address: str


def page_of(request: PageRequest) -> str:
    """The page of the form: the browser's referrer, else the route's."""
    parts = (request.page or "").removeprefix("/").split("/")
    own = request.url(*(request.params[part[1:]] if part.startswith(":") else part for part in parts))
    return referring(request.http, request.base_path) or own


def sent_back(request: PageRequest, problem: Problem, address: str, *, whose: str, keeps: bool = True) -> SeeOther:
    """The way to the page of a form that was refused. ``whose`` is the person who may see the typed values."""
    fields = [(name, text) for name, text in request.form.multi_items() if name != _KEY]
    kept = [(name, text) for name, text in fields if name not in _SECRETS] if keeps else []
    secrets = sorted({name for name, text in fields if name in _SECRETS and text.strip()})
    names = " and the ".join(name.replace("_", " ") for name in secrets)
    lost = f"Type the {names} again: secrets are not kept." if secrets else ""
    told: dict[str, Any] = {
        "id": token_urlsafe(6),
        "status": problem.status,
        "code": problem.code,
        "detail": problem.detail,
        "members": problem.members,
        "retry": problem.headers.get("Retry-After"),
        "request": request.http.request_id,
        "form": mark_of(request.url(*request.http.segments[1:])),
        "fields": kept,
        "lost": lost if keeps else _GONE if fields else "",
    }
    short = told | {"members": {}, "detail": (problem.detail or "")[:_MOST_CHARACTERS]}
    for each in (told, told | {"fields": [], "lost": _GONE}, short | {"fields": [], "lost": _GONE}):
        plain = json.loads(json.dumps(each, default=str))
        sealed = request.sealer.sealed(plain, purpose=_PURPOSE, whose=whose, seconds=SECONDS)
        if len(sealed) <= cookies.MAX_CHARACTERS:
            break
    cookie = request.cookies.write(cookies.REFUSED, sealed, seconds=SECONDS)
    return SeeOther(_with(address, told["id"]), (cookie,))


def with_refusal(request: PageRequest) -> PageRequest:
    """The request of a page to which a form was sent back, with the problem and the typed values."""
    name = request.query.get(REFUSED)
    if request.http.method != "GET" or name is None:
        return request
    for whose, told in _found(request):
        if told["id"] == name:
            retry = {"Retry-After": told["retry"]} if told["retry"] else {}
            problem = Problem(told["status"], told["code"], told["detail"], headers=retry, **told["members"])
            # what nobody typed who is known is for nobody who is: the cookie may be planted
            typed = told["fields"] if whose == request.whose else []
            form = QueryParams([(field, text) for field, text in typed])
            return replace(
                request,
                refusal=problem,
                refused_form=told.get("form", ""),
                refused_request=told["request"],
                lost=told["lost"],
                form=form,
            )
    return replace(request, refusal=_UNKNOWN)


def carried(request: PageRequest, answer: Answer) -> Answer:
    """The answer of a page to which a form was sent back: if it leads on, the problem goes along."""
    name = request.query.get(REFUSED)
    if not isinstance(answer, SeeOther) or request.refusal in (None, _UNKNOWN) or name is None:
        return answer
    return replace(answer, address=_with(answer.address, name))


def _found(request: PageRequest) -> Sequence[tuple[str, Mapping[str, Any]]]:
    """Each refusal of the cookies with its person, empty if that is anybody. The portal is sent the console's too."""
    opened = (
        (whose, request.sealer.opened(text, purpose=_PURPOSE, whose=whose))
        for text in request.cookies.read_all(request.http, cookies.REFUSED)
        for whose in {request.whose, ""}
    )
    return [(whose, told) for whose, told in opened if isinstance(told, dict)]


def _with(address: str, name: str) -> str:
    parts = urlsplit(address)
    query = [(key, value) for key, value in parse_qsl(parts.query, keep_blank_values=True) if key != REFUSED]
    return f"{parts.path}?{urlencode([*query, (REFUSED, name)], quote_via=quote)}"
