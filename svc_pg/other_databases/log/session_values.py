"""The actor, the tenant and the context of a session of MySQL, whose variables may be of any type.

Read as triggers do: see ``sql/mysql/include/read_session.sql.j2``.
"""

import json
from hashlib import sha256
from typing import Final, NoReturn

from svc_pg.database.effects import Effects, Statement

_MAX_ACTOR: Final = 512
_MAX_CONTEXT: Final = 65_535
_MAX_LEVELS: Final = 100
_READ: Final = """
select charset(@svc_actor_id), hex(convert(@svc_actor_id using utf8mb4)), hex(cast(@svc_actor_id as binary)),
       charset(@svc_tenant_id), hex(convert(@svc_tenant_id using utf8mb4)), hex(cast(@svc_tenant_id as binary)),
       charset(@svc_context), hex(convert(@svc_context using utf8mb4)), hex(cast(@svc_context as binary))
"""


def session_values() -> Effects[tuple[str | None, str | None, str | None]]:
    """The actor, the tenant, and the context as JSON; each is None if there is none."""
    [row] = yield Statement(_READ)
    actor, tenant, context = (_text(*row[start : start + 3]) for start in (0, 3, 6))
    return _bounded(actor), _bounded(tenant), context and _json(context)


def _text(charset: str, converted: str | None, as_it_is: str | None) -> str | None:
    """The text of a variable, from its two hexadecimal forms."""
    found = as_it_is if charset == "binary" else converted
    if not found:
        return None
    try:
        return bytes.fromhex(found).decode()
    except UnicodeDecodeError:
        return "\\x" + found[:510].lower()


def _bounded(text: str | None) -> str | None:
    return f"{text[: _MAX_ACTOR - 1]}…" if text is not None and len(text) > _MAX_ACTOR else text


def _json(text: str) -> str:
    data = text.encode()
    if len(data) > _MAX_CONTEXT:
        return json.dumps({"oversized": True, "bytes": len(data), "sha256": sha256(data).hexdigest()})
    try:
        json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return json.dumps(text)
    return text if text.count("[") + text.count("{") <= _MAX_LEVELS else json.dumps(text)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(constant)
