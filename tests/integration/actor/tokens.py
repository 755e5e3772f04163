"""Bearer tokens of a host, good and bad."""

from datetime import UTC, datetime, timedelta
from typing import Any

import jwt

SECRET = "correct horse battery staple correct horse battery staple"


def bearer(subject: object = "alice", *, key: Any = SECRET, algorithm: str = "HS256", **claims: Any) -> dict[str, str]:
    """The header that carries a token for the subject."""
    token = jwt.encode({"sub": subject, **claims}, key, algorithm)
    return {"authorization": f"Bearer {token}"}


def expired() -> dict[str, str]:
    return bearer(exp=datetime.now(UTC) - timedelta(seconds=1))
