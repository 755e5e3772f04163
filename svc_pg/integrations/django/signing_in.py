"""The actor of a request in which somebody signs in: that user, from before Django writes the time into its row."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from django.contrib.auth.signals import user_logged_in
from django.http import HttpRequest

from svc_pg.audit.context import Actor, act_from_now_on

_UID: Final = "svc_pg.signing_in"
_NAMES: Final = "_svc_pg_names_user"

NamesUser = Callable[[Any], Actor | None]
"""The actor that a user is; None if it is not known, and the actor of the request stays."""


def follow_sign_ins() -> None:
    """Name who signs in before any other receiver of the signal writes: Django's own sets ``last_login``."""
    user_logged_in.connect(_act_as_user, dispatch_uid=_UID)
    with user_logged_in.lock:
        receivers = user_logged_in.receivers
        if receivers[0][0][0] != _UID:  # a new list, because another thread may be sending by the old one
            user_logged_in.receivers = sorted(receivers, key=lambda receiver: receiver[0][0] != _UID)


@contextmanager
def named_at_sign_in(request: HttpRequest, names: NamesUser) -> Iterator[None]:
    """Within the block, let whoever signs in by this request be the actor from then on, as ``names`` says."""
    outer = getattr(request, _NAMES, None)
    setattr(request, _NAMES, names)
    try:
        yield
    finally:
        setattr(request, _NAMES, outer)


def _act_as_user(request: HttpRequest | None, user: Any, **_signal: object) -> None:
    names: NamesUser | None = getattr(request, _NAMES, None)
    actor = None if names is None else names(user)
    if actor is not None:
        act_from_now_on(actor)
