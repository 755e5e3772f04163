"""Fill the pages of the documentation with tables of saved figures."""

import re
from collections.abc import Callable, Mapping
from typing import Final

from tests.benchmarks.tables import audit, bounds, console, proofs, soak, webhooks

TABLES: Final[Mapping[str, Callable[[], str]]] = {
    "audit-peers": audit.peers,
    "audit-bulk": audit.bulk,
    "audit-parts": audit.parts,
    "audit-goals": audit.goals,
    "audit-sqlite": audit.sqlite,
    "sealing": audit.sealing,
    "reading": audit.reading,
    "bounds": bounds.bounds,
    "exporting": audit.exporting,
    "installing": audit.installing,
    "send": webhooks.send,
    "send-many": webhooks.send_many,
    "pipeline": webhooks.pipeline,
    "latency": webhooks.latency,
    "claim": webhooks.claim,
    "beside": webhooks.beside,
    "peers": webhooks.peers,
    "webhook-goals": webhooks.goals,
    "proofs": proofs.proofs,
    "threats": proofs.threats,
    "versions": proofs.versions,
    "foreign": proofs.foreign,
    "mutation": proofs.mutation,
    "soak": soak.course,
    "soak-facts": soak.facts,
    "scale": proofs.scale,
    "pages": console.pages,
    "readers": console.readers,
}

_BLOCK: Final = re.compile(
    r"^(<!-- figures: (?P<name>[\w-]+) -->\n).*?^(<!-- end of figures -->)$", re.DOTALL | re.MULTILINE
)


def fill(text: str) -> str:
    """Replace the text between ``<!-- figures: NAME -->`` and ``<!-- end of figures -->``."""
    return _BLOCK.sub(lambda found: f"{found[1]}\n{TABLES[found['name']]()}\n{found[3]}", text)


def shown(text: str) -> list[str]:
    """The names of the tables on a page."""
    return [found["name"] for found in _BLOCK.finditer(text)]
