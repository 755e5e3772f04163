"""Sign-in by a mailed code: init, verify, poll, claim. ``sql/console`` has its states and limits."""

import logging
import secrets
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from datetime import UTC, timedelta
from functools import partial
from hashlib import sha256
from typing import Final
from uuid import UUID, uuid4

from svc_pg.audit.actors import aactor
from svc_pg.console.database.pool import Database
from svc_pg.console.http import tokens
from svc_pg.console.http.body import read_body
from svc_pg.console.http.quotas import CALLS, CODES, POLLS, SIGN_INS, note, note_counted
from svc_pg.console.http.requests import ConsoleRequest, ConsoleResponse, Problem, rate_limited
from svc_pg.console.http.tokens import Session, SignInMethod, TokenError
from svc_pg.console.sign_in import codes, devices, links, sessions
from svc_pg.console.sign_in.mail import EmailSender, Outbox, sign_in_mail
from svc_pg.console.sign_in.permissions import included, least, permission_of
from svc_pg.console.sign_in.sign_in_routes import (
    CLAIM,
    INIT,
    OUTCOMES,
    POLL,
    REFUSED,
    VERIFY,
    ClaimedSession,
    ClaimRequest,
    PendingSignIn,
    SignInRoute,
    SignInState,
    Verified,
    VerifyRequest,
    device_hash_of,
    email_of,
    known_device_of,
    refuse,
    session_id_of,
)
from svc_pg.console.transport.client_addresses import browser, user_agent
from svc_pg.database.query import afetch
from svc_pg.settings import Settings

CODE_SECONDS: Final = 600
CLAIM_SECONDS: Final = 120
POLL_SECONDS: Final = 2

logger = logging.getLogger("svc_pg.console")


