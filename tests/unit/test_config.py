from datetime import timedelta
from pathlib import Path
from textwrap import dedent

import pytest

from svc_pg import Config
from svc_pg.config.erasure import references
from svc_pg.config.model import validated
from svc_pg.errors import ConfigError


def written(folder: Path, text: str) -> Path:
    path = folder / "svc-pg.toml"
    path.write_text(dedent(text), encoding="utf-8")
    return path


def refusal(folder: Path, text: str) -> str:
    """The error of from_toml for that text, without the file's name."""
    path = written(folder, text)
    with pytest.raises(ConfigError) as caught:
        Config.from_toml(path)
    lines = caught.value.message.splitlines()
    assert all(line.startswith(f"{path}: ") for line in lines)
    return "\n".join(line.removeprefix(f"{path}: ") for line in lines)


def test_a_file_and_python_give_the_same_configuration(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """
        [[audit.tables]]
        name = "customer"
        redact = ["password_hash"]

        [webhooks]
        allow_http = true
        allow_cidrs = ["127.0.0.0/8"]
        retry = ["5s", "PT1M"]

        [webhooks.events."order.created"]
        description = "An order was placed"
        schema = { type = "object" }
        """,
    )
    config = Config()
    config.audit.table("public.customer", redact=["password_hash"])
    config.webhooks.event("order.created", description="An order was placed", schema={"type": "object"})
    config.webhooks = config.webhooks.model_validate(
        {
            **config.webhooks.model_dump(),
            "allow_http": True,
            "allow_cidrs": ["127.0.0.0/8"],
            "retry": [timedelta(seconds=5), timedelta(minutes=1)],
        }
    )
    assert Config.from_toml(path) == config


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[audti]", 'audti: unknown key; did you mean "audit"?'),
        ("[audit]\nzzz = 1", "audit.zzz: unknown key; known keys: "),
        ('[[audit.tables]]\nname = "a"\nredcat = []', 'audit.tables[0].redcat: unknown key; did you mean "redact"?'),
        (
            '[webhooks.events."order.created"]\nshema = {}',
            'webhooks.events."order.created".shema: unknown key; did you mean "schema"?',
        ),
        ("[[audit.tables]]", "audit.tables[0].name: missing"),
        ('[[audit.tables]]\nname = "a"\nredact = "b"', 'audit.tables[0].redact: write a list of columns: ["b"]'),
        ('[[audit.tables]]\nname = "a.b.c"', "audit.tables[0].name: 'a.b.c' is not a table name"),
        ("[webhooks.events.Order]", "webhooks.events.Order: not an event name; write lower-case words with dots"),
        ('[webhooks]\nretry = "soon"', "webhooks.retry: 'soon' is not a retry policy; write \"default\""),
        ('[webhooks]\nretry = ["soon"]', "webhooks.retry: 'soon' is not a duration; write 30s"),
        ('[audit]\nretention_days = "36h"', "audit.retention_days: '36h' is not a number of days; write 30 or 30d"),
        ('[audit]\nretention_days = "30"', "audit.retention_days: '30' is not a number of days; write 30 or 30d"),
        ('[audit]\nretention_days = "101y"', "audit.retention_days: write 36500 or less"),
        ("[audit]\nretention_days = 1.5", "audit.retention_days: write a whole number"),
        ('[webhooks]\nallow_cidrs = ["10.0.0.1/8"]', "webhooks.allow_cidrs[0]: 10.0.0.1/8 has host bits set; write "),
        ("[webhooks]\nallow_http = 3", "webhooks.allow_http: write true or false"),
        (
            '[[audit.tables]]\nname = "a"\nrecord_when = { after = { n = {} } }',
            "audit.tables[0].record_when.after.n: an empty test; write a value, a list, or a table with eq, ne, ",
        ),
        (
            '[[audit.tables]]\nname = "a"\nrecord_when = {}',
            "audit.tables[0].record_when: an empty condition; write changed, before, after, all, any, not or sql",
        ),
        *(
            (
                f'[[audit.tables]]\nname = "a"\nrecord_when = {{ after = {{ n = {test} }} }}',
                f"audit.tables[0].record_when.after.n.{place}: a number that not all databases compare with",
            )
            for test, place in [("inf", "eq"), ("{ gt = -inf }", "gt"), ("[1, nan]", "in"), ("9" * 400, "eq")]
        ),
    ],
)
def test_a_problem_names_its_key_path_and_what_to_write(tmp_path: Path, text: str, expected: str) -> None:
    assert refusal(tmp_path, text).startswith(expected)


