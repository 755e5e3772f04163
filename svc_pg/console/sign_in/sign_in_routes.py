"""The requests, responses and documentation of the sign-in routes."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Annotated, Final, Literal, NoReturn
from uuid import UUID

from pydantic import Field

from svc_pg.console.database import pool as database
from svc_pg.console.http.body import RequestBody
from svc_pg.console.http.documentation import Documentation, Parameter, text
from svc_pg.console.http.requests import ConsoleRequest, ConsoleResponse, Problem, read_only
from svc_pg.console.http.tokens import SignInMethod
from svc_pg.console.sign_in.links import State
from svc_pg.formats.doc import Doc
from svc_pg.settings.addresses import is_email

SignInRoute = tuple[str, str, Callable[[ConsoleRequest], Awaitable[ConsoleResponse]], Documentation]
"""Method, path below ``/console/session``, handler and documentation."""

DEVELOPMENT_EMAIL: Final = "dev@localhost"

OUTCOMES: Final[Mapping[str, tuple[int, str]]] = {
    "unknown_session": (404, "This device has asked for no such session."),
    "invalid_code": (400, "The code is not the one that was mailed for this session."),
    "already_verified": (409, "The code was accepted before."),
    "not_verified": (409, "Verify the code first."),
    "already_claimed": (409, "The session was claimed before; sign in again."),
    "expired": (410, "The time is over; sign in again."),
    "locked": (423, "There were too many wrong codes; sign in again."),
}
"""The outcomes of a code or a claim other than success, each with its status and a text for people."""


SESSION_TOKEN: Final = Doc("The token of the session, which is shown only here.", "eyJhbGciOiJIUzI1NiJ9.e30.c2ln")
TOKEN_TYPE: Final = Doc("The way of sending it: `Authorization: Bearer`.")
LASTS: Final = Doc("The seconds for which it lasts.", 600)
INTERVAL: Final = Doc("The seconds to wait before the next question for its state.", 2)
SIGN_IN: Final = Doc("The id of the sign-in.", "0198d3f1-6a5e-7c40-9f5b-2c1d7e8a9b10")


class AutoApproveRequest(RequestBody, extra="ignore"):
    """Auto-approve believes any address."""

    email: str = Field(
        default=DEVELOPMENT_EMAIL, description="The address of the person.", examples=["ann@corp.example"]
    )


class MagicLinkRequest(RequestBody, extra="ignore"):
    """The address that the code goes to. ``known_device`` is from an earlier sign-in with it, if there was one."""

    email: str = Field(description="The address that the code goes to.", examples=["ann@corp.example"])
    known_device: str | None = Field(
        default=None,
        description="Gives the device limits of its own, which no stranger can use up.",
        examples=["kd_9xQ"],
    )


class VerifyRequest(RequestBody):
    """A code as somebody typed it: case, spaces and hyphens do not matter."""

    session_id: str = Field(description=SIGN_IN.words, examples=[SIGN_IN.example])
    code: str = Field(description="The code as somebody typed it.", examples=["K7QX2M"])


class ClaimRequest(RequestBody):
    """The sign-in that this device began."""

    session_id: str = Field(description=SIGN_IN.words, examples=[SIGN_IN.example])


@dataclass(frozen=True, slots=True)
class ApprovedSession:
    """A session."""

    method: Annotated[SignInMethod, Doc("The way of signing in.")]
    session_token: Annotated[str, SESSION_TOKEN]
    token_type: Annotated[Literal["Bearer"], TOKEN_TYPE]
    expires_in: Annotated[int, LASTS]


@dataclass(frozen=True, slots=True)
class PendingSignIn:
    """A sign-in, the same for every address."""

    method: Annotated[SignInMethod, Doc("The way of signing in.")]
    session_id: Annotated[UUID, SIGN_IN]
    device_token: Annotated[
        str, Doc("The token that binds the sign-in to this device, which is shown only here.", "q3Zk1w")
    ]
    expires_in: Annotated[int, LASTS]
    interval: Annotated[int, INTERVAL]


@dataclass(frozen=True, slots=True)
class Verified:
    """The code was right."""

    status: Annotated[Literal["verified"], Doc("The state of the sign-in.")]
    claim_expires_in: Annotated[int, Doc("The seconds for which the session can be claimed.", 120)]


@dataclass(frozen=True, slots=True)
class SignInState:
    """The state of a sign-in."""

    status: Annotated[State, Doc("The state of the sign-in.")]
    interval: Annotated[int, INTERVAL]
    expires_in: Annotated[int, LASTS]


@dataclass(frozen=True, slots=True)
class ClaimedSession:
    """A session of a sign-in that was claimed."""

    status: Annotated[Literal["claimed"], Doc("The state of the sign-in.")]
    session_token: Annotated[str, SESSION_TOKEN]
    token_type: Annotated[Literal["Bearer"], TOKEN_TYPE]
    expires_in: Annotated[int, LASTS]
    known_device: Annotated[
        str, Doc("For the next sign-in of this device, for 90 days; it opens nothing by itself.", "kd_9xQ")
    ]


def _errors(*codes: str) -> Mapping[str, int]:
    return {code: OUTCOMES[code][0] for code in codes} | database.PROBLEMS


APPROVE: Final = Documentation(
    operation_id="sign_in.begin",
    summary="Sign in on the same machine",
    body=AutoApproveRequest,
    body_example={"email": "ann@corp.example"},
    response=ApprovedSession,
    errors={"invalid_email": 422, "loopback_required": 403, "foreign_origin": 403},
)
INIT: Final = Documentation(
    operation_id="sign_in.begin",
    summary="Have a code mailed, and get the token that binds it to this device",
    body=MagicLinkRequest,
    body_example={"email": "ann@corp.example"},
    response=PendingSignIn,
    errors={"rate_limited": 429, "invalid_email": 422, **database.PROBLEMS},
)
VERIFY: Final = Documentation(
    operation_id="sign_in.verify",
    summary="Try the code",
    needs_device_token=True,
    body=VerifyRequest,
    body_example={"sessionId": SIGN_IN.example, "code": "K7QX2M"},
    response=Verified,
    errors={
        "rate_limited": 429,
        "malformed_code": 422,
        **_errors("invalid_code", "unknown_session", "already_verified", "expired", "locked"),
    },
)
POLL: Final = Documentation(
    operation_id="sign_in.poll",
    summary="Ask for the state of a sign-in",
    needs_device_token=True,
    query=[
        Parameter(
            name="sessionId",
            description="the sign-in that this device began",
            schema=text(SIGN_IN.example),
            is_required=True,
        )
    ],
    response=SignInState,
    errors={"slow_down": 429, **_errors("unknown_session")},
)
CLAIM: Final = Documentation(
    operation_id="sign_in.claim",
    summary="Get the session of a verified code; again, within two minutes, if the answer was lost",
    needs_device_token=True,
    body=ClaimRequest,
    body_example={"sessionId": SIGN_IN.example},
    response=ClaimedSession,
    errors=_errors("unknown_session", "not_verified", "already_claimed", "expired", "locked"),
)


def email_of(request: ConsoleRequest, *, default: str | None = None) -> str:
    """The member ``email`` of a body, which must be one address. Raises Problem 422."""
    body = request.body if request.content else {}
    if not isinstance(body, dict):
        raise Problem(422, "invalid_body", "The body must be a JSON object.")
    email = body.get("email", default)
    if not isinstance(email, str) or not is_email(email):
        raise Problem(422, "invalid_email", "email must be one e-mail address, without a display name.")
    return email


def known_device_of(request: ConsoleRequest) -> str | None:
    """The member ``knownDevice`` of a body that ``email_of`` has read; anything but a text counts as none."""
    known = request.body.get("knownDevice") if isinstance(request.body, dict) else None
    return known if isinstance(known, str) else None


def session_id_of(text: str) -> UUID:
    """The id of a sign-in. Raises Problem 404 if it is none."""
    try:
        return UUID(text)
    except ValueError:
        refuse("unknown_session")


def device_hash_of(request: ConsoleRequest) -> bytes:
    """The hash of the one Bearer token in ``Authorization``. Without that, nobody can tell whether a session exists."""
    credentials = request.headers.getlist("authorization")
    scheme, _, token = credentials[0].partition(" ") if len(credentials) == 1 else ("", "", "")
    if scheme.lower() != "bearer":
        refuse("unknown_session")
    return sha256(token.encode()).digest()


async def refuse_change(_request: ConsoleRequest) -> ConsoleResponse:
    """The handler of a route that writes, in a console that only reads. Raises Problem 403."""
    raise read_only()


def refuse(outcome: str) -> NoReturn:
    """Raise the Problem that stands for an outcome."""
    status, detail = OUTCOMES[outcome]
    raise Problem(status, outcome, detail)


REFUSED: Final[Sequence[SignInRoute]] = [
    ("POST", "/init", refuse_change, INIT),
    ("POST", "/verify", refuse_change, VERIFY),
    ("GET", "/poll", refuse_change, POLL),
    ("POST", "/claim", refuse_change, CLAIM),
]
"""The routes of sign-in by mail in a console that only reads: each of them would write."""
