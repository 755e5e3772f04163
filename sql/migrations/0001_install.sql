-- What is installed here, so that install can converge and status can tell what differs.
create schema svc;

create table svc.installation (
    is_only boolean primary key default true check (is_only),
    version text not null,
    has_roles boolean not null, -- whether everything belongs to the roles svc_*, or to the installer
    access_sha256 text not null -- of the rules of who may do what
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
create table svc.installed_parts (
    kind text not null check (kind in ('table', 'column', 'index', 'constraint')),
    identity text not null,
    of_table text not null,
    sql text,
    primary key (kind, identity)
);
