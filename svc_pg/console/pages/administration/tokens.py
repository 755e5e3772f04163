"""The pages of tokens for programs: list, add, see the new one once, revoke."""

from typing import Final

from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.visit import Visit
from svc_pg.console.products import PERMISSIONS
from svc_pg.console.sign_in.api_tokens import NewToken, StoredToken
from svc_pg.database.pagination import Page

_DAY: Final = 86_400
DAYS: Final = (7, 30, 90, 365)
_USUAL: Final = {"name": "", "permission": "read", "tenant": "", "days": "90"}


async def listed(visit: Visit) -> Answer:
    """The tokens in one state, newest first."""
    state = visit.choice("state", ("live", "ended"), "live")
    page = await visit.api.get(Page[StoredToken], "account", "tokens", query=visit.list_query(state=state))
    ended = await _token(visit, visit.query["ended"]) if visit.query.get("ended") else None
    return Html("tokens", {"tokens": page, "state": state, "ended": ended})


async def new(visit: Visit) -> Answer:
    """The form for a new token."""
    await visit.api.get(Page[StoredToken], "account", "tokens", query={"limit": "1"})  # or only sending it would fail
    return Html("token_new", {"typed": _typed(visit), "permissions": PERMISSIONS, "days": DAYS})


async def add(visit: Visit) -> Answer:
    """Make a token, and lead to it: no later page can show it."""
    typed = _typed(visit)
    days = next((days for days in DAYS if typed["days"] == str(days)), 90)
    body = {
        "name": typed["name"],
        "permission": typed["permission"],
        "expiresIn": days * _DAY,
        **({"tenant": typed["tenant"]} if typed["tenant"] else {}),
    }
    made = await visit.api.post(NewToken, "account", "tokens", body=body)
    return visit.made(made.token, "tokens", "made")


async def shown(visit: Visit) -> Answer:
    """The token that a form has made; without it, the way to the list."""
    found = visit.secret()
    return SeeOther(visit.url("tokens")) if found is None else Html("token_made", {"token": found})


async def confirm(visit: Visit) -> Answer:
    """The token that the path names, and the button that ends it."""
    return Html("token_end", {"token": await _token(visit, visit.params["id"])})


async def revoke(visit: Visit) -> Answer:
    """End the token that the path names, and tell which that was."""
    await visit.api.call("DELETE", "account", "tokens", visit.params["id"])
    return SeeOther(visit.url("tokens", query={"ended": visit.params["id"]}))


async def _token(visit: Visit, token_id: str) -> StoredToken:
    return await visit.api.get(StoredToken, "account", "tokens", token_id)


def _typed(visit: Visit) -> dict[str, str]:
    return {name: visit.form.get(name, usual).strip() for name, usual in _USUAL.items()}