def test_every_problem_has_its_line(tmp_path: Path) -> None:
    assert refusal(tmp_path, "[audti]\n[webhoks]").splitlines() == [
        'audti: unknown key; did you mean "audit"?',
        'webhoks: unknown key; did you mean "webhooks"?',
    ]


def test_a_table_named_twice_is_refused_however_it_is_spelled(tmp_path: Path) -> None:
    problem = refusal(tmp_path, '[[audit.tables]]\nname = "customer"\n[[audit.tables]]\nname = "public.customer"')
    assert problem == "audit.tables: named more than once: public.customer"


def test_text_that_is_not_toml_is_refused_with_its_line(tmp_path: Path) -> None:
    assert "line 2" in refusal(tmp_path, "[audit]\ntables =\n")


def test_a_byte_order_mark_as_windows_writes_it_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "svc-pg.toml"
    path.write_bytes(b"\xef\xbb\xbf[audit]\r\nretention_days = 30\r\n")
    assert Config.from_toml(path).audit.retention_days == 30


def test_bytes_that_are_not_utf_8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "svc-pg.toml"
    path.write_bytes(b'[audit] # "\xff"')
    with pytest.raises(ConfigError, match=r"svc-pg\.toml: cannot be read"):
        Config.from_toml(path)


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read"):
        Config.find(str(tmp_path / "none.toml"))


def test_a_link_that_leads_nowhere_is_no_absent_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Config.find() == Config()
    Path("svc-pg.toml").symlink_to("none.toml")
    with pytest.raises(ConfigError, match=r"svc-pg\.toml: cannot be read: No such file"):
        Config.find()


def test_python_refuses_a_second_table_of_that_name() -> None:
    config = Config()
    config.audit.table("customer")
    with pytest.raises(ConfigError, match=r'table "public\.customer" is audited already'):
        config.audit.table("public.customer")
    assert [table.name for table in config.audit.tables] == ["public.customer"]


def test_capture_by_statement_of_logical_replication_is_refused_because_it_would_record_nothing() -> None:
    with pytest.raises(ConfigError, match='replica = true needs level = "row"'):
        Config().audit.table("public.customer", level="statement", replica=True)


def test_tables_are_excluded_from_patterns_alone() -> None:
    with pytest.raises(ConfigError, match=r"exclude is for patterns such as public\.\*"):
        Config().audit.table("public.customer", exclude=["public.old"])
    Config().audit.table("public.*", exclude=["public.old"])


def test_an_operation_has_one_enrichment_rule_for_a_condition() -> None:
    rules = [{"operation": "UPDATE", "label": label} for label in ("first", "second")]
    with pytest.raises(ConfigError, match="two enrichment rules for UPDATE with the same condition"):
        Config().audit.table("public.customer", enrich=rules)
    Config().audit.table("public.customer", enrich=[rules[0], rules[1] | {"operation": "DELETE"}])


def test_python_refuses_a_second_event_of_that_name() -> None:
    config = Config()
    config.webhooks.event("order.created", description="first")
    with pytest.raises(ConfigError, match=r'event "order\.created" is defined already'):
        config.webhooks.event("order.created")
    assert config.webhooks.events["order.created"].description == "first"


def test_python_refuses_a_name_that_is_none() -> None:
    with pytest.raises(ConfigError, match=r"config\.audit\.table: name: 'a\.b\.c' is not a table name"):
        Config().audit.table("a.b.c")
    with pytest.raises(ConfigError, match=r'config\.webhooks\.event: events\."Order\.Created": not an event name'):
        Config().webhooks.event("Order.Created")


def test_two_configurations_share_nothing() -> None:
    Config().audit.table("customer")
    Config().webhooks.event("order.created")
    assert Config() == Config.model_validate({})


def test_without_a_file_the_configuration_is_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Config.find() == Config()


