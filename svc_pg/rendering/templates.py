"""Render SQL templates in which every hole is quoted.

A hole is written ``{{ x | ident }}``, ``{{ x | idents }}``, ``{{ x | literal }}``, ``{{ x | comment }}`` after ``--``,
``{{ "claim" | lock }}`` for the key of an advisory lock, or ``{{ x | expression }}`` for SQL that Python composed of
such parts. ``{% filter statement %}`` quotes a part of a template for EXECUTE. A chain of branches for the members of
a closed set ends with ``{% else %}{{ x | unhandled }}``, which refuses any other. Any other hole is refused when the
template is rendered. Rendering is pure: equal input gives equal bytes. If a value contains the dollar tag of the
templates, which would end a function's body, they get another tag.

Templates of other databases have the holes ident, idents, literal, comment and expression, and their own quoting
fills them (``render_for``).
"""

import re
from collections.abc import Hashable, Iterable, Mapping
from functools import cache, lru_cache
from importlib.resources import files
from itertools import count
from typing import Any, NoReturn, Protocol

from jinja2 import Environment, PackageLoader, StrictUndefined, TemplateError, TemplateRuntimeError, Undefined
from psycopg import sql

from svc_pg.database.advisory_locks import Lock
from svc_pg.database.storable_texts import MAX_IDENTIFIER_BYTES
from svc_pg.errors import RenderError
from svc_pg.rendering.sql_text import Sql, checked, joined

DOLLAR_TAG = "$svc$"
_TAG_IN_VALUE = re.compile(r"\$(?=svc\$)")
_MARK = "\0"  # no value has it

LiteralValue = str | int | bool | None | Iterable[str]


class Quoting(Hashable, Protocol):
    """The quoting of another database than PostgreSQL. Raises RenderError for a value that it cannot store."""

    def ident(self, name: str) -> Sql:
        """Quote one identifier."""

    def literal(self, value: Any) -> Sql:
        """Quote a value."""


class _Quoted(str):
    """The SQL that a filter returned. Any further string operation loses the type, and so the permission."""

    __slots__ = ()


def ident(name: str) -> str:
    """Quote one identifier."""
    _refuse_undefined(name)
    if not isinstance(name, str):
        raise RenderError(f"an identifier must be a string, not {type(name).__name__}")
    return _identifier(name)


@lru_cache(maxsize=4096)  # a table's names, and those of its columns, come dozens of times in its objects
def _identifier(name: str) -> str:
    size = len(_checked(name).encode())
    if not 0 < size <= MAX_IDENTIFIER_BYTES:
        raise RenderError(
            f"identifier {name!r} has {size} bytes", hint=f"PostgreSQL allows 1 to {MAX_IDENTIFIER_BYTES}."
        )
    return _Quoted(sql.Identifier(name).as_string(None))


def idents(names: Iterable[str]) -> str:
    """Quote the parts of a qualified name and join them by dots: ("public", "order") -> "public"."order"."""
    quoted = [ident(name) for name in ([names] if isinstance(names, str) else names)]
    if not quoted:
        raise RenderError("a qualified name needs at least one part")
    return _Quoted(".".join(quoted))


def literal(value: LiteralValue) -> str:
    """Quote a text, an integer, a boolean, None or, as an array of text, several texts."""
    if value is None or isinstance(value, bool):
        return _Quoted({None: "null", True: "true", False: "false"}[value])
    if isinstance(value, int):
        return _Quoted(f" {value}" if value < 0 else value)  # a minus before it would begin a comment
    if isinstance(value, str):
        return _Quoted(_text(value))
    if isinstance(value, Iterable):
        return _Quoted(f"array[{', '.join(_text(item) for item in value)}]::text[]")
    raise RenderError(f"a literal cannot be made of {type(value).__name__}")


def comment(value: str) -> str:
    """Put a text into a comment after ``--``, which ends with its line."""
    _refuse_undefined(value)
    return _Quoted(_checked(value).replace("\r", "\\r").replace("\n", "\\n"))


def lock(name: str) -> str:
    """The two numbers of an advisory lock of svc_pg.database.advisory_locks, by its name in small letters."""
    _refuse_undefined(name)
    if name.upper() not in Lock.__members__:
        raise RenderError(f"no advisory lock has the name {name!r}")
    return _Quoted(", ".join(map(str, Lock[name.upper()].key)))


