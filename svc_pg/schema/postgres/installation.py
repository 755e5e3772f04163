"""One look at a database before an install: the server, the installer, the roles and earlier installs."""

from dataclasses import dataclass
from typing import Any, Final, LiteralString

from psycopg import Connection
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import tuple_row

from svc_pg.database.query import Query, RawJson, fetch_one, scalar
from svc_pg.errors import AccessError
from svc_pg.schema.postgres import log_indexes
from svc_pg.schema.postgres.log_indexes import LogIndexes, of_facts

OWNERS: Final = ("svc_owner", "svc_writer")
CAPTURE: Final = "svc_capture"
CAPTURER: Final = "^svc_capture_.*_[0-9a-f]{8}$"
"""The roles of superusers' tables, one for each: members of CAPTURE."""
CLOSED: Final = (*OWNERS, CAPTURE)
"""The roles that nobody should be able to log in as."""
ROLES: Final = (*CLOSED, "svc_sender", "svc_reader", "svc_admin")
OPTIONS_SINCE: Final = 160000
"""The server version from which a membership says whether it inherits and may SET ROLE."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The facts that everybody may read in the catalog.

    ``roles`` are all of the cluster. ``excess`` has, for each role of svc with powers that it should not have, the
    options that take them away. ``lacking`` are the owners that exist and that the installer cannot act as.
    ``relations`` are the tables of schema ``svc``. ``has_user_types`` is true if a role that is no superuser owns a
    type outside that schema that is no domain, no array and no row.
    """

    server_version: int
    is_standby: bool
    is_read_only: bool
    installer: str
    is_superuser: bool
    creates_roles: bool
    creates_schemas: bool
    schema_owner: str | None
    acts_as_schema_owner: bool
    is_schema_of_superuser: bool
    roles: list[str]
    excess: dict[str, str]
    lacking: list[str]
    relations: list[str]
    has_guard: bool
    sees_hash_key: bool
    has_user_types: bool
    log_indexes: LogIndexes | None

    @property
    def has_options(self) -> bool:
        """True if a membership has options: to inherit, and to SET ROLE."""
        return self.server_version >= OPTIONS_SINCE


@dataclass(frozen=True, slots=True)
class Installation:
    """The surroundings, and the record of what is installed: without a version if nothing is.

    ``revision`` rises with every transaction that changes what is installed. ``migrations`` are the names and
    fingerprints of those that have run, by number.
    """

    around: Surroundings
    version: str | None
    has_roles: bool | None
    access_sha256: str | None
    revision: int
    migrations: dict[int, tuple[str, str]]

    def has(self, table: str) -> bool:
        """True if schema ``svc`` has this table."""
        return table in self.around.relations


_SURROUNDINGS: Final[LiteralString] = """
select current_setting('server_version_num')::integer as server_version,
       pg_is_in_recovery() as is_standby,
       current_setting('transaction_read_only')::boolean as is_read_only,
       me.rolname::text as installer,
       me.rolsuper as is_superuser,
       me.rolsuper or me.rolcreaterole as creates_roles,
       has_database_privilege(current_database(), 'CREATE') as creates_schemas,
       pg_get_userbyid(n.nspowner)::text as schema_owner,
       n.oid is not null and pg_has_role(n.nspowner, 'USAGE') as acts_as_schema_owner,
       coalesce((select rolsuper from pg_roles where oid = n.nspowner), false) as is_schema_of_superuser,
       array(select rolname::text from pg_roles) as roles,
       (select coalesce(jsonb_object_agg(rolname, concat_ws(
                   ' ', case when rolsuper then 'nosuperuser' end, case when rolcreaterole then 'nocreaterole' end,
                   case when rolbypassrls then 'nobypassrls' end, case when rolreplication then 'noreplication' end,
                   case when rolcanlogin and is_closed then 'nologin' end
               )), '{}')
          from pg_roles
         cross join lateral (
            select rolname = any(%(closed)s) or rolname ~ %(capturer)s and pg_roles.oid in (
                       select p.proowner from pg_proc p where p.pronamespace = n.oid) as is_closed
         ) c
         where (is_closed or rolname = any(%(svc_roles)s))
           and (rolsuper or rolcreaterole or rolbypassrls or rolreplication or rolcanlogin and is_closed)) as excess,
       array(select rolname::text from pg_roles
              where rolname = any(%(owners)s)
                and not (pg_has_role(oid, 'USAGE') and pg_has_role(oid, case
                    when current_setting('server_version_num')::integer >= %(options_since)s then 'SET' else 'MEMBER'
                end)) order by rolname) as lacking,
       array(select relname::text from pg_class where relnamespace = n.oid and relkind in ('r', 'p')) as relations,
       exists (select from pg_proc where pronamespace = n.oid and proname = 'audit_guard') as has_guard,
       exists (select from pg_class where relnamespace = n.oid and relname = 'audit_hash_key'
                  and has_table_privilege(oid, 'SELECT')) as sees_hash_key,
       exists (select from pg_type t join pg_roles r on r.oid = t.typowner and not r.rolsuper
                where t.typtype in ('b', 'e', 'm', 'r') and t.typcategory <> 'A'
                  and t.typnamespace is distinct from n.oid) as has_user_types,
{log_indexes}
  from pg_roles me left join pg_namespace n on n.nspname = 'svc'
 where me.rolname = current_user
""".replace("{log_indexes}", log_indexes.FACTS)
_RECORD: Final[LiteralString] = "select version, has_roles, access_sha256, revision from svc.installation"


def _surroundings(*, excess: RawJson, log_indexes: RawJson | None, **facts: Any) -> Surroundings:
    return Surroundings(excess=excess.value, log_indexes=of_facts(log_indexes), **facts)


def look_around(conn: Connection[Any]) -> Surroundings:
    """Read the catalog."""
    params = {
        "owners": list(OWNERS),
        "closed": list(CLOSED),
        "capturer": CAPTURER,
        "svc_roles": list(ROLES),
        "options_since": OPTIONS_SINCE,
    }
    return fetch_one(conn, Query(_SURROUNDINGS, params, _surroundings))


def read(conn: Connection[Any], around: Surroundings) -> Installation:
    """Read the record, as far as there is one. Raises AccessError if the role may not."""
    rows = conn.cursor(row_factory=tuple_row)
    try:
        record = rows.execute(_RECORD).fetchone() if "installation" in around.relations else None
    except InsufficientPrivilege as error:
        raise AccessError(
            f'role "{around.installer}" may not read what is installed',
            hint='Administrators may. Name the role in admin below [grants] of svc-pg.toml: see "Roles and rights" in'
            " the documentation.",
        ) from error
    version, has_roles, access_sha256, revision = record or (None, None, None, 0)
    migrations = {}
    if "migrations" in around.relations:
        rows.execute("select number, name, sha256 from svc.migrations")
        migrations = {number: (name, sha256) for number, name, sha256 in rows}
    return Installation(
        around=around,
        version=version,
        has_roles=has_roles,
        access_sha256=access_sha256,
        revision=revision,
        migrations=migrations,
    )


def next_revision(conn: Connection[Any]) -> int:
    """Count a transaction that changes what is installed; return its number."""
    number: int = scalar(conn, "update svc.installation set revision = revision + 1 returning revision")
    return number
