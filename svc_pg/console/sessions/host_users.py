"""The users of the application itself, as the pages name them and lead them to their sign-in."""

import logging
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass
from inspect import isawaitable
from threading import BoundedSemaphore
from time import monotonic
from typing import Any, Final
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
NAME_CHARACTERS: Final = 200
"""The characters of a name that are shown."""
NAMES_SECONDS: Final = 2
"""The time for the names of a page, or for the address to sign in; without an answer it has ids, or no link."""
REST_SECONDS: Final = 30
"""The time for which a function that was late is not asked; then one page asks it again."""
THREADS: Final = 4
"""The threads of one function of the application."""

logger: Final = logging.getLogger("svc_pg.console")


class HostFunction:
    """A function of the application, sync or async, that is waited for no longer than ``NAMES_SECONDS``.

    A sync one runs in a thread, of which there are four at most, also of those that nobody waits for any longer. One
    that was late rests for ``REST_SECONDS``, so that a hanging one costs a few pages their time, not each of them.
    """

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call: Final = call
        self._rests_until: float | None = None
        self._running: Final = BoundedSemaphore(THREADS)
        self._waited_for: Final = CapacityLimiter(THREADS)  # gives back its place when nobody waits any longer

    async def __call__(self, argument: object) -> Any:
        """Its answer; None while it rests. Raises TimeoutError, and what it raises."""
        if self._rests_until is not None:
            if monotonic() < self._rests_until:
                return None
            self._rests_until = monotonic() + REST_SECONDS  # for the others, until this call has an answer
        try:
            with fail_after(NAMES_SECONDS):
                found = await run_sync(self._run, argument, limiter=self._waited_for, abandon_on_cancel=True)
                found = await found if isawaitable(found) else found
        except TimeoutError:
            self._rests_until = monotonic() + REST_SECONDS
            raise
        self._rests_until = None
        return found

    def _run(self, argument: object) -> Any:
        if not self._running.acquire(timeout=NAMES_SECONDS):
            raise TimeoutError("all threads of this function are waiting for it")
        try:
            return self._call(argument)
        finally:
            self._running.release()


@dataclass(frozen=True, slots=True)
class HostUsers:
    """``is_alone`` if nobody signs in to the console itself."""

    actor_names: HostFunction | None = None
    sign_in_url: HostFunction | None = None
    is_alone: bool = False

    @classmethod
    def of(
        cls,
        settings: Settings,
        session_of: HostSessionOf | None,
        actor_names: ActorNames | None,
        sign_in_url: SignInUrl | None,
    ) -> "HostUsers":
        """The functions that were given, else those of ``session_of`` itself, as ``django_users`` has them."""
        names = actor_names or getattr(session_of, "actor_names", None)
        url = sign_in_url or getattr(session_of, "sign_in_url", None)
        return cls(
            names and HostFunction(names),
            url and HostFunction(url),
            is_alone=not (settings.console_allowed_emails or settings.console_auto_approve),
        )

    async def names_of(self, actors: Collection[str]) -> Mapping[str, str] | None:
        """The known names; None if they cannot be found in time: the page has the ids, and says so."""
        if self.actor_names is None or not actors:
            return {}
        try:
            wanted = [*actors][:MAX_NAMED]
            known = await self.actor_names(wanted)
            if known is None:
                return None
            names = {actor: known.get(actor) for actor in wanted}
        except Exception:
            logger.warning("the names of actors are not known", exc_info=True)
            return None
        return {
            actor: name[:NAME_CHARACTERS] for actor, name in names.items() if isinstance(name, str) and name.strip()
        }

    async def sign_in_address(self, back: str) -> str | None:
        """The address for a link on the page Sign in; None if there is none to lead to."""
        if self.sign_in_url is None:
            return None
        try:
            url = await self.sign_in_url(back)
            is_link = isinstance(url, str) and url and urlsplit(url).scheme in ("", "http", "https")
            return url if is_link else None
        except Exception:
            logger.warning("the address to sign in is not known", exc_info=True)
            return None
