from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pytest

from svc_pg import Config, audit, schema
from svc_pg.config import AuditConfig, AuditedTable
from svc_pg.errors import ConfigError, InstallError, SvcError
from tests.support.postgres import new_database
from tests.support.tables import create_and_audit, log

Connect = Callable[..., psycopg.Connection[Any]]

DDL = 'create table t (id int primary key, email text, status text, total numeric, "o\'dd {c}" text, secret text)'


@pytest.fixture(params=["row", "statement"])
def connect(request: pytest.FixtureRequest, database: str) -> Any:
    """Create and audit a table with rules, at each level in turn, and connect."""
    opened = []

    def connected(*rules: dict[str, Any], **options: Any) -> psycopg.Connection[Any]:
        table = AuditedTable.model_validate({"name": "t", "level": request.param, "enrich": rules} | options)
        create_and_audit(database, DDL, Config(audit=AuditConfig(tables=[table])))
        opened.append(psycopg.connect(database))
        return opened[-1]

    yield connected
    for conn in opened:
        conn.close()


def labels(conn: psycopg.Connection[Any]) -> list[str | None]:
    return [entry["label"] for entry in log(conn)]


def test_a_rule_gives_label_severity_compliance_and_description(connect: Connect) -> None:
    conn = connect(
        {
            "operation": "UPDATE",
            "label": "it's edited",
            "severity": "medium",
            "compliance": ["gdpr", "soc2"],
            "description": "{actor_id} of {tenant_id} changed {before[email]} to {after[email]} {{so}} \\ it's",
        }
    )
    with audit.actor(conn, "alice", tenant="acme"):
        conn.execute("insert into t (id, email) values (1, 'a'), (2, null)")
        conn.execute("update t set email = 'b' || id")
    entries = log(conn)
    assert [(e["label"], e["severity"], e["compliance"], e["description"]) for e in entries[:2]] == [(None,) * 4] * 2
    assert [(e["label"], e["severity"], e["compliance"]) for e in entries[2:]] == [
        ("it's edited", "medium", ["gdpr", "soc2"])
    ] * 2
    assert sorted(e["description"] for e in entries[2:]) == [
        "alice of acme changed  to b2 {so} \\ it's",
        "alice of acme changed a to b1 {so} \\ it's",
    ]


def test_the_first_rule_that_applies_decides_everything(connect: Connect) -> None:
    conn = connect(
        {"operation": "UPDATE", "label": "cancelled", "severity": "high", "when": {"after": {"status": "cancelled"}}},
        {"operation": "*", "label": "anything", "compliance": ["soc2"]},
        {"operation": "DELETE", "label": "never reached"},
    )
    conn.execute("insert into t (id, status) values (1, 'new')")
    conn.execute("update t set status = 'cancelled'")
    conn.execute("update t set status = 'new'")
    conn.execute("delete from t")
    conn.execute("truncate t")
    assert [(e["label"], e["severity"], e["compliance"]) for e in log(conn)] == [
        ("anything", None, ["soc2"]),
        ("cancelled", "high", None),
        ("anything", None, ["soc2"]),
        ("anything", None, ["soc2"]),
        ("anything", None, ["soc2"]),
    ]


CONDITIONS: list[tuple[dict[str, Any], list[int]]] = [
    ({"changed": "email"}, [2]),
    ({"changed": ["email", "status"]}, [2, 3]),
    ({"after": {"total": {"gt": 100}}}, [3]),
    ({"after": {"total": {"ge": 100, "lt": 1000}}}, [2]),
    ({"after": {"total": {"gt": 9}}}, [1, 2, 3]),
    ({"after": {"status": ["paid", "sent"]}}, [3]),
    ({"after": {"status": {"ne": "paid"}}}, [2]),
    ({"after": {"status": {"is_null": True}}}, [1]),
    ({"after": {"status": {"gt": "oz", "lt": "pz"}}}, [3]),
    ({"before": {"email": "a"}, "after": {"email": "b"}}, [2]),
    ({"any": [{"changed": "email"}, {"after": {"status": "paid"}}]}, [2, 3]),
    ({"all": [{"changed": "email"}, {"after": {"status": "paid"}}]}, []),
    ({"not": {"changed": "email"}}, [1, 3]),
    ({"sql": "(after ->> 'total')::numeric > 50 and actor_id = 'alice'"}, [2, 3]),
    ({"after": {"o'dd {c}": "x"}}, [2]),
]
"""Conditions, each with the ids of the rows whose UPDATE it chooses."""


