"""The position of an export that follows the log, with the options of the export."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from svc_pg.audit.log.conditions import Among, AtLeast, Condition, Is, Overlaps, Since, SinceTransaction, Without
from svc_pg.errors import SvcError
from svc_pg.formats import durations

_OPTIONS: Final[Mapping[str, str]] = {
    "table_name": "table",
    "record_id": "record",
    "actor_id": "actor",
    "tenant_id": "tenant",
    "operation": "operation",
    "severity": "severity",
    "label": "label",
    "compliance": "compliance",
    "changed_fields": "changed",
}
Options = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A cursor, its log, and the options that determine the lines before it and their form."""

    cursor: str
    log: str
    options: Options

    @property
    def text(self) -> str:
        """One line of JSON, for ``parsed``."""
        return json.dumps(asdict(self)) + "\n"

    def check(self, options: Options, *, name: str) -> None:
        """Raise SvcError, which names the differences, unless the options are those of this run."""
        differing = [
            option for option in {**self.options, **options} if self.options.get(option) != options.get(option)
        ]
        if differing:
            changes = "; ".join(
                f"--{option} was {_listed(self.options.get(option))}, and is {_listed(options.get(option))}"
                for option in differing
            )
            raise SvcError(
                f"{name} is the cursor of an export with other options: {changes}",
                hint="Use those; or go on with the new ones by --rebind, which looks at no older entry again.",
            )


def parsed(text: str) -> Checkpoint:
    """The checkpoint in a line of JSON. Raises ValueError."""
    match json.loads(text):
        case {"cursor": str(cursor), "log": str(log), "options": dict(options)} if all(map(_is_list, options.values())):
            return Checkpoint(cursor, log, options)
    raise ValueError("not a checkpoint")


def options_of(conditions: Sequence[Condition], *, form: str) -> dict[str, list[str]]:
    """The command-line options for these conditions, in a fixed order."""
    found = {"format": [form]}
    for condition in conditions:
        match condition:
            case Is(column, value):
                found[_OPTIONS[column]] = [value]
            case Among(column, values, is_excluded) | Overlaps(column, values, is_excluded):
                found[("not-" if is_excluded else "") + _OPTIONS[column]] = sorted({*values})
            case AtLeast(severity):
                found["min-severity"] = [severity]
            case SinceTransaction(xact_id):  # BeforeTransaction comes with it
                found["transaction"] = [str(xact_id)]
            case Since(time):
                found["since"] = [_since(time)]
            case Without(value):
                found["missing"] = sorted({*found.get("missing", []), value})
    return found


def _since(time: datetime | timedelta) -> str:
    return durations.text(time) if isinstance(time, timedelta) else time.astimezone(UTC).isoformat()


def _listed(values: Sequence[str] | None) -> str:
    return ", ".join(values) if values else "not given"


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)
