"""The line of a seal in its copy, and the seals that copies lack."""

import json
from typing import NamedTuple

from svc_pg.seals.verification.seal import Seal


def line_of(seal: Seal) -> bytes:
    """The line of a seal."""
    return json.dumps(seal.copy).encode() + b"\n"


class Lack(NamedTuple):
    """The numbers of seals without a copy; ``last`` is None for all from the first on."""

    first: int
    last: int | None
