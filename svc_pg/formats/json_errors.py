"""The errors of values that have no JSON, with the path to the value: ``$.lines[3].price``."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, Final

_KNOWN: Final = "texts, numbers, booleans, None, times, UUIDs, enums, dataclasses, models of pydantic, lists and dicts"
_MOST_SHOWN: Final = 100
_BYTES: Final = (bytes, bytearray, memoryview)


class NotJsonError(ValueError):
    """A value that has no JSON; ``hint`` tells what to write instead."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(f"{message}; {hint[0].lower()}{hint[1:].rstrip('.')}")
        self.message = message
        self.hint = hint


class EndlessError(NotJsonError, RecursionError):
    """A value that contains itself, or is nested too deeply."""


class Refused(Exception):
    """A value that has no JSON; each level on the way up to the whole adds its step to ``steps``."""

    def __init__(self, problem: str, hint: str) -> None:
        super().__init__(problem)
        self.problem = problem
        self.hint = hint
        self.steps: list[str] = []

    @classmethod
    def of(cls, value: object) -> "Refused":
        """The refusal of a value of another type."""
        match value:
            case datetime():
                return cls(
                    f" is {value}, which has no time zone", "Write datetime.now(UTC), or value.replace(tzinfo=...)."
                )
            case bytes() | bytearray() | memoryview():
                return cls(" is bytes", "Write base64.b64encode(value).decode(), or value.decode().")
            case Set():
                return cls(f" is a {type(value).__name__}, which has no order", "Write sorted(value).")
        return cls(f" is a {type(value).__qualname__}", f"Send {_KNOWN}.")

    def error(self) -> NotJsonError:
        """The error for the caller."""
        return NotJsonError(_path(reversed(self.steps)) + self.problem, self.hint)


def endless(value: object) -> EndlessError:
    """The error for a value that contains itself, or is nested too deeply."""
    way = [(value, "", _parts(value))]
    above = {id(value)}
    done: set[int] = set()
    while way:
        part, _, parts = way[-1]
        inner, to_inner = next(parts, (None, ""))
        if not to_inner:
            above.discard(id(part))
            done.add(id(part))
            way.pop()
        elif id(inner) in above:
            path = _path([*(each for _, each, _ in way), to_inner])
            return EndlessError(f"{path} contains itself", "Send a value that ends.")
        elif id(inner) not in done:
            above.add(id(inner))
            way.append((inner, to_inner, _parts(inner)))
    return EndlessError("$ is nested too deeply", "Send a flatter value.")


def step(name: object) -> str:
    """The step from an object to its member."""
    text = str(name)
    return f".{text}" if text.isidentifier() else f"[{text!r}]"


def _path(steps: Iterator[str] | Sequence[str]) -> str:
    text = "$" + "".join(steps)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def _parts(value: Any) -> Iterator[tuple[object, str]]:
    """The parts of a value that may have parts, each with the step to it."""
    if isinstance(value, Mapping):
        parts = ((member, step(name)) for name, member in value.items())
    elif isinstance(value, Sequence) and not isinstance(value, (str, *_BYTES)):
        parts = ((item, f"[{index}]") for index, item in enumerate(value))
    elif is_dataclass(value) and not isinstance(value, type):
        parts = ((getattr(value, field.name), f".{field.name}") for field in fields(value))
    else:
        return
    yield from ((part, to_part) for part, to_part in parts if not isinstance(part, str | int | float | None))
