"""Send webhooks from inside a transaction, deliver them, and verify them on the receiving side.

Names are loaded when they are first used, so that a receiver that only verifies signatures loads no database driver.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svc_pg.webhooks import deliveries, endpoints, messages, traffic
    from svc_pg.webhooks.events.sending import asend, asend_many, send, send_many
    from svc_pg.webhooks.secrets import KeyRing
    from svc_pg.webhooks.signing import assert_webhook_signature, verify_webhook_signature
    from svc_pg.webhooks.worker.worker import Worker

__all__ = [
    "KeyRing",
    "Worker",
    "asend",
    "asend_many",
    "assert_webhook_signature",
    "deliveries",
    "endpoints",
    "messages",
    "send",
    "send_many",
    "traffic",
    "verify_webhook_signature",
]

_MODULES = {"deliveries", "endpoints", "messages", "traffic"}
_HOMES = {
    "KeyRing": "secrets",
    "Worker": "worker.worker",
    "asend": "events.sending",
    "asend_many": "events.sending",
    "assert_webhook_signature": "signing",
    "send": "events.sending",
    "send_many": "events.sending",
    "verify_webhook_signature": "signing",
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
