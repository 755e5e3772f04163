"""An address of a database is read once, bounded in time, and shown without its secrets."""

from traceback import format_exception

import pytest
from psycopg.conninfo import conninfo_to_dict

from svc_pg.database.conninfo import Conninfo, libpq
from svc_pg.errors import ConfigError


@pytest.mark.parametrize(
    ("url", "read"),
    [
        ("postgresql+psycopg://ann@db/shop", "postgresql://ann@db/shop"),
        ("postgres+asyncpg:///shop", "postgresql:///shop"),
        ("postgresql://ann:a+b://c@db/shop", "postgresql://ann:a+b://c@db/shop"),
        ("host=db password=postgresql+x://", "host=db password=postgresql+x://"),
        (" postgresql+psycopg://ann@db/shop\n", "postgresql://ann@db/shop"),
        ("", ""),
    ],
)
def test_an_address_of_sqlalchemy_is_read_without_its_driver_and_the_space_around_it(url: str, read: str) -> None:
    assert libpq(url) == read


def test_an_address_gets_limits_of_time_and_utf_8(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PGCONNECT_TIMEOUT", raising=False)
    parts = conninfo_to_dict(Conninfo.parse("postgresql+psycopg://ann@db/shop").bounded)
    assert (parts["host"], parts["dbname"], parts["client_encoding"]) == ("db", "shop", "UTF8")
    assert (parts["connect_timeout"], parts["tcp_user_timeout"]) == ("10", "30000")


def test_limits_that_the_user_sets_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    assert conninfo_to_dict(Conninfo.parse("host=db connect_timeout=3").bounded)["connect_timeout"] == "3"
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "4")
    assert "connect_timeout" not in conninfo_to_dict(Conninfo.parse("host=db").bounded)


def test_a_conninfo_is_parsed_once() -> None:
    conninfo = Conninfo.parse("host=db")
    assert Conninfo.parse(conninfo) is conninfo


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://ann:hunter2@db:6000/shop", "database shop at db, port 6000, as ann"),
        ("host=db port=6000 user=ann password=hunter2", "database ann at db, port 6000, as ann"),
        ("service=shop password=hunter2", "the service shop"),
        ("postgresql://ann:p@hunter2@db/shop", "a database whose address has an @ or / too many"),
        ("dbname=postgresql://ann:hunter2@db/shop", "a database whose address has an @ or / too many"),
    ],
)
def test_its_text_names_the_database_and_shows_no_secret(
    address: str, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGDATABASE", raising=False)
    conninfo = Conninfo.parse(address)
    assert str(conninfo) == shown
    monkeypatch.setenv("PGSERVICE", "stock")
    assert str(Conninfo.parse("")) == "the service stock"
    assert "hunter2" not in repr(conninfo)


@pytest.mark.parametrize("address", ["shop hunter2", "mysql://ann:hunter2@db/shop", "postgresql://ann:hunter2@[db"])
def test_anything_else_is_refused_without_being_shown(address: str) -> None:
    with pytest.raises(ConfigError) as raised:
        Conninfo.parse(address, name="--database-url")
    assert raised.value.message == "--database-url is not the address of a PostgreSQL database"
    assert "hunter2" not in "".join(format_exception(raised.value))


@pytest.mark.parametrize(
    ("address", "unknown"),
    [
        ("postgresql+asyncpg://ann:hunter2@db/shop?ssl=require&sslmode=require&pool_size=5", "ssl, pool_size"),
        ("postgresql://ann@db/shop?application_name=x&y", "y"),
    ],
)
def test_options_of_other_drivers_are_named(address: str, unknown: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Conninfo.parse(address)
    assert caught.value.message == f"the conninfo has options that libpq does not know: {unknown}"


@pytest.mark.parametrize(
    "address",
    ["postgresql://ann:a/b?hunter2=c@db/shop", "postgresql://ann@db/shop?password=a&hunter2=b", "http://db/?hunter2"],
)
def test_what_may_be_a_part_of_a_password_is_no_option(address: str) -> None:
    with pytest.raises(ConfigError, match="is not the address") as caught:
        Conninfo.parse(address)
    assert "hunter2" not in "".join(format_exception(caught.value))
