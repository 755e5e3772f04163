"""Values that the shell completes, known without a database."""

from collections.abc import Callable, Iterable

import typer

import svc_pg


def one_of(*values: str) -> Callable[[], Iterable[str]]:
    """Complete one of these."""
    return lambda: values


def search_keys(context: typer.Context) -> Iterable[str]:
    """Complete a key by which the configuration lets payloads be searched, with its sign."""
    try:
        known = svc_pg.Config.find(context.params.get("config")).webhooks.events
        return sorted({f"{key}=" for event in known.values() for key in event.search})
    except Exception:  # noqa: BLE001 - the command itself reports the error
        return ()


def events(context: typer.Context) -> Iterable[str]:
    """Complete an event that the configuration defines."""
    try:
        return list(svc_pg.Config.find(context.params.get("config")).webhooks.events)
    except Exception:  # noqa: BLE001 - the command itself reports the error
        return ()
