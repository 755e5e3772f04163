-- What is installed on this server, for all its databases. Each statement can run again: DDL commits at once, so an
-- install that is killed leaves some behind.
create database if not exists svc character set utf8mb4 collate utf8mb4_bin;

create table if not exists svc.migrations (
    number int not null primary key,
    name varchar(100) not null,
    sha256 char(64) not null,
    applied_at datetime(6) not null
) engine = InnoDB;

create table if not exists svc.installation (
    is_only tinyint not null primary key,
    version varchar(40) not null
) engine = InnoDB;

-- Triggers, with the digests of our SQL and of what the catalog said right after it ran. home is the database whose
-- install made one; it is empty for those of schema svc itself.
create table if not exists svc.installed_objects (
    kind varchar(20) not null,
    identity varchar(400) not null,
    home varchar(64) not null,
    audited_table varchar(264),
    source_sha256 char(64) not null,
    catalog_sha256 char(64) not null,
    primary key (kind, identity),
    key installed_objects_home (home)
) engine = InnoDB;

-- What the migrations made: a table or column that is gone, only a backup brings back.
create table if not exists svc.installed_inventory (
    kind varchar(20) not null,
    identity varchar(200) not null,
    primary key (kind, identity)
) engine = InnoDB;
