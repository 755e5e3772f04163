"""The promises about a database of this size, by subject."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from tests.proof.scale import claims, commands, console, installs, log_reads, names
from tests.proof.scale.measuring import Checked
from tests.proof.scale.stage import Stage
from tests.support.long_log import Statistics


@dataclass(frozen=True, slots=True)
class InAllStates:
    """Promises that hold whatever the planner's statistics say."""

    name: str
    check: Callable[[Stage, Statistics], Iterable[Checked]]


@dataclass(frozen=True, slots=True)
class Once:
    """Promises that are checked once, with statistics that are right."""

    name: str
    check: Callable[[Stage], Iterable[Checked]]


IN_ALL_STATES: Final = (
    InAllStates(names.LISTS, log_reads.log_lists),
    InAllStates(names.READS, log_reads.log_reads),
    InAllStates(names.CLAIMS, claims.claims),
    InAllStates(names.CHANGES, claims.changes),
    InAllStates(names.ROUTES, console.api_routes),
    InAllStates(names.PAGES, console.console_pages),
    InAllStates(names.PORTAL, console.portal_pages),
)
ONCE: Final = (
    Once(names.INSTALLS, installs.installs),
    Once(names.COMMANDS, commands.commands),
)