@pytest.fixture(scope="module", params=["row", "statement"])
def chosen(request: pytest.FixtureRequest, postgres: str, template: str) -> Iterator[dict[str, list[int]]]:
    """The ids of the rows whose entries have a label, by table: a copy of the table for each condition."""
    tables = [
        AuditedTable.model_validate(
            {
                "name": f"t{number}",
                "level": request.param,
                "enrich": [{"operation": "UPDATE", "label": "chosen", "when": condition}],
            }
        )
        for number, (condition, _) in enumerate(CONDITIONS)
    ]
    with new_database(postgres, template=template) as database, psycopg.connect(database) as conn:
        for table in tables:
            conn.execute(DDL.replace("table t", f"table {table.name}").encode())
        conn.commit()
        schema.install(conn, Config(audit=AuditConfig(tables=tables)))
        for table in tables:
            conn.execute(
                f"""insert into {table.name} (id, email, status, total)
                    values (1, 'a', null, 1), (2, 'a', 'new', 1), (3, 'a', 'new', 1)""".encode()
            )
            with audit.actor(conn, "alice"):
                conn.execute(f"update {table.name} set total = 10 where id = 1".encode())
                conn.execute(
                    f"""update {table.name} set total = 100, email = 'b', "o'dd {{c}}" = 'x' where id = 2""".encode()
                )
                conn.execute(f"update {table.name} set total = 1000.5, status = 'paid' where id = 3".encode())
        found: dict[str, list[int]] = {table.name: [] for table in tables}
        for entry in log(conn):
            if entry["label"]:
                found[entry["table_name"]].append(int(entry["record_id"]))
        yield found


@pytest.mark.parametrize("number", range(len(CONDITIONS)))
def test_conditions_choose_entries(chosen: dict[str, list[int]], number: int) -> None:
    _, expected = CONDITIONS[number]
    assert chosen[f"public.t{number}"] == expected


def test_conditions_on_values_of_other_types_are_false_and_do_not_fail(connect: Connect) -> None:
    conn = connect({"label": "chosen", "when": {"after": {"email": {"gt": 5}, "total": {"lt": "x"}}}})
    conn.execute("insert into t (id, email, total) values (1, 'text', 7)")
    assert labels(conn) == [None]


def test_conditions_see_raw_values_and_redaction_counts_for_every_entry(connect: Connect) -> None:
    conn = connect(
        {"operation": "DELETE", "label": "chosen", "when": {"before": {"secret": "hush"}}, "redact": ["secret"]}
    )
    conn.execute("insert into t (id, secret) values (1, 'hush')")
    conn.execute("delete from t")
    assert labels(conn) == [None, "chosen"]
    assert conn.execute("select count(*) from svc.audit_logs l where l::text like '%hush%'").fetchone() == (0,)


def test_a_rule_for_an_operation_counts_for_rows_that_a_statement_moves_to_another_key(connect: Connect) -> None:
    conn = connect({"operation": "DELETE", "label": "gone"}, {"operation": "INSERT", "label": "come"})
    conn.execute("insert into t (id) values (1)")
    conn.execute("update t set id = 2")
    assert set(labels(conn)[1:]) in ({None}, {"gone", "come"})


def test_toml_and_python_give_the_same_sql(connect: Connect) -> None:
    conn = connect()
    toml = Config.model_validate(
        {
            "audit": {
                "tables": [
                    {
                        "name": "public.t",
                        "enrich": [
                            {
                                "operation": "UPDATE",
                                "label": "edited",
                                "description": "{actor_id} changed {before[email]} to {after[email]}",
                                "when": {"changed": ["email"]},
                            }
                        ],
                    }
                ]
            }
        }
    )
    python = Config()
    python.audit.table("t")
    python.audit.enrich(
        "t",
        "UPDATE",
        label="edited",
        description=lambda before, after, actor_id: f"{actor_id} changed {before['email']} to {after['email']}",
        when={"changed": "email"},
    )
    assert toml == python
    assert [step.sql for step in schema.plan(conn, toml)] == [step.sql for step in schema.plan(conn, python)]


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"description": "{after[emial]}"}, 'description names "emial"'),
        ({"when": {"changed": ["emial"]}}, 'when names "emial"'),
        ({"when": {"not": {"before": {"emial": 1}}}}, 'when names "emial"'),
        ({"redact": ["emial"]}, 'redact names "emial"'),
        ({"description": "{after[secret]}", "redact": ["secret"]}, "which is redacted"),
    ],
)
def test_rules_that_do_not_fit_the_table_are_refused(connect: Connect, rule: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        connect(rule)


@pytest.mark.parametrize(
    "sql", ["nonsense(after)", "after ->> 'id' = 1", "after.id > 1", "(", "1; drop table t", "after ->> 'id'"]
)
def test_a_condition_in_sql_that_fails_is_found_at_install(connect: Connect, sql: str) -> None:
    with pytest.raises((InstallError, ConfigError)):
        connect({"label": "x", "when": {"sql": sql}})


@pytest.mark.parametrize("sql", ["true $svc$", "tr\0ue"])
def test_a_condition_that_would_end_the_function_is_refused(connect: Connect, sql: str) -> None:
    with pytest.raises(SvcError):
        connect({"label": "x", "when": {"sql": sql}})
