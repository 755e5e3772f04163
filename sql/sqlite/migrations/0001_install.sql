-- What is installed in this database. The tables of svc-pg have its prefix, because SQLite has no schemas.
create table svc_migrations (
    number integer primary key,
    name text not null,
    sha256 text not null,
    applied_at text not null default (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);

create table svc_installation (
    is_only integer primary key check (is_only = 1),
    version text not null
);

-- Triggers, with the digest of our SQL and of what sqlite_schema said of them right after it ran.
create table svc_installed_objects (
    kind text not null,
    identity text not null,
    audited_table text,
    source_sha256 text not null,
    catalog_sha256 text not null,
    primary key (kind, identity)
) without rowid;
