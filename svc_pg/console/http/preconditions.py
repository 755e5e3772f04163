"""Entity tags: a change that names the state which it was made for is refused if that is outdated (RFC 9110, 13).

The condition is looked at last: it counts for nothing if the change is refused in any case.
"""

import hashlib
import re
from typing import Final

from svc_pg.console.http.documentation import Parameter, text
from svc_pg.console.http.requests import ConsoleRequest, Problem
from svc_pg.formats.json_writer import encode

OUTDATED: Final = {"invalid_if_match": 422, "precondition_failed": 412}
"""The codes of the problems that ``check`` raises, and their status."""

IF_MATCH: Final = Parameter(
    name="If-Match",
    description="the ETag of the resource as you read it; default: whatever state it has",
    schema=text('"4f6a1b2c3d4e5f60"'),
)

_TAG: Final = re.compile(r'"[\x21\x23-\x7e]*"')


def tag(state: object) -> str:
    """The ETag of a resource, from its state or from a version that changes with it."""
    return f'"{hashlib.sha256(encode(state)).hexdigest()[:16]}"'


def needs_check(request: ConsoleRequest) -> bool:
    """True if the request has a condition."""
    return "if-match" in request.headers


def check(request: ConsoleRequest, state: object) -> None:
    """Refuse a request whose header If-Match does not name ``state``, which is locked. Raises Problem 412 and 422."""
    if not needs_check(request):
        return
    given = ", ".join(request.headers.getlist("if-match"))
    if given == "*":
        return
    tags = [each.strip() for each in given.split(",")]
    if not all(_TAG.fullmatch(each.removeprefix("W/")) for each in tags):
        raise Problem(422, "invalid_if_match", "Send If-Match with the ETag that came with the resource.")
    if tag(state) not in tags:  # a weak tag never matches here
        detail = "It has changed since you read it. Read it again, and change what it is now."
        raise Problem(412, "precondition_failed", detail, headers={"ETag": tag(state)})
