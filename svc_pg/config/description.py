"""Descriptions of audit entries: ``{actor_id} changed {before[email]}``, or a callable that is traced into that."""

import dis
import re
from collections.abc import Callable
from functools import cache
from string import Formatter
from typing import Final, Literal, NamedTuple, NoReturn

Source = Literal["before", "after", "actor_id", "tenant_id"]
Describe = Callable[..., str]

_ROW: Final = re.compile(r"(?P<source>before|after)\[(?P<column>.+)\]")
_PLAIN: Final = ("actor_id", "tenant_id")
_EXAMPLE: Final = "write {actor_id}, {tenant_id}, {before[column]} or {after[column]}"
# Surrounds a traced value in the text that a callable returns; no text has it, because PostgreSQL cannot store it
_MARK: Final = "\0"


class Value(NamedTuple):
    """A slot in a description that each entry fills: a column of a snapshot, or a fact of the entry."""

    source: Source
    column: str | None = None


@cache
def parse(template: str) -> tuple[str | Value, ...]:
    """The texts and values of a template. Raises ValueError if it is not one."""
    parts: list[str | Value] = []
    try:
        pieces = list(Formatter().parse(template))
    except ValueError as error:
        raise ValueError(f"{error}; {_EXAMPLE}, and {{{{ for a brace") from error
    for text, field, spec, conversion in pieces:
        if text:
            parts.append(text)
        if field is not None:
            if spec or conversion:
                raise ValueError(f"{{{field}}} cannot have a format or a conversion; {_EXAMPLE}")
            parts.append(_value(field))
    return tuple(parts)


def _value(field: str) -> Value:
    if match := _ROW.fullmatch(field):
        return Value("before" if match["source"] == "before" else "after", match["column"])
    for name in _PLAIN:
        if field == name:
            return Value(name)
    raise ValueError(f"{{{field}}} is unknown; {_EXAMPLE}")


def trace(describe: Describe) -> str:
    """Call ``describe(before, after, actor_id)`` once with symbolic values, and return the template that it stands for.

    Raises ValueError if the callable does anything with a value but put it into the text: it could not be compiled.
    """
    _refuse_identity_tests(describe)
    text = describe(before=_SymbolicRow("before"), after=_SymbolicRow("after"), actor_id=_Symbol("actor_id"))
    if not isinstance(text, str):
        raise ValueError(f"a description must return a text, not {type(text).__name__}")
    pieces = text.split(_MARK)
    return "".join(
        f"{{{piece}}}" if index % 2 else piece.replace("{", "{{").replace("}", "}}")
        for index, piece in enumerate(pieces)
    )


class _Symbol:
    """A value that is known only when an entry is written. It can be put into a text, and nothing else."""

    __hash__ = None  # type: ignore[assignment] # a dictionary or set would compare it

    def __init__(self, name: str) -> None:
        self._name = name

    def __str__(self) -> str:
        return f"{_MARK}{self._name}{_MARK}"

    def __format__(self, spec: str) -> str:
        if spec:
            _refuse(f"formats {self._name}")
        return str(self)

    def __add__(self, other: object) -> str:
        return str(self) + str(other)

    def __radd__(self, other: object) -> str:
        return str(other) + str(self)

    def __getattr__(self, attribute: str) -> object:
        _refuse(f"calls .{attribute} of {self._name}")

    def __bool__(self) -> bool:
        _refuse(f"branches on {self._name}")

    def __eq__(self, other: object) -> bool:
        _refuse(f"compares {self._name}")

    __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __eq__

    def __repr__(self) -> str:
        _refuse(f"converts {self._name}")

    def __iter__(self) -> NoReturn:
        _refuse(f"iterates over {self._name}")

    __len__ = __int__ = __float__ = __iter__


class _SymbolicRow:
    """A snapshot whose columns are all symbolic."""

    def __init__(self, source: str) -> None:
        self._source = source

    def __getitem__(self, column: str) -> _Symbol:
        return _Symbol(f"{self._source}[{column}]")

    def get(self, column: str, default: object = None) -> _Symbol:
        """As for a dictionary, but without a default: a missing column becomes empty text."""
        if default not in (None, ""):
            _refuse(f"gives {self._source}[{column}] a default")
        return self[column]

    def __getattr__(self, attribute: str) -> object:
        _refuse(f"uses .{attribute} of {self._source}")

    def __bool__(self) -> bool:
        _refuse(f"branches on {self._source}")

    def __contains__(self, column: object) -> bool:
        _refuse(f"asks whether {self._source} has {column!r}")

    def __iter__(self) -> NoReturn:
        _refuse(f"iterates over {self._source}")


def _refuse(what: str) -> NoReturn:
    raise ValueError(
        f"the description {what}, which cannot be compiled into the trigger;"
        " write two rules with different conditions (when), or compute it when you read the log"
    )


def _refuse_identity_tests(describe: Describe) -> None:
    """Refuse ``is None`` by a look at the byte code: a symbolic value cannot notice that test."""
    code = getattr(describe, "__code__", None)
    if code is not None and any(
        step.opname == "IS_OP" or step.opname.endswith(("IF_NONE", "IF_NOT_NONE"))
        for step in dis.get_instructions(code)
    ):
        _refuse("tests a value with is")
