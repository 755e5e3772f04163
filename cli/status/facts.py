"""All facts that ``status`` shows beside the objects of a database."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

from svc_pg.status.attribution import Attribution
from svc_pg.status.horizon_holders import HorizonHolder
from svc_pg.status.last_runs import LastRun
from svc_pg.status.open_findings import OpenFinding
from svc_pg.webhooks.traffic.backlog import Backlog

from .. import products
from . import horizon_holders, last_runs, late_deliveries, open_findings, seal_status, without_actor
from .seal_status import SealStatus


@dataclass(frozen=True, slots=True)
class Facts:
    """The facts of one database; empty or None if they are of another product, or cannot be read."""

    attributed: Sequence[Attribution]
    seals: SealStatus
    runs: Sequence[LastRun]
    findings: Sequence[OpenFinding] | None
    holders: Sequence[HorizonHolder]
    backlog: Backlog | None

    @classmethod
    def read(cls, conn: Any) -> Self:
        """Read them on a connection to a database of any kind."""
        has_audit = products.has_audit(conn)
        return cls(
            attributed=without_actor.read_attribution(conn) if has_audit else [],
            seals=seal_status.read_seals(conn) if has_audit else seal_status.NONE,
            runs=last_runs.read_runs(conn),
            findings=open_findings.read_findings(conn) if has_audit else [],
            holders=horizon_holders.read_holders(conn),
            backlog=late_deliveries.read_backlog(conn),
        )

    def as_json(self) -> dict[str, Any]:
        """The members of the JSON document of status."""
        return (
            {
                "lastDay": [
                    {"table": each.table_name, "entries": each.entries, "withoutActor": each.without_actor}
                    for each in self.attributed
                ],
                "maintenance": [
                    {"task": run.task, "secondsAgo": run.seconds, "problem": run.problem} for run in self.runs
                ],
            }
            | seal_status.as_json(self.seals)
            | open_findings.as_json(self.findings)
            | {"horizonHolders": self.holders, "deliveries": late_deliveries.as_json(self.backlog)}
        )

    def tell(self) -> None:
        """Print the lines of each, but not those of the seals, which stand among the objects."""
        without_actor.tell(self.attributed)
        open_findings.tell(self.findings or ())
        last_runs.tell(self.runs)
        horizon_holders.tell(self.holders)
        late_deliveries.tell(self.backlog)
