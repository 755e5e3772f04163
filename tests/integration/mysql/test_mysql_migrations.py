"""Migrations of a log with many entries: a server that would copy the table keeps all writers waiting."""

from typing import Final

import pytest

from svc_pg import Config
from svc_pg.database.dbapi import execute, rows
from svc_pg.database.statements import statement
from svc_pg.other_databases.schema.mysql.install import install
from tests.support.mysql_tables import Connection

ENTRIES: Final = 50_000
FILL: Final = """
insert into svc.audit_logs (timestamp, table_name, operation, record_id)
select now(6), 'shop.t', 'INSERT', a.i * 1000 + b.i
  from (with recursive n (i) as (select 0 union all select i + 1 from n where i < 49) select i from n) a
 cross join (with recursive n (i) as (select 0 union all select i + 1 from n where i < 999) select i from n) b
"""
OLDER: Final = (
    "alter table svc.audit_logs modify operation enum('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'SNAPSHOT') not null"
)


def test_the_label_gone_is_appended_at_once(shop: Connection) -> None:
    install(shop, Config())
    execute(shop, FILL)
    with pytest.raises(Exception, match=r"(?i)instant"):  # to take a label away, all entries are read
        execute(shop, OLDER + ", algorithm = instant")
    execute(shop, OLDER)
    migration = statement("mysql/migrations/0004_gone.sql")
    execute(shop, migration.rstrip().removesuffix(";") + ", algorithm = instant")
    entry = "insert into svc.audit_logs (timestamp, table_name, operation, record_id) values"
    execute(shop, entry + " (now(6), 'shop.t', 'GONE', '1')")
    found = rows(shop, "select operation, count(*) from svc.audit_logs where table_name = 'shop.t' group by operation")
    assert dict(found) == {"INSERT": ENTRIES, "GONE": 1}
