"""Test an application: test databases, sent webhooks, a receiver, and a worker that empties the queue.

``log_conformance`` has the laws of an audit log, as checks for a database that ``audited_database`` prepares.

``pytest_plugins = ["svc_pg.testing.fixtures"]`` in a ``conftest.py`` makes fixtures of them; nothing here needs pytest.
Names are loaded when they are first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from svc_pg.testing import audited_database, log_conformance
    from svc_pg.testing.databases import install
    from svc_pg.testing.delivering import deliver
    from svc_pg.testing.receiver import ReceivedRequest, Receiver, receiving
    from svc_pg.testing.sent_webhooks import SentWebhook, asent, sent

__all__ = [
    "ReceivedRequest",
    "Receiver",
    "SentWebhook",
    "asent",
    "audited_database",
    "deliver",
    "install",
    "log_conformance",
    "receiving",
    "sent",
]

_HOMES = {
    "ReceivedRequest": "receiver",
    "Receiver": "receiver",
    "SentWebhook": "sent_webhooks",
    "asent": "sent_webhooks",
    "deliver": "delivering",
    "install": "databases",
    "receiving": "receiver",
    "sent": "sent_webhooks",
}


_MODULES = ("audited_database", "log_conformance")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
