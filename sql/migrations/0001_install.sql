-- What is installed here, so that install can converge and status can tell what differs.
create schema svc;

create table svc.installation (
    is_only boolean primary key default true check (is_only),
    version text not null,
    has_roles boolean not null, -- whether everything belongs to the roles svc_*, or to the installer
    access_sha256 text not null, -- of the rules of who may do what
    revision bigint not null default 1, -- tells an install that another one came between two of its transactions
    hash_key_sha256 text
);

create table svc.migrations (
    number integer primary key,
    name text not null,
    sha256 text not null,
    applied_at timestamptz not null default now()
);

-- One row for each function, view and trigger of ours. source_sha256 is that of the SQL that made it, catalog_sha256
-- that of what the catalog then said: another catalog means that somebody changed it, another source that we did.
-- Another postgres_major may print the same definition in other words.
create table svc.installed_objects (
    kind text not null check (kind in ('function', 'view', 'trigger')),
    identity text not null,
    audited_table text,
    source_sha256 text not null,
    catalog_sha256 text not null,
    postgres_major integer not null default current_setting('server_version_num')::integer / 10000,
    installed_at timestamptz not null default now(),
    primary key (kind, identity)
);

-- What the migrations made, and the SQL that puts an index or a constraint back.
create table svc.installed_inventory (
    kind text not null check (kind in ('table', 'column', 'index', 'constraint')),
    identity text not null,
    of_table text not null,
    sql text,
    primary key (kind, identity)
);

comment on table svc.installation is 'Internal: which svc-pg installed, and how.';
comment on column svc.installation.is_only is 'There is one row.';
comment on column svc.installation.version is 'The version of svc-pg.';
comment on column svc.installation.has_roles is 'Whether the roles svc_* own everything.';
comment on column svc.installation.access_sha256 is 'The digest of the rules of access.';
comment on column svc.installation.revision is 'The number of transactions that have changed what is installed.';
comment on column svc.installation.hash_key_sha256 is 'The digest of the key of hashed columns.';

comment on table svc.migrations is 'Internal: the migrations that have run.';
comment on column svc.migrations.number is 'Its number.';
comment on column svc.migrations.name is 'Its name.';
comment on column svc.migrations.sha256 is 'The digest of its text.';
comment on column svc.migrations.applied_at is 'When it ran.';

comment on table svc.installed_objects is
    'Internal: the functions, views and triggers of svc-pg, with digests that tell what differs.';
comment on column svc.installed_objects.kind is 'Function, view or trigger.';
comment on column svc.installed_objects.identity is 'Its name; of a trigger also its table''s.';
comment on column svc.installed_objects.audited_table is 'The table whose changes it records or sends.';
comment on column svc.installed_objects.source_sha256 is 'The digest of the SQL that made it.';
comment on column svc.installed_objects.catalog_sha256 is 'The digest of what the catalog then said.';
comment on column svc.installed_objects.postgres_major is 'The PostgreSQL that said it.';
comment on column svc.installed_objects.installed_at is 'When it was made.';

comment on table svc.installed_inventory is
    'Internal: the tables, columns, indexes and constraints that the migrations made.';
comment on column svc.installed_inventory.kind is 'Table, column, index or constraint.';
comment on column svc.installed_inventory.identity is 'Its name.';
comment on column svc.installed_inventory.of_table is 'Its table.';
comment on column svc.installed_inventory.sql is 'The SQL that restores it.';
