"""The parts of a configuration that a database gets, each by its path: the unit in which two configurations differ."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from svc_pg.config import Config
from svc_pg.config.model import validated
from svc_pg.config.products import PRODUCTS
from svc_pg.database.sql_products import ProductId
from svc_pg.errors import ConfigError
from svc_pg.formats import durations
from svc_pg.formats.plurals import counted

KeyPath = tuple[str, ...]
Document = Mapping[str, Any]
"""Parts as they are written in a revision: the nested keys of ``svc-pg.toml``, each list as a table of its names."""
Parts = Mapping[KeyPath, Any]

_NAMES: Final[Mapping[KeyPath, str]] = {("audit", "tables"): "name", ("webhooks", "on_change"): "table"}
"""The lists of the configuration, and the key that names a member. Several rules of a table stay a list."""
_TABLES: Final = frozenset({*_NAMES, ("audit", "erasure"), ("webhooks", "events")})
"""The tables and lists of which each member is a part; everything else below its section is one part."""
_PRODUCTS: Final[KeyPath] = ("products",)
"""The part that is no section. It is left out if all products are wanted."""
_FEW: Final = 10
_INSTALLED: Final[Mapping[str, Any]] = {
    "products": True,
    "audit": {
        "unattributed",
        "unrecorded_reads",
        "ddl",
        "retention_days",
        "partitions",
        "search",
        "indexes",
        "tables",
        "erasure",
    },
    "webhooks": {"retry", "events", "change_events"},
    "grants": {"send", "read", "admin"},
}
"""The fields that an install reads. Those of programs stay out: an egress proxy may have a password."""
READ_BY_PROGRAMS: Final[Mapping[str, Sequence[str]]] = {
    "audit": ("retention_days", "reconcile"),
    "audit.tables": ("title", "retention_days"),
    "webhooks": ("allow_http", "allow_cidrs", "allow_for_customers", "proxy", "retry", "keep_delivered", "keep_failed"),
}
"""The keys of sections that workers, the console and commands read from the file when they start."""
Reader = Literal["install", "programs", "both"]


def reader_of(section: str, key: str) -> Reader:
    """The reader of a key: ``install``, after which it is a fact of the database, programs when they start, or both."""
    fields = _INSTALLED.get(section)
    is_installed = not isinstance(fields, set) or key in fields or (section, key) == ("webhooks", "on_change")
    if key not in READ_BY_PROGRAMS.get(section, ()):
        return "install"
    return "both" if is_installed else "programs"


def parts_of(config: Config) -> dict[KeyPath, Any]:
    """The parts that differ from their defaults, as JSON."""
    written = config.model_dump(mode="json", by_alias=True, exclude_defaults=True, include=dict(_INSTALLED))
    if config.products == [*PRODUCTS]:
        del written["products"]
    if isinstance(config.webhooks.retry, list):
        written["webhooks"]["retry"] = [durations.text(wait) for wait in config.webhooks.retry]
    for (section, key), name in _NAMES.items():
        if members := written.get(section, {}).get(key):
            written[section][key] = _by_name(members, name, is_unique=key == "tables")
    return parts_in(written)


def _by_name(members: Iterable[dict[str, Any]], name: str, *, is_unique: bool) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for member in members:
        rest = {key: value for key, value in member.items() if key != name}
        if is_unique:
            found[member[name]] = rest
        else:
            found.setdefault(member[name], []).append(rest)
    return found


def parts_in(document: Document) -> dict[KeyPath, Any]:
    """The parts of a document. Raises ConfigError if it is none."""
    found: dict[KeyPath, Any] = {}
    for section, keys in _table(document, ()).items():
        if (section,) == _PRODUCTS:
            found[section,] = keys
            continue
        for key, value in _table(keys, (section,)).items():
            if (section, key) in _TABLES:
                found |= {(section, key, name): each for name, each in _table(value, (section, key)).items()}
            else:
                found[section, key] = value
    return found


def check_rules(installed: Document, config: Config) -> None:
    """Raise ConfigError if the rules of a table are not those of the installed document, which may redact more."""
    before, now = (
        {path: rules for path, rules in parts.items() if path[:2] == ("audit", "tables")}
        for parts in (parts_in(installed), parts_of(config))
    )
    other = [path[-1] for path in {**before, **now} if before.get(path) != now.get(path)]
    if other:
        raise ConfigError(
            f"the rules of {', '.join(other[:5])} are not those that are installed",
            hint="Run svc-pg install, or name the configuration that is installed: svc-pg plan tells the rest.",
        )


def _table(value: object, path: KeyPath) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    raise ConfigError(f"{'.'.join(path) or 'the configuration of a revision'}: not a table: {value!r}")


def document_of(parts: Parts) -> dict[str, Any]:
    """The parts as a document."""
    document: dict[str, Any] = {}
    for path, value in parts.items():
        inner = document
        for key in path[:-1]:
            inner = inner.setdefault(key, {})
        inner[path[-1]] = value
    return document


def names_of(paths: Sequence[KeyPath]) -> str:
    """Some of the names, for people, and the number of the others."""
    names = [".".join(path) for path in paths[:_FEW]]
    more = len(paths) - len(names)
    return ", ".join(names) + (f" and {counted(more, 'other part')}" if more else "")


def json_of(parts: Parts) -> str:
    """The document of the parts as JSON, without dollars: a script may quote it between some."""
    return json.dumps(document_of(parts), ensure_ascii=False).replace("$", "\\u0024")


def products_of(config: Config, installed: Parts | None) -> list[ProductId]:
    """The products that a configuration wants in a database where ``installed`` is known, or, if None, is not."""
    found: list[ProductId] = config.products or (installed or {}).get(_PRODUCTS) or [*PRODUCTS]
    return found


def config_of(parts: Parts, *, source: str) -> Config:
    """The configuration that has these parts. Raises ConfigError, with ``source`` before each problem."""
    document = {"products": [*PRODUCTS], **document_of(parts)}
    for (section, key), name in _NAMES.items():
        members = document.get(section, {}).get(key)
        if members:
            document[section][key] = [
                {name: named, **each}
                for named, of_name in members.items()
                for each in (of_name if isinstance(of_name, list) else [of_name])
            ]
    return validated(Config, document, source=source)


def _written(parts: Parts, path: KeyPath) -> str:
    """A part as text: the order of keys counts too, as that of a payload does."""
    return json.dumps(parts.get(path))


@dataclass(frozen=True, slots=True)
class Difference:
    """The parts that differ between two configurations, as they were and as they are."""

    before: Parts
    after: Parts

    @classmethod
    def between(cls, before: Parts, after: Parts) -> "Difference":
        """The difference of two configurations."""
        differing = [path for path in {**before, **after} if _written(before, path) != _written(after, path)]
        return cls(
            {path: before[path] for path in differing if path in before},
            {path: after[path] for path in differing if path in after},
        )

    def reversed(self) -> "Difference":
        """The way back."""
        return Difference(self.after, self.before)

    def applied_to(self, parts: Parts) -> dict[KeyPath, Any]:
        """The parts after this difference; those that it does not name stay. Raises ConfigError if one is neither as
        before nor as after it: then something else has changed it.
        """
        paths = {**self.before, **self.after}
        others = [path for path in paths if parts.get(path) not in (self.before.get(path), self.after.get(path))]
        if others:
            raise ConfigError(
                f"in this database {names_of(others)} is neither as before this revision nor as after it",
                hint="Another branch or svc-pg install has changed it. Delete this revision, run those before it, and"
                " write it anew: svc-pg migrate. If the database is right as it is, mark the revision as run"
                " (alembic stamp, manage.py migrate --fake).",
            )
        kept = {path: value for path, value in parts.items() if path not in paths or path in self.after}
        return {**kept, **self.after}
