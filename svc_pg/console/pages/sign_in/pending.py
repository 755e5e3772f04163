"""A sign-in that waits for its code, as the browser that began it keeps it in a cookie."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

from pydantic import TypeAdapter, ValidationError


@dataclass(frozen=True, slots=True)
class Pending:
    """A sign-in: the token that binds it to this browser, the address, and, in seconds since 1970, when it ends."""

    session_id: str
    device_token: str
    email: str
    begun_at: int
    expires_at: int

    @classmethod
    def begun(cls, session_id: object, device_token: str, email: str, *, now: datetime, seconds: int) -> Self:
        """A sign-in that begins now and lasts ``seconds``."""
        at = int(now.timestamp())
        return cls(str(session_id), device_token, email, at, at + seconds)

    @property
    def ends(self) -> datetime:
        """The time until which the code is good."""
        return datetime.fromtimestamp(self.expires_at, UTC)

    def wait(self, now: datetime, *, between: timedelta) -> int:
        """The seconds until another code may be asked for, if codes come at this interval."""
        seconds = int(between.total_seconds())
        return max(0, min(seconds, self.begun_at + seconds - int(now.timestamp())))

    def cookie(self) -> str:
        """The sign-in in the characters that a cookie may have."""
        return urlsafe_b64encode(json.dumps(asdict(self)).encode()).decode().rstrip("=")


def pending_of(cookie: str | None) -> Pending | None:
    """The sign-in of a cookie, or None if that is not one of ours."""
    if cookie is None:
        return None
    try:
        found = _PENDING.validate_json(urlsafe_b64decode(cookie + "=" * (-len(cookie) % 4)), strict=True)
        found.ends.timestamp()
    except (ValueError, ValidationError, OverflowError, OSError):
        return None
    return found


_PENDING = TypeAdapter(Pending)
