"""The sizes of the database, and the configuration of its application."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from svc_pg import Config
from svc_pg.config import EventDefinition, WebhooksConfig
from tests.benchmarks.week import Week

DAYS: Final = 425
"""The days of the log."""
CONFIG: Final = Config(
    webhooks=WebhooksConfig(
        allow_http=True,
        allow_cidrs=["127.0.0.0/8"],
        events={f"order.{word}": EventDefinition() for word in ("placed", "paid", "shipped")},
    )
)
CONFIG.audit.table("public.*")
CONFIG_FILE: Final = """
[[audit.tables]]
name = "public.*"

[webhooks]
allow_http = true
allow_cidrs = ["127.0.0.0/8"]
[webhooks.events]
"order.placed" = {}
"order.paid" = {}
"order.shipped" = {}
"""
"""The same as a file."""

_MOST_WAITING: Final = 50_000
_CHUNK: Final = 200_000


@dataclass(frozen=True, slots=True)
class Sizes:
    """The numbers of entries, old deliveries, endpoints (each of another tenant) and audited tables."""

    entries: int
    deliveries: int
    endpoints: int
    tables: int

    @property
    def name(self) -> str:
        """The name of the folder."""
        return f"{self.entries}-{self.deliveries}-{self.endpoints}-{self.tables}"

    @property
    def rows(self) -> int:
        """The rows of the table whose changes were captured."""
        return max(self.entries // 100, 1_000)

    @property
    def waiting(self) -> int:
        """The deliveries that are due."""
        return min(_MOST_WAITING, self.deliveries // 20)

    @property
    def busy(self) -> int:
        """The endpoints that have some of them; the first has four of five."""
        return max(self.endpoints // 100, 2)

    @property
    def week(self) -> Week:
        """The old deliveries: three of ten are those of the first endpoint."""
        return Week(self.deliveries, self.endpoints, have_all_tenants=True, busy_tenths=3)


def chunks(first: int, last: int) -> Iterator[tuple[int, int]]:
    """The first and the last number of each part."""
    for start in range(first, last + 1, _CHUNK):
        yield start, min(start + _CHUNK - 1, last)
