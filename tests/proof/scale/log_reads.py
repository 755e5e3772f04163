"""Each read of the log, in Python: lists by each filter and each pair of filters, and what is not a list."""

import asyncio
from collections.abc import Iterator

from tests.benchmarks.bounds import MOST, lists, measured, others, pairs_of_filters
from tests.proof.scale.measuring import Checked
from tests.proof.scale.stage import Stage
from tests.support.long_log import Statistics

_OF_TWO_PAGES = " next"
_OF_RECORDS, _OF_TABLES = "record: ", "resource: "
"""A record without its table is looked for in each of up to a hundred tables first."""


def log_lists(stage: Stage, state: Statistics) -> Iterator[Checked]:
    """A page of 50 entries by each filter, and by each two."""
    found = asyncio.run(measured(stage.conninfo, state, {**lists(), **pairs_of_filters()}))
    for name, cost in found.items():
        bound = 2 * MOST if _OF_RECORDS in name and _OF_TABLES not in name else MOST
        yield Checked(name, "pages", cost.pages, bound, cost.milliseconds, state)


def log_reads(stage: Stage, state: Statistics) -> Iterator[Checked]:
    """Histories, rows as of a time, blame, transactions, counts, followers and a search."""
    for name, cost in asyncio.run(measured(stage.conninfo, state, others())).items():
        bound = 2 * MOST if _OF_TWO_PAGES in name else MOST
        yield Checked(name, "pages", cost.pages, bound, cost.milliseconds, state)
