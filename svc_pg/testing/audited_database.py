"""A database with one audited table and a little history, to check the laws of a log in."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Final, LiteralString

from svc_pg import audit, schema
from svc_pg.audit import AuditQuery, Entry
from svc_pg.config import AuditConfig, AuditedTable, Config

_TABLE: Final[LiteralString] = "create table conformance (id integer primary key, name varchar(40), state varchar(20))"
_RULES: Final = {
    "name": "conformance",
    "redact": {"name": "mask"},
    "enrich": [
        {"operation": "UPDATE", "label": "edited", "severity": "medium", "compliance": ["gdpr", "soc2"]},
        {"operation": "DELETE", "label": "removed", "severity": "critical", "description": "{actor_id} removed it"},
    ],
}
_BUSINESS: Final[Sequence[tuple[str | None, LiteralString]]] = (
    ("ann", "insert into conformance values (1, 'Ann', 'new'), (2, 'Bob', 'new')"),
    ("bob", "update conformance set state = 'paid' where id = 1"),
    (None, "update conformance set name = 'Bo' where id = 2"),
    ("bob", "update conformance set state = 'sent', name = 'Anna' where id = 1"),
    ("ann", "delete from conformance where id = 2"),
)
_TENANTS: Final = {"ann": "acme", "bob": "globex"}
_ALL: Final = audit.query().order("oldest").limit(1000)


@dataclass(frozen=True, slots=True)
class AuditedDatabase:
    """A connection that is outside a transaction between two statements; ``transaction`` begins one, if it must.

    ``log`` is the name of the log's table in a statement.
    """

    conn: Any
    transaction: Callable[[], AbstractContextManager[Any]] = nullcontext
    log: LiteralString = "svc.audit_logs"

    def execute(self, statement: LiteralString, *, actor: str | None = None) -> None:
        """Run a statement in a transaction of its own, as an actor or as none."""
        with self.transaction(), self._named(actor):
            cursor = self.conn.cursor()
            cursor.execute(statement)
            cursor.close()

    @contextmanager
    def _named(self, actor: str | None) -> Iterator[None]:
        if actor is None:
            yield
            return
        with audit.actor(self.conn, actor, tenant=_TENANTS[actor], context={"request_id": f"r-{actor}"}):
            yield

    def ids(self) -> list[str]:
        """The ids of all entries, the oldest first."""
        return [each.id for each in self.entries()]

    def entries(self, query: AuditQuery = _ALL) -> Sequence[Entry]:
        """The entries of a query, in one page."""
        with self.transaction():
            return query.list(self.conn).data


def prepare(database: AuditedDatabase) -> None:
    """Make the table, install, and change it. The database has no log yet."""
    database.execute(_TABLE)
    schema.install(database.conn, Config(audit=AuditConfig(tables=[AuditedTable.model_validate(_RULES)])))
    for actor, statement in _BUSINESS:
        database.execute(statement, actor=actor)
