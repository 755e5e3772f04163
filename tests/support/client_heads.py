"""The heads of the modules of ``svc_pg.client.generated``: what they are, and what they import."""

from typing import Final

MADE: Final = "made of docs/openapi.json by tests/support/client_source.py."
MODELS: Final = f'''\
"""The answers of the API, {MADE}"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from pydantic import Field

from svc_pg.client.answers import Answer
'''
REQUESTS: Final = f'''\
"""The parameters and bodies of operations, {MADE}"""

from collections.abc import Mapping, Sequence, Set
from datetime import datetime, timedelta
from typing import Literal, Required, TypeAlias, TypedDict, TypeVar

T = TypeVar("T")

OneOrMore: TypeAlias = Sequence[T] | Set[T] | T
"""A value, or several of which one has to fit."""
PointInTime: TypeAlias = str | datetime | timedelta
"""A time with its zone, or a duration before now: as a text such as ``7d``, or as an object."""
Duration: TypeAlias = str | timedelta
"""A duration, as a text such as ``7d``, or as an object."""
Seconds: TypeAlias = float | timedelta
"""A duration, as a number of seconds, or as an object."""
'''
OPERATIONS: Final = f'''\
"""The operations of the API as data, {MADE}"""

from types import NoneType
from typing import Any, Final

from svc_pg.client.answers import Page
from svc_pg.client.generated import models, requests
from svc_pg.client.operations import Operation
'''
CALLS: Final = f'''\
"""The methods of {{prefix}}Client, {MADE}"""

# ruff: noqa: A002 - names of the API

from collections.abc import {{prefix}}Iterator, Sequence
from typing import Any, Literal, Unpack

from svc_pg.client.answers import Page
from svc_pg.client.generated import models, requests
from svc_pg.client.generated import operations as ops
from svc_pg.client.operations import Arguments
from svc_pg.client.performing import {{prefix}}Api
from svc_pg.client.streams import {{streams}}
'''
