"""What is promised of a database of this size, by subject."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from tests.proof.scale import claims, commands, console, installs, log_reads
from tests.proof.scale.measuring import Checked
from tests.proof.scale.stage import Stage
from tests.support.long_log import Statistics

NAME: Final = "scale"
"""The name of the saved file."""


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
    InAllStates("lists of the log, by each filter and each two", log_reads.log_lists),
    InAllStates("other reads of the log", log_reads.log_reads),
    InAllStates("claims of a worker", claims.claims),
    InAllStates("changes of many deliveries", claims.changes),
    InAllStates("routes of the API, with each filter", console.api_routes),
    InAllStates("pages of the console", console.console_pages),
    InAllStates("pages of the portal", console.portal_pages),
)
ONCE: Final = (
    Once("installs", installs.installs),
    Once("commands", commands.commands),
)
NAMES: Final = tuple(each.name for each in (*IN_ALL_STATES, *ONCE))