def expression(value: sql.Composable) -> str:
    """Insert an expression that Python composed of constant texts and quoted values (psycopg.sql)."""
    if not isinstance(value, sql.Composable):
        raise RenderError(f"an expression must be composed, not a {type(value).__name__}")
    return _Quoted(_checked(value.as_string(None)))


def unhandled(value: object) -> NoReturn:
    """Refuse a member of a closed set that no branch of a template handles, rather than render it as another."""
    _refuse_undefined(value)
    raise TemplateRuntimeError(f"no branch is for {value!r}")


def statement(block: str) -> str:
    """Quote a rendered part of a template as a text."""
    return _marked(_text(block.replace(_MARK, "")))


def _marked(quoted: str) -> str:
    """Tell a dollar tag in a value from those of the template."""
    return _Quoted(_TAG_IN_VALUE.sub(f"${_MARK}", quoted))


def _text(value: str) -> str:
    if not isinstance(value, str):
        raise RenderError(f"an array of text cannot hold {type(value).__name__}")
    quoted = "'" + _checked(value).replace("'", "''") + "'"
    # E'' reads the same with any standard_conforming_strings; a text without a backslash needs no E
    return "E" + quoted.replace("\\", "\\\\") if "\\" in quoted else quoted


def _checked(value: str) -> str:
    return checked(value, nul="which PostgreSQL cannot store")


def _refuse_undefined(value: object) -> None:
    if isinstance(value, Undefined):
        str(value)  # raises the error that names it


def _refuse_unquoted(value: object) -> object:
    _refuse_undefined(value)
    if isinstance(value, _Quoted):
        return _marked(value)
    raise RenderError(f"unquoted value {value!r} in a template", hint="Write {{ x | ident }} or {{ x | literal }}.")


def _new_environment() -> Environment:
    return Environment(  # noqa: S701 - the output is SQL, quoted by the filters and checked by finalize
        loader=PackageLoader("svc_pg.sql", ""),
        undefined=StrictUndefined,
        finalize=_refuse_unquoted,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,  # the files do not change while a program runs
    )


@cache
def _environment() -> Environment:
    environment = _new_environment()
    # No other filters: the output of a filter block does not come through finalize.
    environment.filters = {
        f.__name__: f for f in (ident, idents, literal, comment, lock, expression, statement, unhandled)
    }
    return environment


@cache
def _environment_for(quoting: Quoting) -> Environment:
    def ident(name: str) -> str:
        _refuse_undefined(name)
        return _Quoted(quoting.ident(_checked(name)).text)

    def idents(names: Iterable[str]) -> str:
        return _Quoted(joined(".", [quoting.ident(_checked(name)) for name in names]).text)

    def literal(value: object) -> str:
        _refuse_undefined(value)
        return _Quoted(quoting.literal(value).text)

    def expression(value: Sql) -> str:
        if not isinstance(value, Sql):
            raise RenderError(f"an expression must be composed, not a {type(value).__name__}")
        return _Quoted(_checked(value.text))

    environment = _new_environment()
    environment.filters = {f.__name__: f for f in (ident, idents, literal, comment, expression, unhandled)}
    return environment


def render(template: str, /, **values: object) -> str:
    """Render the template of that path below ``sql/``. Raises RenderError for an unquoted, unsafe or missing value.

    A file without ``.j2`` has no holes and is read as it is: compiling it takes 16 times as long.
    """
    if not template.endswith(".j2"):
        return files("svc_pg.sql").joinpath(template).read_text(encoding="utf-8")
    return _rendered(_environment(), template, values)


def render_for(quoting: Quoting, template: str, /, **values: object) -> str:
    """As ``render``, quoted for another database."""
    return _rendered(_environment_for(quoting), template, values)


def _rendered(environment: Environment, template: str, values: Mapping[str, object]) -> str:
    try:
        text = environment.get_template(template).render(values)
    except TemplateError as error:
        raise RenderError(f"{template}: {error}") from error
    return _with_another_tag(text) if _MARK in text else text


def _with_another_tag(text: str) -> str:
    plain = text.replace(_MARK, "")
    tag = next(tag for number in count(1) if (tag := f"$svc{number}$") not in plain)
    return text.replace(DOLLAR_TAG, tag).replace(_MARK, "")
