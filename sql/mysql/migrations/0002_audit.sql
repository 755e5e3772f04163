-- The audit log: one for all databases of the server. No constraint that a capture could break. MySQL keeps JSON as
-- such; MariaDB keeps it as text, and would parse each value once more to check it.
create table if not exists svc.audit_logs (
    id bigint unsigned not null auto_increment primary key,
    `timestamp` datetime(6) not null,
    xact_id bigint unsigned,
    table_name varchar(264) not null,
    operation enum('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'SNAPSHOT') not null,
    record_id text,
    moved_from text,
    actor_id varchar(512),
    tenant_id varchar(512),
    db_user varchar(400),
    db_role varchar(400),
    before_data /*!80000 json */ /*M!100000 longtext */,
    after_data /*!80000 json */ /*M!100000 longtext */,
    changed_fields /*!80000 json */ /*M!100000 longtext */,
    label text,
    severity enum('low', 'medium', 'high', 'critical'),
    compliance /*!80000 json */ /*M!100000 longtext */,
    description longtext,
    redacted_fields /*!80000 json */ /*M!100000 longtext */,
    context /*!80000 json */ /*M!100000 longtext */,
    key audit_logs_record (table_name, record_id(255), `timestamp`),
    key audit_logs_moved (table_name, moved_from(255), `timestamp`),
    key audit_logs_table (table_name, `timestamp`, id),
    key audit_logs_time (`timestamp`, id),
    key audit_logs_actor (actor_id, `timestamp`)
) engine = InnoDB row_format = dynamic character set utf8mb4 collate utf8mb4_bin;

-- Entries of rows that a foreign key is about to delete or change, until it is known that it did. Empty between
-- statements, apart from those of statements with IGNORE that failed.
create table if not exists svc.audit_cascaded (
    seq bigint unsigned not null auto_increment primary key,
    connection_id bigint unsigned not null,
    cause varchar(264) not null,
    table_name varchar(264) not null,
    operation enum('UPDATE', 'DELETE') not null,
    record_id text,
    moved_from text,
    before_data /*!80000 json */ /*M!100000 longtext */,
    after_data /*!80000 json */ /*M!100000 longtext */,
    changed_fields /*!80000 json */ /*M!100000 longtext */,
    label text,
    severity enum('low', 'medium', 'high', 'critical'),
    compliance /*!80000 json */ /*M!100000 longtext */,
    description longtext,
    redacted_fields /*!80000 json */ /*M!100000 longtext */,
    key audit_cascaded_connection (connection_id, cause)
) engine = InnoDB row_format = dynamic character set utf8mb4 collate utf8mb4_bin;

-- The key of hashed columns, padded as HMAC wants it (RFC 2104). The install makes it.
create table if not exists svc.audit_hash_key (
    is_only tinyint not null primary key,
    inner_pad binary(64) not null,
    outer_pad binary(64) not null
) engine = InnoDB;
