"""The users of the application itself, as the pages name them and lead them to their sign-in."""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from inspect import isawaitable
from typing import Final
from urllib.parse import urlsplit

from anyio import CapacityLimiter, fail_after
from anyio.to_thread import run_sync

from svc_pg.console.sessions.host_sessions import HostSessionOf
from svc_pg.settings import Settings

ActorNames = Callable[[Collection[str]], Mapping[str, str] | Awaitable[Mapping[str, str]]]
"""Takes ids of actors, and returns the names of those that it knows, by their ids. A sync function runs in a thread."""
SignInUrl = Callable[[str], str | None]
"""Takes the path of the page to come back to, and returns the address at which the application's users sign in."""

MAX_NAMED: Final = 200
"""The actors of one page whose names are asked for; the others keep their ids."""
NAMES_SECONDS: Final = 2
"""The time for the names of a page; without an answer it shows the ids."""
_THREADS: Final = 4

logger: Final = logging.getLogger("svc_pg.console")


@dataclass(frozen=True, slots=True)
class HostUsers:
    """``is_alone`` if nobody signs in to the console itself."""

    actor_names: ActorNames | None = None
    sign_in_url: SignInUrl | None = None
    is_alone: bool = False
    _threads: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(_THREADS), repr=False)

    @classmethod
    def of(
        cls,
        settings: Settings,
        session_of: HostSessionOf | None,
        actor_names: ActorNames | None,
        sign_in_url: SignInUrl | None,
    ) -> "HostUsers":
        """What was given, else what ``session_of`` itself has, as that of ``django_users`` does."""
        return cls(
            actor_names or getattr(session_of, "actor_names", None),
            sign_in_url or getattr(session_of, "sign_in_url", None),
            is_alone=not (settings.console_allowed_emails or settings.console_auto_approve),
        )

    async def names_of(self, actors: Collection[str]) -> Mapping[str, str]:
        """The known names; none if they cannot be found in time, because the page has the ids."""
        if self.actor_names is None or not actors:
            return {}
        try:
            with fail_after(NAMES_SECONDS):
                found = await run_sync(
                    self.actor_names, [*actors][:MAX_NAMED], limiter=self._threads, abandon_on_cancel=True
                )
                names = await found if isawaitable(found) else found
        except Exception:
            logger.warning("the names of actors are not known", exc_info=True)
            return {}
        return {actor: name for actor, name in names.items() if isinstance(name, str) and name.strip()}

    async def sign_in_address(self, back: str) -> str | None:
        """The address for a link on the page Sign in; None if there is none to lead to."""
        if self.sign_in_url is None:
            return None
        url = await run_sync(self.sign_in_url, back, limiter=self._threads)
        return url if url and urlsplit(url).scheme in ("", "http", "https") else None
