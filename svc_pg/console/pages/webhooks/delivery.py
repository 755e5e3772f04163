"""The page Delivery: its attempts and their responses, the request rebuilt, and where it comes from."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, timedelta
from typing import Final
from urllib.parse import urlsplit

from svc_pg.audit.log.entry import Entry
from svc_pg.console.pages.answers import Answer, Html, SeeOther
from svc_pg.console.pages.audit import changes
from svc_pg.console.pages.audit.record_names import name_of
from svc_pg.console.pages.page_request import PageRequest
from svc_pg.console.pages.webhooks.deliveries import rows
from svc_pg.database.pagination import Page
from svc_pg.formats.human_times import exact, second
from svc_pg.webhooks.deliveries.delivery_reasons import DeliveryReason
from svc_pg.webhooks.deliveries.delivery_request import DeliveryPost
from svc_pg.webhooks.deliveries.delivery_rows import Delivery, DeliveryAttempt, DeliveryDetail
from svc_pg.webhooks.http.route import request_line

SHOWN_BODY: Final = 32 * 1024
"""The most characters of a body that the page shows."""
QUOTED_BODY: Final = 8 * 1024
"""The most characters of a body that a command has in itself."""
SHOWN_ATTEMPTS: Final = 30

_CAUSES: Final = 3
_SIGNED: Final = "webhook-signature"
_BY_CURL: Final = ("Host", "Content-Length")
_CHECK: Final = """\
{ printf '%s.%s.' "$ID" "$TIMESTAMP"; cat body.json; } |
  openssl dgst -sha256 -binary -mac HMAC -macopt \\
    hexkey:"$(printf %s "${SECRET#whsec_}" | base64 -d | od -An -tx1 -v | tr -d ' \\n')" | base64
"""


@dataclass(frozen=True, slots=True)
class Mark:
    """An attempt on the strip: how far from the first to the last, in percent."""

    position: float
    is_success: bool


async def delivery_page(request: PageRequest) -> Answer:
    """One delivery."""
    delivery_id = request.params["id"]
    delivery = await request.api.get(DeliveryDetail, "webhooks", "deliveries", delivery_id)
    attempts = await request.api.get(
        Page[DeliveryAttempt], "webhooks", "deliveries", delivery_id, "attempts", query={"limit": "1000"}
    )
    rebuilt = await request.api.get(DeliveryPost, "webhooks", "deliveries", delivery_id, "request")
    [row] = await rows(request, [delivery])
    same_message = await request.api.get(
        Page[Delivery], "webhooks", "deliveries", query={"messageId": delivery.message_id, "limit": "6"}
    )
    newest_first = list(reversed(attempts.data))
    endpoint = row.endpoint
    values = {
        "delivery": delivery,
        "summary": row.summary,
        "why": await _why(request, delivery),
        "attempts": newest_first[:SHOWN_ATTEMPTS],
        "older": len(newest_first) - SHOWN_ATTEMPTS,
        "marks": marks(attempts.data),
        "took": duration(attempts.data),
        "rebuilt": rebuilt,
        "line": request_line(urlsplit(rebuilt.url or "")),
        "is_changed": bool(endpoint and newest_first and endpoint.updated_at > newest_first[0].started_at),
        "shown_body": SHOWN_BODY,
        "is_signed": any(each.name == _SIGNED and each.value for each in rebuilt.headers),
        "check": check_command(delivery.id, rebuilt),
        "curl": curl_command(delivery.id, rebuilt),
        "endpoint": endpoint,
        "others": await rows(request, [each for each in same_message if each.id != delivery.id][:5]),
        "causes": await _causes(request, delivery),
    }
    return Html("delivery", values)


async def retry(request: PageRequest) -> Answer:
    """Make the delivery due again."""
    await request.api.call("POST", "webhooks", "deliveries", request.params["id"], "retry")
    return SeeOther(request.to.delivery(request.params["id"]))


async def cancel(request: PageRequest) -> Answer:
    """Cancel the delivery."""
    await request.api.call("POST", "webhooks", "deliveries", request.params["id"], "cancel")
    return SeeOther(request.to.delivery(request.params["id"]))


async def _why(request: PageRequest, delivery: DeliveryDetail) -> Sequence[DeliveryReason]:
    """The reasons for which the delivery has not arrived."""
    if delivery.status == "delivered":
        return []
    found = await request.api.get(list[DeliveryReason], "webhooks", "deliveries", delivery.id, "why")
    return [replace(each, sentence=_sentence(each)) for each in found]


def _sentence(reason: DeliveryReason) -> str:
    """The sentence, with its times as pages show them."""
    sentence = reason.sentence
    for time in (reason.since, reason.until):
        if time is not None:
            sentence = sentence.replace(second(time), exact(time.astimezone(UTC)))
    return sentence


@dataclass(frozen=True, slots=True)
class Cause:
    """An entry of the transaction that sent a delivery, and the name of its record, or else its key."""

    entry: Entry
    title: str
    record: str


async def _causes(request: PageRequest, delivery: DeliveryDetail) -> Sequence[Cause]:
    """The first entries of the transaction that sent the delivery."""
    if delivery.xact_id is None or not request.has("audit") or not request.is_log_here:
        return []
    query = {"transaction": delivery.xact_id, "limit": str(_CAUSES + 1), "order": "oldest"}
    query["fields"] = changes.WITH_VALUES
    found = await request.api.get(Page[Entry], "audit", "entries", query=query)
    return [
        Cause(
            entry,
            changes.row_title(entry, has_values=False),
            name_of(entry, request.titles) or entry.record_id or "",
        )
        for entry in found
    ]


def marks(attempts: Sequence[DeliveryAttempt]) -> Sequence[Mark]:
    """The attempts on a strip from the first to the last."""
    if not attempts:
        return []
    first = attempts[0].started_at
    whole = max((attempts[-1].started_at - first).total_seconds(), 1.0)
    return [
        Mark(
            round(0.5 + 98.8 * min(1.0, (each.started_at - first).total_seconds() / whole), 1),
            each.outcome == "success",
        )
        for each in attempts[-SHOWN_ATTEMPTS:]
    ]


def duration(attempts: Sequence[DeliveryAttempt]) -> str:
    """The time from the first attempt to the last, in its two largest units; empty if there is one."""
    if len(attempts) < 2:
        return ""
    took = attempts[-1].started_at - attempts[0].started_at
    if took < timedelta(minutes=1):
        return f"{took.total_seconds():.0f} sec"
    hours, minutes = divmod(int(took.total_seconds()) // 60, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "days" if days > 1 else "day"), (hours, "hr"), (minutes, "min")]
    return " ".join([f"{number} {unit}" for number, unit in parts if number][:2])


def check_command(delivery_id: str, request: DeliveryPost) -> str:
    """The shell command that makes the signature of the request, from the secret."""
    given = {header.name.lower(): header.value for header in request.headers}
    timestamp = given.get("webhook-timestamp")
    told = f"TIMESTAMP={timestamp}" if timestamp else "TIMESTAMP=...  # of the request that arrived: webhook-timestamp"
    lines = [f"SECRET=whsec_...  # of the endpoint\nID={delivery_id}", told, _body_file(delivery_id, request)]
    return "\n".join(lines) + "\n" + _CHECK


def curl_command(delivery_id: str, request: DeliveryPost) -> str:
    """The shell command that sends the request, without the headers whose values are sealed."""
    lines = [_body_file(delivery_id, request), f"curl --data-binary @body.json {shlex.quote(request.url or '')}"]
    given = [
        f"{header.name}: {header.value}"
        for header in request.headers
        if header.value is not None and header.name not in _BY_CURL
    ]
    return " \\\n".join(["\n".join(lines), *(f"  -H {shlex.quote(each)}" for each in given)])


def _body_file(delivery_id: str, request: DeliveryPost) -> str:
    body = request.body or ""
    if len(body) <= QUOTED_BODY:
        return f"printf %s {shlex.quote(body)} > body.json"
    return f"# save the body: GET .../webhooks/deliveries/{delivery_id}/request | jq -j .body > body.json"
