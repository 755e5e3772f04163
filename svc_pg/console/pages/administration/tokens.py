"""The pages of tokens for programs: list, add, see the new one once, revoke."""

from typing import Any, Final

from svc_pg.console.http.products import PERMISSIONS
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.refused_forms import sent
from svc_pg.console.sign_in.api_tokens import ApiToken, CreatedToken
from svc_pg.database.pagination import Page

_DAY: Final = 86_400
DAYS: Final = (7, 30, 90, 365)
_USUAL: Final = {"name": "", "permission": "read", "tenant": "", "days": "90"}


async def tokens_page(request: PageRequest) -> Answer:
    """The tokens in one state, newest first."""
    state = request.choice("state", ("live", "ended"), "live")
    page = await request.api.get(Page[ApiToken], "account", "tokens", query=request.list_query(state=state))
    ended = await _token(request, request.query["ended"]) if request.query.get("ended") else None
    return Html("tokens", {"tokens": page, "state": state, "ended": ended})


async def new(request: PageRequest) -> Answer:
    """The form for a new token."""
    await request.api.get(Page[ApiToken], "account", "tokens", query={"limit": "1"})  # or only sending it would fail
    choices = {"permissions": [(each, each) for each in PERMISSIONS], "days": [(each, f"{each} days") for each in DAYS]}
    return Html("token_new", choices)


async def add(request: PageRequest) -> Answer:
    """Make a token, and lead to it: no later page can show it."""
    typed = _typed(request)
    days = next((days for days in DAYS if typed["days"] == str(days)), None)
    body = {
        "name": typed["name"],
        "permission": typed["permission"],
        "expiresIn": (days or DAYS[0]) * _DAY,
        **({"tenant": typed["tenant"]} if typed["tenant"] else {}),
    }

    async def create(body: dict[str, Any]) -> CreatedToken:
        return await request.api.post(CreatedToken, "account", "tokens", body=body)

    made = await sent(create, body, {} if days else {"days": "Choose for how long it is good."})
    return request.made(made.token, "tokens", "made")


async def created_token_page(request: PageRequest) -> Answer:
    """The token that a form has made; without it, the way to the list."""
    found = request.secret()
    return SeeOther(request.url("tokens")) if found is None else Html("token_made", {"token": found})


async def confirm(request: PageRequest) -> Answer:
    """The token that the path names, and the button that ends it."""
    return Html("token_end", {"token": await _token(request, request.params["id"])})


async def revoke(request: PageRequest) -> Answer:
    """End the token that the path names, and tell which that was."""
    await request.api.call("DELETE", "account", "tokens", request.params["id"])
    return SeeOther(request.url("tokens", query={"ended": request.params["id"]}))


async def _token(request: PageRequest, token_id: str) -> ApiToken:
    return await request.api.get(ApiToken, "account", "tokens", token_id)


def _typed(request: PageRequest) -> dict[str, str]:
    return {name: request.form.get(name, usual).strip() for name, usual in _USUAL.items()}
