"""The form of an endpoint: the typed values, unchanged, and the body for the API."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from math import isfinite
from typing import Self

from starlette.datastructures import QueryParams

from svc_pg.webhooks.endpoints.endpoint_rows import Endpoint


@dataclass(frozen=True, slots=True)
class EndpointForm:
    """The fields as texts. ``events`` are those that were checked, ``patterns`` those that were typed."""

    url: str = ""
    description: str = ""
    tenant: str = ""
    events: Sequence[str] = ()
    patterns: str = ""
    headers: str = ""
    keep_headers: bool = False
    ca_bundle: str = ""
    client_certificate: str = ""
    client_key: str = ""
    remove_tls: bool = False
    filter: str = ""
    ordering: str = "none"
    max_in_flight: str = "8"
    rate_per_second: str = ""
    timeout: str = "15"
    signatures: Sequence[str] = ("v1",)
    version: str = ""

    @classmethod
    def new(cls, *, tenant: str, event: str) -> Self:
        """An empty form, for a tenant and an event if they are given."""
        return cls(tenant=tenant, events=[event] if event else [])

    @classmethod
    def of(cls, endpoint: Endpoint, *, names: Sequence[str]) -> Self:
        """The fields of an endpoint; ``names`` are the events that there are, others are patterns."""
        return cls(
            url=endpoint.url,
            description=endpoint.description,
            tenant=endpoint.tenant or "",
            events=[each for each in endpoint.events if each in names],
            patterns=" ".join(each for each in endpoint.events if each not in names),
            keep_headers=endpoint.has_headers,
            filter=endpoint.filter or "",
            ordering=endpoint.ordering,
            max_in_flight=str(endpoint.max_in_flight),
            rate_per_second=str(endpoint.rate_per_second or ""),
            timeout=_seconds(endpoint.timeout),
            signatures=endpoint.signatures,
            version=str(endpoint.version),
        )

    @classmethod
    def read(cls, form: QueryParams) -> Self:
        """The fields as they were sent."""
        return cls(
            url=form.get("url", "").strip(),
            description=form.get("description", ""),
            tenant=form.get("tenant", "").strip(),
            events=form.getlist("events"),
            patterns=form.get("patterns", ""),
            headers=form.get("headers", ""),
            keep_headers=form.get("keep_headers") == "yes",
            ca_bundle=_pem(form, "ca_bundle"),
            client_certificate=_pem(form, "client_certificate"),
            client_key=_pem(form, "client_key"),
            remove_tls=form.get("remove_tls") == "yes",
            filter=form.get("filter", "").strip(),
            ordering=form.get("ordering", "none"),
            max_in_flight=form.get("max_in_flight", "").strip(),
            rate_per_second=form.get("rate_per_second", "").strip(),
            timeout=form.get("timeout", "").strip(),
            signatures=form.getlist("signatures"),
            version=form.get("version", ""),
        )

    @property
    def all_events(self) -> list[str]:
        """The events that were checked and typed, each once."""
        return list(dict.fromkeys([*self.events, *self.patterns.replace(",", " ").split()]))

    @property
    def seen_version(self) -> int:
        """The version that the form was made from; 0 if it does not tell one."""
        return int(self.version) if _is_whole(self.version) else 0

    @property
    def errors(self) -> dict[str, str]:
        """The fields that do not make a body for the API, with the problem of each."""
        errors = {}
        if not self.url:
            errors["url"] = "Write the address that gets the webhooks."
        if not self.all_events:
            errors["events"] = "Choose at least one event."
        if not self.signatures:
            errors["signatures"] = "Choose at least one signature."
        for name, text in (("max_in_flight", self.max_in_flight), ("rate_per_second", self.rate_per_second)):
            if text and not _is_whole(text):
                errors[name] = "Write a whole number."
        if not _is_number(self.timeout or "15"):
            errors["timeout"] = "Write a number of seconds."
        if _headers(self.headers) is None:
            errors["headers"] = "Write one header a line: Name: value."
        return errors

    def body(self, *, is_change: bool = False) -> dict[str, object]:
        """The body for the API. A change says all but the tenant, and the headers only if there are new ones.

        Fields with ``errors`` have their defaults in it, or none.
        """
        body: dict[str, object] = {
            "url": self.url,
            "description": self.description,
            "events": self.all_events or ["*"],
            "filter": self.filter or None,
            "ordering": self.ordering,
            "maxInFlight": int(self.max_in_flight) if _is_whole(self.max_in_flight) else 8,
            "ratePerSecond": int(self.rate_per_second) if _is_whole(self.rate_per_second) else None,
            "timeout": float(self.timeout) if _is_number(self.timeout) else 15.0,
            "signatures": list(self.signatures) or ["v1"],
        }
        headers = _headers(self.headers) or {}
        if headers or (is_change and not self.keep_headers):
            body["headers"] = headers
        if self.tenant and not is_change:
            body["tenant"] = self.tenant
        given = {
            name: pem
            for name, pem in (
                ("caBundle", self.ca_bundle),
                ("clientCertificate", self.client_certificate),
                ("clientKey", self.client_key),
            )
            if pem
        }
        if given or (is_change and self.remove_tls):
            body["tls"] = given or None
        return body


def _headers(text: str) -> dict[str, str] | None:
    """The headers of a text with one a line, or None if a line is none."""
    headers = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            return None
        headers[name.strip()] = value.strip()
    return headers


def _pem(form: QueryParams, name: str) -> str:
    """A PEM text with the ends of lines that programs write: browsers send others."""
    text = form.get(name, "").replace("\r\n", "\n").strip()
    return text and text + "\n"


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 9


def _is_number(text: str) -> bool:
    try:
        return isfinite(float(text))
    except ValueError:
        return False


def _seconds(duration: timedelta) -> str:
    return f"{duration.total_seconds():g}"
