"""The few lines in which install and status show a database."""

import pytest

from cli.format_status import Line, every, summary
from svc_pg.schema import Status
from svc_pg.schema.status import Kind, State

CAPTURE = "00_svc_audit_write on public.customer"


def entry(kind: Kind, identity: str, state: State = "missing", *, table: str | None = None) -> Status:
    return Status(kind, identity, state, "", table)


def customer(state: State) -> list[Status]:
    return [
        entry("function", "svc.capture_public_customer", state, table="public.customer"),
        entry("trigger", CAPTURE, state, table="public.customer"),
    ]


def functions(state: State, number: int = 40) -> list[Status]:
    return [entry("function", f"svc.function_{each}", state) for each in range(number)]


def shown(entries: list[Status]) -> list[tuple[str, str, str]]:
    return [(line.state, line.kind, line.what) for line in summary(entries)]


def test_a_first_install_is_a_line_for_each_table_and_event_and_one_for_the_schema() -> None:
    entries = [
        entry("role", "svc_owner"),
        *functions("missing"),
        entry("trigger", "00_svc_audit_write on svc.webhook_endpoints", table="svc.webhook_endpoints"),
        entry("event", "order.created"),
        *customer("missing"),
        entry("function", "svc.change_events_public_customer", table="public.customer"),
        entry("trigger", "00_svc_change_events_update on public.customer", table="public.customer"),
        entry("access", "schema svc"),
    ]
    assert summary(entries) == [
        Line("missing", "create", "schema", "svc: 1 role, 40 functions, 1 trigger, access rights"),
        Line("missing", "create", "audit", "public.customer"),
        Line("missing", "create", "event", "order.created"),
        Line("missing", "create", "on_change", "public.customer"),
    ]


def test_nothing_is_no_line() -> None:
    assert summary([]) == []


def test_what_is_as_it_should_be_is_counted() -> None:
    found = [*functions("ok"), *customer("ok"), entry("event", "order.created", "ok")]
    assert shown(found) == [
        ("ok", "schema", "svc: 40 functions"),
        ("ok", "audit", "public.customer"),
        ("ok", "event", "order.created"),
    ]


@pytest.mark.parametrize("state", ["tampered", "disabled", "missing", "orphan"])
def test_what_somebody_changed_or_took_away_has_a_line_of_its_own(state: State) -> None:
    found = [*functions("ok"), entry("function", "svc.webhook_claim", state)]
    assert shown(found) == [(state, "function", "svc.webhook_claim"), ("ok", "schema", "svc: 40 functions")]


@pytest.mark.parametrize("number", [1, 40])
def test_every_object_that_somebody_changed_has_a_line(number: int) -> None:
    found = functions("tampered", number)
    assert summary(found) == every(found)


@pytest.mark.parametrize("state", ["tampered", "disabled", "missing", "orphan"])
def test_of_a_table_only_what_differs_is_shown(state: State) -> None:
    capture, _ = customer("ok")
    assert shown([capture, entry("trigger", CAPTURE, state, table="public.customer")]) == [(state, "trigger", CAPTURE)]


def test_a_table_that_is_not_named_any_more_is_one_line() -> None:
    assert shown(customer("orphan")) == [("orphan", "audit", "public.customer")]


def test_new_rules_for_a_table_are_one_line_whatever_they_need() -> None:
    redaction = entry("function", "svc.redact_public_customer", table="public.customer")
    assert shown([*customer("outdated"), redaction]) == [("outdated", "audit", "public.customer")]


def test_a_new_version_of_svc_pg_is_one_line() -> None:
    assert shown([*functions("outdated"), *functions("ok", 1)]) == [
        ("ok", "schema", "svc: 1 function"),
        ("outdated", "schema", "svc: 40 functions"),
    ]


def test_a_table_of_ours_is_not_one_of_the_application() -> None:
    table = entry("trigger", "00_svc_audit_write on svc.tenants", "ok", table="svc.tenants")
    assert shown([table]) == [("ok", "schema", "svc: 1 trigger")]
