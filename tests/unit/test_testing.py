"""Tests of applications reach no production: databases by name, webhooks by address."""

import subprocess
import sys
from types import ModuleType

import pytest

import svc_pg
from svc_pg import audit, testing, webhooks
from svc_pg.errors import EndpointError
from svc_pg.testing import databases
from svc_pg.testing.this_machine import ThisMachine


@pytest.mark.parametrize(
    ("name", "is_test"),
    [
        ("test", True),
        ("shop_test", True),
        ("test_shop", True),
        ("TEST-shop", True),
        ("svc_test_0a1b", True),
        ("tests", True),
        ("shop", False),
        ("postgres", False),
        ("latest", False),
        ("contest_shop", False),
        ("testament", False),
        ("", False),
    ],
)
def test_a_database_of_tests_has_the_word_in_its_name(name: str, *, is_test: bool) -> None:
    assert databases.is_of_tests(name) is is_test


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8000/hook",
        "http://localhost/",
        "https://[::1]:8443/",
        "http://127.9.9.9/",
        "http://2130706433/",
    ],
)
def test_webhooks_of_tests_may_go_to_this_machine(url: str) -> None:
    for who in ("operator", "customer"):
        ThisMachine().given_by(who).check_url(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://customer.example/",
        "https://localhost.example/",
        "http://10.0.0.1/",
        "http://0.0.0.0/",
        "https://93.184.216.34/",
        "http://[::ffff:10.0.0.1]/",
        "http://169.254.169.254/latest",
    ],
)
def test_webhooks_of_tests_go_nowhere_else(url: str) -> None:
    for who in ("operator", "customer"):
        with pytest.raises(EndpointError, match="is not this machine"):
            ThisMachine().given_by(who).check_url(url)
    assert not ThisMachine().is_allowed("93.184.216.34")
    assert not ThisMachine().is_allowed("customer.example")


def test_another_database_of_a_server_has_its_address() -> None:
    other = databases.address_beside
    assert other("postgresql://u:p%40@h:1/test?sslmode=require", "x") == "postgresql://u:p%40@h:1/x?sslmode=require"
    assert other("postgresql+psycopg://h/test", "x") == "postgresql+psycopg://h/x"
    assert other("postgresql://u@/test?host=/tmp/a", "x") == "postgresql://u@/x?host=/tmp/a"
    assert "dbname=x" in other("postgresql://h/?dbname=test", "x")
    assert "dbname=x" in other("host=h dbname=test", "x")


def test_the_plugin_imports_nothing_before_a_test_uses_it() -> None:
    program = "import sys, pytest; import svc_pg.testing.fixtures; print([*sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    names = {name for name in eval(loaded) if name.startswith("svc_pg") or name in ("psycopg", "pydantic", "httptools")}
    assert names == {"svc_pg", "svc_pg.errors", "svc_pg.testing", "svc_pg.testing.fixtures", "svc_pg.version"}


@pytest.mark.parametrize("package", [svc_pg, audit, testing, webhooks], ids=lambda package: package.__name__)
def test_a_name_that_a_package_lacks_is_an_attribute_error(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'nothing'"):
        package.nothing  # noqa: B018 - that it is read is the test