class MagicLinks:
    """The handlers of the routes, and the sessions that they lead to."""

    method: Final[SignInMethod] = "magic_link"

    def __init__(
        self, settings: Settings, *, keys: Sequence[bytes], database: Database, sender: EmailSender | None
    ) -> None:
        self._settings = settings
        self._key = keys[0]
        self._keys = keys
        self._hashing_keys = [codes.hashing_key(key) for key in keys]
        self._database = database
        self._outbox = None if sender is None else Outbox(sender)

    @property
    def routes(self) -> list[SignInRoute]:
        """The routes below ``/console/session``: without a sender of mail, only the one that shell sign-ins need.

        All of them write, so a console that only reads refuses them.
        """
        if self._database.is_read_only:
            return list(REFUSED)
        if self._outbox is None:
            return [("POST", "/claim", self.claim, CLAIM)]
        return [
            ("POST", "/init", partial(self.init, self._outbox), INIT),
            ("POST", "/verify", self.verify, VERIFY),
            ("GET", "/poll", self.poll, POLL),
            ("POST", "/claim", self.claim, CLAIM),
        ]

    def opened(self) -> AbstractAsyncContextManager[None]:
        """Wait, at the end of the block, for mail that is under way."""
        return nullcontext() if self._outbox is None else self._outbox.opened()

    async def init(self, outbox: Outbox, request: ConsoleRequest) -> ConsoleResponse:
        """Begin a sign-in. Neither the answer nor the way to it depends on the address."""
        email = email_of(request).lower()
        session_id, code, device_token = uuid4(), codes.new_code(), secrets.token_urlsafe(32)
        agent = user_agent(request)
        values = {
            "session_id": session_id,
            "email": email,
            "is_allowed": permission_of(email, self._settings.console_allowed_emails) is not None,
            "is_named": email in self._settings.console_allowed_emails,
            "device_hash": sha256(device_token.encode()).digest(),
            "code_hash": codes.code_hash(self._hashing_keys[0], session_id, code),
            "decoy_hash": secrets.token_bytes(32),
            "max_attempts": self._settings.console_max_attempts,
            "ip": request.client,
            "user_agent": agent,
            "device": devices.known_device(self._keys, email, known_device_of(request)),
        }
        async with self._database.connection() as conn:
            [begun] = await afetch(conn, links.init(values))
            await note_counted(conn, SIGN_INS, links.SIGN_INS_OF, values["device"], request.client)
            if values["device"] is None:
                await note_counted(conn, SIGN_INS, links.SIGN_INS_AROUND, request.client, more=links.MORE_AROUND)
        if begun.retry_after is not None:
            raise rate_limited(begun.retry_after, SIGN_INS)
        if begun.is_mailed:
            write = partial(
                sign_in_mail,
                to=email,
                sender=self._settings.console_mail_from or email,
                code=code,
                asked_at=begun.asked_at.astimezone(UTC),
                address=request.client,
                browser=browser(agent),
                public_url=self._settings.console_public_url,
            )
            outbox.post(write, on_failure=partial(self._mail_failed, session_id))
        return ConsoleResponse(200, PendingSignIn(self.method, session_id, device_token, CODE_SECONDS, POLL_SECONDS))

    async def verify(self, request: ConsoleRequest) -> ConsoleResponse:
        """Try a code. A text that cannot be a code is refused, and does not count as an attempt."""
        body = read_body(request, VerifyRequest)
        code = codes.typed_code(body.code)
        if code is None:
            raise Problem(422, "malformed_code", "A code has 6 characters, and none of I, O, 0 and 1.")
        session_id, device_hash = session_id_of(body.session_id), device_hash_of(request)
        code_hashes = [codes.code_hash(key, session_id, code) for key in self._hashing_keys]
        attempt = links.verify(session_id, device_hash, code_hashes, ip=request.client, user_agent=user_agent(request))
        async with self._database.connection() as conn:
            [tried] = await afetch(conn, attempt)
            if tried.outcome != "unknown_session":
                await note_counted(conn, CODES, links.CODES_OF, request.client, session_id)
        if tried.retry_after is not None:
            raise rate_limited(tried.retry_after, CODES)
        if tried.attempts_remaining is not None:
            status, detail = OUTCOMES[tried.outcome]
            raise Problem(status, tried.outcome, detail, attempts_remaining=tried.attempts_remaining)
        if tried.outcome != "verified":
            refuse(tried.outcome)
        return ConsoleResponse(200, Verified("verified", CLAIM_SECONDS))

    async def poll(self, request: ConsoleRequest) -> ConsoleResponse:
        """Tell the state of a sign-in (after RFC 8628, the device authorization grant)."""
        given = request.query.getlist("sessionId")
        if len(given) != 1:
            raise Problem(422, "invalid_parameter", "Give the query parameter sessionId, once.", parameter="sessionId")
        question = links.poll(session_id_of(given[0]), device_hash_of(request))
        async with self._database.connection() as conn:
            [found] = await afetch(conn, question)
        if found.state is not None:
            note(POLLS, POLLS.most, POLLS.seconds)
        if found.retry_after is not None:
            raise rate_limited(found.retry_after, POLLS, "slow_down")
        if found.state is None or found.expires_in is None:
            refuse("unknown_session")
        return ConsoleResponse(200, SignInState(found.state, POLL_SECONDS, found.expires_in))

    async def claim(self, request: ConsoleRequest) -> ConsoleResponse:
        """Make the session of a verified link, and sign its token; or sign it again, if its answer was lost."""
        session_id, device_hash = session_id_of(read_body(request, ClaimRequest).session_id), device_hash_of(request)
        lifetime = timedelta(seconds=int(self._settings.console_token_lifetime.total_seconds()))
        outcome, token, known_device = "unknown_session", "", ""
        async with self._database.connection() as conn:
            for link in await afetch(conn, links.owner(session_id, device_hash)):
                permission = permission_of(link.email, self._settings.console_allowed_emails)
                token = tokens.issue(
                    self._key,
                    email=link.email,
                    permissions=included(permission or "read"),
                    lifetime=lifetime,
                    method=self.method,
                    session_id=session_id,
                    now=link.asked_at,
                )
                known_device = devices.device_token(self._key, link.email, now=link.asked_at)
                values = {
                    "session_id": session_id,
                    "device_hash": device_hash,
                    "token_hash": tokens.token_hash(token),
                    "permission": permission,
                    "expires_at": link.asked_at.replace(microsecond=0) + lifetime,
                    "idle_timeout": self._settings.console_idle_timeout,
                    "ip": request.client,
                    "user_agent": user_agent(request),
                }
                context = request.audit_context(str(session_id))
                async with aactor(conn, link.email, context=context):
                    [claimed] = await afetch(conn, links.claim(values))
                outcome = claimed.outcome
            if outcome == "already_claimed":
                for found in await afetch(conn, links.claimed(session_id, device_hash)):
                    if again := self._again(session_id, found):
                        return ConsoleResponse(200, again)
        if outcome != "claimed":
            refuse(outcome)
        expires_in = int(lifetime.total_seconds())
        return ConsoleResponse(200, ClaimedSession("claimed", token, "Bearer", expires_in, known_device))

    def _again(self, session_id: UUID, found: links.ClaimedLink) -> ClaimedSession | None:
        """The claim of a session once more, with the same token; None if it cannot be made again."""
        begins_at = found.created_at.replace(microsecond=0)
        for key in self._keys:
            token = tokens.issue(
                key,
                email=found.email,
                permissions=included(found.permission),
                lifetime=found.expires_at - begins_at,
                method=self.method,
                session_id=session_id,
                now=begins_at,
            )
            if tokens.token_hash(token) == found.token_hash:
                expires_in = int((found.expires_at - found.asked_at).total_seconds())
                known_device = devices.device_token(self._key, found.email, now=found.asked_at)
                return ClaimedSession("claimed", token, "Bearer", expires_in, known_device)
        return None

    async def authenticate(self, token: str, *, is_use: bool = True) -> Session:
        """The session of a token: its signature is ours, its row is live, and its address may still sign in.

        Its permission is the one granted then or the one configured today, whichever is less. A call that is no use of
        the session keeps no idle session alive. Raises TokenError, and Problem 429 if the token is used too often.
        """
        tokens.verify_any(token, self._keys, method=self.method)
        async with self._database.connection() as conn:
            live = await sessions.find_live(conn, token, is_use=is_use, is_read_only=self._database.is_read_only)
        if live.retry_after is not None:
            raise rate_limited(live.retry_after, CALLS)
        allowed = permission_of(live.email, self._settings.console_allowed_emails)
        if allowed is None:
            raise TokenError("the address may no longer sign in")
        return Session(
            session_id=str(live.id),
            email=live.email,
            permissions=included(least(live.permission, allowed)),
            expires_at=live.expires_at,
            tenant=live.tenant,
        )

    async def _mail_failed(self, session_id: UUID, kind: str) -> None:
        logger.warning("the code of session %s was not mailed: %s", session_id, kind)
        try:
            async with self._database.connection() as conn:
                await conn.execute(links.MAIL_FAILED, (kind, session_id))
        except Problem as problem:
            logger.warning("the failure of session %s was not recorded: %s", session_id, problem.code)