def test_the_file_in_the_working_directory_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path, '[[audit.tables]]\nname = "customer"')
    monkeypatch.chdir(tmp_path)
    assert [table.name for table in Config.find().audit.tables] == ["public.customer"]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a module that holds a configuration."""
    name = "a_shop_of_the_tests"
    (tmp_path / f"{name}.py").write_text("from svc_pg import Config\nconfig = Config()\nother = 3\n")
    monkeypatch.syspath_prepend(tmp_path)
    return name


def test_an_attribute_of_a_module_is_found(shop: str) -> None:
    assert Config.find(f"{shop}:config") == Config()


@pytest.mark.parametrize("attribute", ["other", "none", ""])
def test_an_attribute_that_is_no_config_is_refused_with_those_that_are(shop: str, attribute: str) -> None:
    with pytest.raises(ConfigError, match=f"'{attribute}' is not a svc_pg.Config") as caught:
        Config.find(f"{shop}:{attribute}")
    assert caught.value.hint == f"{shop} has: config."


@pytest.mark.parametrize("reference", ["no_such_module:config", ":config", ".shop:config", "a..b:config"])
def test_a_module_that_cannot_be_imported_is_refused(reference: str) -> None:
    with pytest.raises(ConfigError, match="cannot import") as caught:
        Config.find(reference)
    assert caught.value.hint is not None


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os.environ['NOT_SET']", "KeyError: 'NOT_SET'"),
        ("import sys; sys.exit(0)", "SystemExit: 0"),
        ("config = (", "SyntaxError: "),
        ("from svc_pg import Config; Config(audit=3)", "ValidationError: "),
        ("from svc_pg import Config; Config.find('missing.toml')", "^missing.toml: cannot be read"),
    ],
)
def test_a_module_that_fails_or_ends_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, reason: str
) -> None:
    (tmp_path / "a_module_that_fails.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ConfigError, match=reason):
        Config.find("a_module_that_fails:config")


@pytest.mark.parametrize(
    ("erasure", "found"),
    [
        ({"customer": ["orders.customer_id"]}, [("public.customer", "public.orders", ("customer_id",))]),
        ({"crm.customer": ["shop.orders.customer_id"]}, [("crm.customer", "shop.orders", ("customer_id",))]),
        (
            {"customer": ["orders(region, customer_no)", "a.notes ( region,customer_no )"]},
            [
                ("public.customer", "public.orders", ("region", "customer_no")),
                ("public.customer", "a.notes", ("region", "customer_no")),
            ],
        ),
        ({"customer": ['"odd.schema"."o""dd"."co.l"']}, [("public.customer", '"odd.schema"."o""dd"', ("co.l",))]),
    ],
)
def test_erasure_names_tables_and_the_columns_that_refer(
    erasure: dict[str, list[str]], found: list[tuple[str, str, tuple[str, ...]]]
) -> None:
    config = Config.model_validate({"audit": {"erasure": erasure}})
    assert [(each.of, each.table, each.columns) for each in references(config.audit.erasure)] == found


@pytest.mark.parametrize(
    ("erasure", "words"),
    [
        ({"customer": ["orders"]}, "is not a table and its column"),
        ({"customer": ["a.b.c.d"]}, "is not a table and its column"),
        ({"customer": ["orders()"]}, "is not a table and its column"),
        ({"customer": ["customer.parent_id"]}, "in a circle"),
        ({"a": ["b.a_id"], "b": ["c.b_id"], "c": ["a.c_id"]}, "in a circle"),
        ({"a.b.c": ["orders.x"]}, "not a table name"),
    ],
)
def test_erasure_that_cannot_be_followed_is_refused(erasure: dict[str, list[str]], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        validated(Config, {"audit": {"erasure": erasure}}, source="svc-pg.toml")


@pytest.mark.parametrize(("written", "days"), [("30", 30), ('"30d"', 30), ('"2w"', 14), ('"1y"', 365), ('"P30D"', 30)])
def test_a_retention_is_a_number_of_days_or_a_duration_of_whole_days(tmp_path: Path, written: str, days: int) -> None:
    path = tmp_path / "svc-pg.toml"
    path.write_text(f'[audit]\nretention_days = {written}\n[[audit.tables]]\nname = "a"\nretention_days = {written}\n')
    config = Config.from_toml(path)
    assert (config.audit.retention_days, config.audit.tables[0].retention_days) == (days, days)


def test_a_retention_in_python_may_be_a_timedelta_of_whole_days() -> None:
    config = validated(Config, {"audit": {"retention_days": timedelta(days=30)}}, source="config.py")
    assert config.audit.retention_days == 30
    with pytest.raises(ConfigError, match="36h is not a number of days; write 30 or 30d"):
        validated(Config, {"audit": {"retention_days": timedelta(hours=36)}}, source="config.py")


def test_indexes_of_the_log_are_a_closed_set_each_named_once(tmp_path: Path) -> None:
    assert Config().audit.indexes == ["record", "time", "severity"]
    said = refusal(tmp_path, '[audit]\nindexes = ["record", "actors", "label"]')
    assert said.splitlines() == [
        f"audit.indexes[{number}]: write 'record', 'time', 'severity', 'table', 'actor' or 'tenant'"
        for number in (1, 2)
    ]
    assert refusal(tmp_path, '[audit]\nindexes = ["actor", "actor"]') == "audit.indexes: named more than once: actor"
