"""No configuration raises anything but its error, whatever its text, its values and their nesting are."""

import copy
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from math import inf, nan
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import event, given, target
from hypothesis import strategies as st

from svc_pg import Config
from svc_pg.config.installed_parts import config_of, json_of, parts_of
from svc_pg.config.model import validated
from svc_pg.errors import ConfigError

MOST_SECONDS: Final = 10.0  # of this process, for one document of a few kilobytes; usual ones take a millisecond
WHOLE: Final[Mapping[str, Any]] = {
    "products": ["audit", "webhooks"],
    "audit": {
        "retention_days": "1y",
        "erasure": {"invoice": ["customer_id -> customer.id"]},
        "indexes": ["record", "time"],
        "tables": [
            {
                "name": "customer",
                "redact": {"email": "hash"},
                "ignore": ["seen_at"],
                "max_value_bytes": 1000,
                "retention_days": 30,
                "record_when": {"any": [{"changed": "name"}, {"not": {"before": {"age": {"gt": 7}}}}]},
                "enrich": [
                    {"operation": "UPDATE", "severity": "high", "description": "{actor_id} set {after[name]}"},
                    {"redact": ["phone"], "when": {"after": {"kind": ["a", "b"]}}},
                ],
            },
            {"name": "public.*", "exclude": ["public.log"]},
        ],
    },
    "webhooks": {
        "allow_http": True,
        "allow_cidrs": ["10.0.0.0/8"],
        "proxy": "http://user:password@proxy:3128",
        "retry": ["5s", "PT1M"],
        "keep_failed": "30d",
        "events": {
            "order.created": {
                "description": "An order",
                "schema": {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"},
                "search": ["number", "customer.id"],
            }
        },
        "on_change": [
            {
                "table": "orders",
                "operation": ["UPDATE"],
                "event": "order.created",
                "payload": {"id": "id", "was": "before.status"},
                "key": "order-{id}",
            }
        ],
    },
    "grants": {"send": ["app"], "read": [], "admin": ["ops"]},
}
WORDS: Final = [
    *("", "*", "a.b.c", '"', '"a', "a" * 10_000, "\0", "\ud800", "\u202e", "{", "}}", "{before[a]}", "{before[a]!r}"),
    *("{0.__class__}", "{after[{x}]}", "before.", "row", "select 1", "(select 1)", "$svc$", "'; --", "1h" * 50),
    *(
        "http://[::1",
        "http://a:b@c:99999",
        "0.0.0.0/99",
        "9" * 5000,
        "P1Y" * 99,
        "-1d",
        "nan",
        "1e999",
        "order.Created",
    ),
    *("http://json-schema.org/draft-03/schema", "(a+)+$", "#/$defs/x", "customer", "webhook.x", "audit.sealed"),
]
KEYS: Final = [
    *("$schema", "$ref", "$defs", "pattern", "type", "not", "any", "all", "properties", "name", "key", "[key]", "."),
    *("eq", "in", "sql", "changed", "schema", "events", "__class__", "model_config", "", "\0", "\ud800", "a" * 300),
]
scalars = st.one_of(
    st.sampled_from(WORDS),
    st.text(max_size=20),
    st.sampled_from([None, True, -1, 0, 10**400, -(2**63), nan, inf, -0.0, 1e308, date(1, 1, 1), b"\xff"]),
    st.sampled_from([datetime(9999, 12, 31, tzinfo=UTC), datetime(1, 1, 1)]),  # noqa: DTZ001 # as TOML may have it
    st.integers(),
    st.floats(),
)
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each part of a document, that of the whole included."""
    yield path
    if isinstance(value, dict):
        inner: Any = value.items()
    else:
        inner = enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield from places(each, (*path, key))


@st.composite
def documents(draw: st.DrawFn) -> Any:
    """A document in which some parts are others than they were, have more, or are moved elsewhere."""
    document: Any = {"": copy.deepcopy(dict(WHOLE))}
    for _ in range(draw(st.integers(0, 3))):
        paths = [*places(document)][1:]
        path = draw(st.sampled_from(paths))
        found = document
        for key in path[:-1]:
            found = found[key]
        change = draw(st.sampled_from(["replace", "add", "move", "remove"]))
        at = found[path[-1]]
        if change == "add" and isinstance(at, dict):
            at[draw(st.sampled_from(KEYS) | st.text(max_size=8))] = draw(values)
        elif change == "add" and isinstance(at, list):
            at.append(draw(values))
        elif change == "move":
            other: Any = document
            for key in draw(st.sampled_from(paths)):
                other = other[key]
            found[path[-1]] = copy.deepcopy(other)
        elif change == "remove" and len(path) > 1:
            del found[path[-1]]
        else:
            found[path[-1]] = draw(values)
    return document[""]


def deep(levels: int, *, inside: Any = 1) -> Callable[[str], Any]:
    """A value within that many tables, or lists for an empty key."""

    def made(key: str) -> Any:
        value = inside
        for _ in range(levels):
            value = {key: value} if key else [value]
        return value

    return made


def taken(read: Callable[[], Config]) -> Config | list[str]:
    """The configuration, or the lines of its error. Nothing else may happen."""
    began = time.process_time()
    try:
        return read()
    except ConfigError as error:
        return str(error).splitlines()
    finally:
        spent = time.process_time() - began
        assert spent < MOST_SECONDS


@given(documents())
def test_any_document_is_a_configuration_or_a_config_error(document: Any) -> None:
    config = taken(lambda: validated(Config, document, source="made up"))
    if isinstance(config, list):
        event("refused")
        assert config
        target(float(len(config)), label="problems")
    else:
        event("taken")
        parts = parts_of(config)  # as an install keeps them
        assert parts_of(config_of(parts, source="kept")) == parts
        assert json_of(parts)


@given(
    st.binary(max_size=60)
    | st.lists(st.sampled_from([*WORDS, "[", "]", "=", "\n", "audit", '"""']), max_size=30).map("".join)
)
def test_any_file_is_a_configuration_or_a_config_error(
    tmp_path_factory: pytest.TempPathFactory, text: str | bytes
) -> None:
    file = tmp_path_factory.getbasetemp() / "svc-pg.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode(errors="surrogatepass"))
    taken(lambda: Config.from_toml(file))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a = " + "[" * 5000, "not valid TOML: it is nested too deeply"),
        ("a = " + "{b=" * 5000 + "1", "not valid TOML: it is nested too deeply"),
        ("a = " + "9" * 5000, "not valid TOML: a number has too many digits"),
        ('webhooks.events.a.schema = { "$schema" = [] }', "not a JSON Schema: $schema is not a text"),
        ('webhooks.events.a.schema = { "$schema" = 5 }', "not a JSON Schema: $schema is not a text"),
        ("webhooks.events.a.schema = { a = 1979-05-27 }", "not a JSON Schema: Object of type date"),
        ("webhooks.events.a.schema = { minimum = nan }", "not a JSON Schema: Out of range float values"),
        ("[webhooks.events.a.schema]\n" + "not." * 900 + "a = 1", "not a JSON Schema: it is nested too deeply"),
        ('audit.tables = [{ name = "a", redact = [["b"]] }]', "write a list of columns, each a text"),
    ],
)
def test_values_that_no_reader_expects_are_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "svc-pg.toml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        Config.from_toml(file)
    assert str(caught.value).startswith(f"{file}: ")
    assert said in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("levels", [50, 200, 900, 20_000])
@pytest.mark.parametrize("key", ["", "not", "a"])
@pytest.mark.parametrize("section", ["record_when", "schema", "grants", "redact"])
def test_no_depth_of_nesting_is_another_error(section: str, key: str, levels: int) -> None:
    document: dict[str, Any] = {"audit": {"tables": [{"name": "a"}]}, "webhooks": {"events": {"a": {}}}}
    value = deep(levels)(key)
    match section:
        case "schema":
            document["webhooks"]["events"]["a"]["schema"] = value
        case "grants":
            document["grants"] = value
        case column:
            document["audit"]["tables"][0][column] = value
    taken(lambda: validated(Config, document, source="made up"))
