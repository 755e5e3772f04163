"""The audit log at an address."""

from importlib.util import find_spec

from pydantic import SecretStr

from svc_pg.config import Config
from svc_pg.console.audit_log import ConsoleLog
from svc_pg.console.audit_log.other_databases import OtherDatabaseLog
from svc_pg.console.audit_log.postgres import PostgresLog
from svc_pg.console.database.pool import Database
from svc_pg.database import addresses
from svc_pg.database.addresses import MySqlServer
from svc_pg.database.conninfo import Conninfo
from svc_pg.errors import ConfigError


def log_at(address: str | SecretStr | None, database: Database, config: Config) -> ConsoleLog:
    """The log at this address, or the console's own. Raises ConfigError if it cannot be read from there."""
    if address is None:
        return PostgresLog(database)
    text = address.get_secret_value() if isinstance(address, SecretStr) else address
    found = addresses.parse(text, name="the address of the audit log")
    if isinstance(found, Conninfo):
        return PostgresLog(Database(SecretStr(text), None, is_read_only=True), is_here=False)
    if isinstance(found, MySqlServer) and find_spec("pymysql") is None:
        raise ConfigError("an audit log on MySQL or MariaDB needs PyMySQL", hint="pip install 'svc-pg[mysql]'")
    return OtherDatabaseLog(found, config)
