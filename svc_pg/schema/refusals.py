"""Refuse an install that would take captures away, or that only a backup can help."""

from svc_pg.errors import InstallError, RemovalRefusedError
from svc_pg.schema.status import Status
from svc_pg.schema_objects import sends_changes


def refuse_lost(steps: list[Status]) -> None:
    """Raise InstallError if a table or column of ours is gone, which only a backup can bring back."""
    if lost := [f"{step.kind} {step.identity}" for step in steps if step.state == "missing" and not step.sql]:
        raise InstallError(
            f"gone from schema svc: {', '.join(lost)}",
            hint="Restore it from a backup; or uninstall with --drop-data and begin anew.",
        )


def refuse_removals(steps: list[Status]) -> None:
    """Raise RemovalRefusedError if a step removes capture or an event."""
    removals = [step for step in steps if step.needs_prune]
    if removals:
        names = list(dict.fromkeys(_taken_away(step) for step in removals))
        raise RemovalRefusedError(
            f"the configuration does not name what is installed: {', '.join(names)}",
            hint="Nothing has been changed. Is this the right configuration? To remove them, add --prune."
            + (
                " A renamed table goes on if it is named as it is now."
                if any(step.moved_to for step in removals)
                else ""
            ),
        )


def _taken_away(step: Status) -> str:
    if step.audited_table is None:
        return f"{step.kind} {step.identity}"
    table = f"{step.audited_table} (now {step.moved_to})" if step.moved_to else step.audited_table
    return f"events of {table}" if sends_changes(step.identity) else table
