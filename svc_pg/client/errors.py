"""Errors of calls of the HTTP API.

ClientError
├── CallError                    an argument cannot be sent, or the client is closed
├── ConnectionFailedError        the server cannot be reached, or does not answer in time
├── UnexpectedAnswerError        the answer is none of this API: a redirect, no JSON, too large
└── ApiError                     the server refuses the call, and says why by a code
    ├── NotAuthenticatedError    401
    ├── ForbiddenError           403
    ├── NotFoundError            404
    ├── ConflictError            409
    ├── OutdatedError            412
    ├── InvalidError             400, 413, 415, 422
    ├── RateLimitedError         429
    └── ServerError              500 and above
"""

from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Final

from svc_pg import errors


class ClientError(errors.SvcError):
    """A call of the HTTP API has failed."""


class CallError(ClientError):
    """An argument of the call cannot be sent, or the client is closed; nothing was sent."""


class ConnectionFailedError(ClientError):
    """The server cannot be reached, or its answer does not come, or is cut; the hint says if the call may be made."""


class UnexpectedAnswerError(ClientError):
    """The answer is none of this API: a redirect, a page of a proxy, no JSON, or larger than the client takes."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One problem of the body: a JSON pointer to the member, and the problem in words."""

    pointer: str
    detail: str


class ApiError(ClientError):
    """The server refuses the call. Decide by ``code``; later servers may have codes that this version does not know.

    ``detail`` is the problem in a sentence, and the server's log names the call by ``request_id``. ``parameter`` is the
    parameter at fault, ``faults`` are those of the body, and ``retry_after`` are the seconds that the server asks to
    wait.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        status: int = 0,
        code: str = "",
        detail: str | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        parameter: str | None = None,
        faults: Sequence[Fault] = (),
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.code = code
        self.detail = detail
        self.request_id = request_id
        self.retry_after = retry_after
        self.parameter = parameter
        self.faults = tuple(faults)


class NotAuthenticatedError(ApiError):
    """There is no token, or it has ended, or is not one of this server."""


class ForbiddenError(ApiError):
    """The token lacks the permission, or is of another tenant, or the server only reads."""


class NotFoundError(ApiError, errors.NotFoundError):
    """Nothing has this id, for this token, or the server is older than the operation."""


class ConflictError(ApiError, errors.ConflictError):
    """The state of a thing forbids what was asked for."""


class OutdatedError(ApiError):
    """The thing has changed since its ``etag`` was read. Read it again."""


class InvalidError(ApiError):
    """A parameter or a member of the body is not acceptable."""


class RateLimitedError(ApiError):
    """The token makes too many calls; the server asks to wait for ``retry_after`` seconds."""


class ServerError(ApiError):
    """The server failed, or cannot answer now."""


_OF_STATUS: Final[dict[int, type[ApiError]]] = {
    HTTPStatus.BAD_REQUEST: InvalidError,
    HTTPStatus.UNAUTHORIZED: NotAuthenticatedError,
    HTTPStatus.FORBIDDEN: ForbiddenError,
    HTTPStatus.NOT_FOUND: NotFoundError,
    HTTPStatus.CONFLICT: ConflictError,
    HTTPStatus.PRECONDITION_FAILED: OutdatedError,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: InvalidError,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: InvalidError,
    HTTPStatus.UNPROCESSABLE_ENTITY: InvalidError,
    HTTPStatus.TOO_MANY_REQUESTS: RateLimitedError,
}
HINTS: Final[dict[int, str]] = {
    HTTPStatus.UNAUTHORIZED: "Make a token with svc-pg console token add, and pass it as token.",
    HTTPStatus.FORBIDDEN: "Use a token with the permission, of the tenant or of none: svc-pg console token list.",
    HTTPStatus.PRECONDITION_FAILED: "Read it again, and change what it is now.",
}


def error_of_status(status: int) -> type[ApiError]:
    """The class of the error of an answer with this status."""
    return _OF_STATUS.get(status, ServerError if status >= HTTPStatus.INTERNAL_SERVER_ERROR else ApiError)
