"""TLS to a server, as the options of its address say it."""

import os
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pymysql
import pytest

from svc_pg.console.audit_log.log_connections import new_connection
from svc_pg.database.addresses import MySqlServer as Address
from svc_pg.database.addresses import parse
from svc_pg.errors import ConfigError
from tests.support.certificates import Authority, authority
from tests.support.commands import svc_pg
from tests.support.mysql import MySqlServer

only_mysql = pytest.mark.parametrize("mysql_server", ["mysql"], indirect=True)
"""MariaDB has no TLS until it starts with a certificate."""
PREFERS = ["", "?charset=utf8mb4", "?ssl_mode=preferred", "?ssl-mode=PREFERRED"]


@pytest.fixture
def trusted(tmp_path: Path, mysql_server: MySqlServer) -> Iterator[Authority]:
    """The authority of the server's certificate for 127.0.0.1, until the test ends."""
    known = authority(tmp_path)
    known.server()  # leaves key and certificate in one file
    with mysql_server.connect() as conn, conn.cursor() as cursor:
        cursor.execute("select @@datadir, @@ssl_ca, @@ssl_cert, @@ssl_key")
        [(folder, *before)] = cursor.fetchall()
        file = Path(folder, "own.pem")
        file.write_bytes((tmp_path / "receiver.pem").read_bytes())
        file.with_name("authority.pem").write_text(known.pem)
        for each in (file, file.with_name("authority.pem")):
            each.chmod(0o644)
        change = "set global ssl_ca = %s, ssl_cert = %s, ssl_key = %s"
        cursor.execute(change, (str(file.with_name("authority.pem")), str(file), str(file)))
        cursor.execute("alter instance reload tls")
        yield known
        cursor.execute(change, before)
        cursor.execute("alter instance reload tls")


def cipher(url: str) -> str:
    """That of a connection by an address; empty if the connection has none."""
    address = parse(url)
    assert isinstance(address, Address)
    ciphers = set()
    for conn in (pymysql.connect(**address.arguments), new_connection(address, seconds=5)):
        with conn, conn.cursor() as cursor:
            cursor.execute("show session status like 'Ssl_cipher'")
            [(_, used)] = cursor.fetchall()
            ciphers.add(str(used))
    [cipher] = ciphers  # the console's connections have the same
    return cipher


def test_a_server_with_tls_is_reached_by_it_unless_the_address_says_no(
    mysql_server: MySqlServer, mysql_database: str
) -> None:
    url = mysql_server.address(mysql_database)
    assert {bool(cipher(url + options)) for options in PREFERS} == {mysql_server.kind == "mysql"}
    assert cipher(url + "?ssl_mode=disabled") == ""
    if mysql_server.kind == "mysql":
        assert cipher(url + "?ssl_mode=required")
    else:
        with pytest.raises(pymysql.OperationalError, match="SSL is required"):
            cipher(url + "?ssl_mode=required")


def test_the_console_makes_one_context_of_tls_for_all_connections(
    mysql_server: MySqlServer, mysql_database: str
) -> None:
    address = parse(mysql_server.address(mysql_database))
    assert isinstance(address, Address)
    with new_connection(address, seconds=5) as first, new_connection(address, seconds=5) as second:
        assert first.ctx is second.ctx


@only_mysql
def test_the_certificate_is_verified(
    trusted: Authority, tmp_path: Path, mysql_server: MySqlServer, mysql_database: str
) -> None:
    (tmp_path / "ca.pem").write_text(trusted.pem)
    (tmp_path / "others").mkdir()
    (tmp_path / "others" / "ca.pem").write_text(authority(tmp_path / "others").pem)
    url = mysql_server.address(mysql_database) + "?ssl_ca=" + quote(str(tmp_path / "ca.pem"))
    for options in ("", "&ssl_mode=VERIFY_IDENTITY", "&ssl_check_hostname=true", "&ssl-mode=verify-ca"):
        assert cipher(url + options)
    by_name = url.replace("127.0.0.1", "localhost")
    with pytest.raises(pymysql.OperationalError, match="Hostname mismatch"):
        cipher(by_name)
    assert cipher(by_name + "&ssl_check_hostname=false")
    for unknown in (url.replace("ca.pem", "others/ca.pem"), url.partition("?")[0] + "?ssl_mode=verify_ca"):
        with pytest.raises(pymysql.OperationalError, match="CERTIFICATE_VERIFY_FAILED"):
            cipher(unknown)
    told = svc_pg("status", "--database-url", unknown, folder=tmp_path)
    assert told.returncode == 1
    assert "CERTIFICATE_VERIFY_FAILED" in told.stderr


@only_mysql
def test_a_client_shows_its_certificate(
    trusted: Authority, tmp_path: Path, mysql_server: MySqlServer, mysql_database: str
) -> None:
    for name, text in zip(("cert.pem", "key.pem"), trusted.client(), strict=True):
        (tmp_path / name).write_text(text)
    with mysql_server.connect() as conn, conn.cursor() as cursor:
        cursor.execute("create user shown@'127.0.0.1' require x509")
        cursor.execute(f"grant select on {mysql_database}.* to shown@'127.0.0.1'")
    try:
        url = mysql_server.address(mysql_database).replace("root@", "shown@")
        with pytest.raises(pymysql.OperationalError, match="Access denied"):
            cipher(url)
        assert cipher(f"{url}?ssl_cert={tmp_path}/cert.pem&ssl_key={tmp_path}/key.pem")
    finally:
        with mysql_server.connect() as conn, conn.cursor() as cursor:
            cursor.execute("drop user shown@'127.0.0.1'")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("ssl_mode=verify", "ssl_mode is none of those"),
        ("ssl_mode=", "ssl_mode is none of those"),
        ("ssl_ca=", "what ssl_ca names cannot be loaded"),
        ("ssl_ca=/nowhere/ca.pem", "what ssl_ca names cannot be loaded: No such file or directory"),
        (f"ssl_ca={quote(os.__file__)}", "what ssl_ca names cannot be loaded"),
        ("ssl_ca=a%00b", "what ssl_ca names cannot be loaded"),
        (f"ssl_cert={quote(os.__file__)}", "what ssl_cert names cannot be loaded"),
        ("ssl_key=/nowhere/key.pem", "has an ssl_key, but no ssl_cert"),
        ("ssl_check_hostname=maybe", "ssl_check_hostname is neither true nor false"),
        ("ssl_verify_identity=true", "option of TLS that is not known: ssl_verify_identity"),
        ("sslaccept=strict", "option of TLS that is not known: sslaccept"),
        ("ssl=true", "option of TLS that is not known: ssl"),
        ("TLS-Version=TLSv1.3", "option of TLS that is not known: tls_version"),
    ],
)
def test_options_that_cannot_be_kept_are_refused(options: str, reason: str) -> None:
    with pytest.raises(ConfigError, match=reason):
        parse(f"mysql://root@127.0.0.1/shop?{options}")
