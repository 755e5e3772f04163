-- The audit log: one row for each change, in monthly partitions.
create type svc.audit_operation as enum ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'SNAPSHOT');
create type svc.audit_severity as enum ('low', 'medium', 'high', 'critical');

-- No CHECK here: PostgreSQL parses each one anew for every one-row insert, and only our functions write.
create table svc.audit_logs (
    id bigint generated always as identity,
    "timestamp" timestamptz not null default clock_timestamp(),
    xact_id bigint not null default txid_current(),
    table_name text collate "C" not null,
    table_oid oid not null,
    operation svc.audit_operation not null,
    record_id text collate "C",
    moved_from text collate "C",
    actor_id text collate "C",
    tenant_id text collate "C",
    db_user text collate "C" not null default session_user,
    db_role text collate "C",
    before_data jsonb,
    after_data jsonb,
    changed_fields text[],
    label text,
    severity svc.audit_severity,
    compliance text[],
    description text,
    redacted_fields text[],
    context jsonb,
    erased_leaf bytea,
    primary key ("timestamp", id)
) partition by range ("timestamp");

create index audit_logs_record on svc.audit_logs (table_name, record_id, "timestamp");
-- a change of key is the end of another record, and rare
create index audit_logs_moved on svc.audit_logs (table_name, moved_from, "timestamp") where moved_from is not null;
create index audit_logs_table on svc.audit_logs (table_name, "timestamp", id);
create index audit_logs_actor on svc.audit_logs (actor_id, "timestamp") where actor_id is not null;
-- what rules called important is rare among all that was written
create index audit_logs_severity on svc.audit_logs ("timestamp", id) where severity is not null;
-- ids and numbers of transactions rise with the order of the rows, so a BRIN index costs captures nothing
create index audit_logs_id on svc.audit_logs using brin (id) with (pages_per_range = 32, autosummarize = on);
create index audit_logs_xact on svc.audit_logs using brin (xact_id) with (pages_per_range = 32, autosummarize = on);

-- The epoch of the log. Numbers of transactions mean something in one server only, so a restore begins a new epoch. It
-- tells of itself: a dump leaves generated columns out, and the restore computes this one anew. An install records the
-- epoch among the known ones, in plain columns, which a dump keeps.
create function svc.audit_new_epoch() returns jsonb
language sql immutable
set search_path = pg_catalog, pg_temp
as 'select jsonb_build_object(
        ''epoch'', left(replace(gen_random_uuid()::text, ''-'', ''''), 12), ''at'', clock_timestamp())';
create table svc.audit_epoch (
    is_only boolean primary key default true check (is_only),
    here jsonb not null generated always as (svc.audit_new_epoch()) stored
);
create table svc.audit_epochs (
    name text primary key,
    began_at timestamptz not null
);
insert into svc.audit_epoch default values;
insert into svc.audit_epochs (name, began_at) select here ->> 'epoch', '-infinity' from svc.audit_epoch;

-- The names under which capture recorded each table, in each epoch: an oid means something in one server only.
create table svc.audit_table_names (
    epoch text not null,
    table_name text collate "C" not null,
    table_oid oid not null,
    primary key (epoch, table_name, table_oid)
);

-- Tables whose rules leave changes out of the log, or once did: their entries need not follow each other.
create table svc.audit_omissions (
    table_name text collate "C" primary key,
    since timestamptz not null default clock_timestamp(),
    ignored text[] not null,
    is_conditional boolean not null
);

-- The key of svc.audit_hash, padded as HMAC wants it (RFC 2104): made here, and never seen by anybody.
create table svc.audit_hash_key (
    is_only boolean primary key default true check (is_only),
    inner_pad bytea not null,
    outer_pad bytea not null
);
with key as (
    select decode(replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', ''), 'hex')
           || decode(repeat('00', 32), 'hex') as bytes
),
pads as (
    select string_agg(set_byte(decode('00', 'hex'), 0, get_byte(bytes, n) # 54), '' order by n) as inner_pad,
           string_agg(set_byte(decode('00', 'hex'), 0, get_byte(bytes, n) # 92), '' order by n) as outer_pad
      from key, generate_series(0, 63) n
)
insert into svc.audit_hash_key (inner_pad, outer_pad) select inner_pad, outer_pad from pads;

-- The seals: each commits to the entries of a stretch of the log and to the seal before it, and is signed with a key
-- that the database never sees. Neither seals nor their leaves are ever changed; svc.audit_guard refuses it.
create table svc.audit_seals (
    number bigint primary key check (number > 0),
    epoch text not null,
    epoch_began_at timestamptz not null,
    from_xact_id bigint not null,
    until_xact_id bigint not null check (until_xact_id >= from_xact_id),
    after_id bigint not null,
    until_id bigint not null check (until_id >= after_id),
    entries integer not null check (entries >= 0),
    root bytea not null check (length(root) = 32),
    previous bytea not null check (length(previous) = 32),
    sealed_at timestamptz not null,
    key_id text not null,
    signature bytea not null check (length(signature) = 64)
);
create index audit_seals_xact on svc.audit_seals (until_xact_id);
create table svc.audit_seal_leaves (
    seal bigint primary key references svc.audit_seals,
    leaves bytea not null check (length(leaves) % 48 = 0)
);
-- digests do not compress
alter table svc.audit_seal_leaves alter leaves set storage external;
create table svc.audit_removed_leaves (
    id bigint primary key,
    "timestamp" timestamptz not null,
    xact_id bigint not null,
    table_name text collate "C" not null,
    leaf bytea not null check (length(leaf) = 32)
);
create index audit_removed_leaves_time on svc.audit_removed_leaves using brin ("timestamp")
    with (pages_per_range = 32, autosummarize = on);
-- What purges and erasures took away, so that seals tell it from what somebody else did: the contents of the log's own
-- entries that say so. No purge removes them, as it does these entries, whose seals keep the digests of the contents.
create table svc.audit_removals (
    entry_id bigint primary key,
    content text not null
);

-- The verifications, as the programs that made them told their results. Nothing here is signed.
create table svc.audit_verifications (
    id bigint generated always as identity primary key,
    verified_at timestamptz not null default clock_timestamp(),
    first_seal bigint,
    last_seal bigint check ((first_seal is null) = (last_seal is null) and first_seal <= last_seal),
    entries bigint not null check (entries >= 0),
    unsealed bigint not null check (unsealed >= 0),
    findings integer not null check (findings >= 0),
    is_complete boolean not null,
    has_copies boolean not null,
    keys text[] not null check (cardinality(keys) <= 100 and length(array_to_string(keys, ',')) <= 4000),
    verified_by text not null check (length(verified_by) <= 200)
);

-- A month that nobody made in time must not stop the application's writes.
create table svc.audit_logs_default partition of svc.audit_logs default;

comment on table svc.audit_logs is 'The audit log: a row for each entry, in monthly partitions. Append-only.';
comment on column svc.audit_logs.id is
    'The entry''s number: the order of capture. Numbers are given before a commit, so a higher one may be seen first.';
comment on column svc.audit_logs."timestamp" is 'When the entry was written.';
comment on column svc.audit_logs.xact_id is
    'The transaction: equal for all changes that were made together. After a restore the numbers may begin anew.';
comment on column svc.audit_logs.table_name is
    'The table, with its schema: public.customer. Of a partition, the table that is audited.';
comment on column svc.audit_logs.table_oid is
    'The table''s oid, of a partition its own; 0 in an entry of svc.capture_log.';
comment on column svc.audit_logs.operation is
    'INSERT, UPDATE, DELETE, TRUNCATE, or SNAPSHOT of a row that was there before capture.';
comment on column svc.audit_logs.record_id is
    'The key of the record: the text of one column, or a JSON array of several. Null without a key.';
comment on column svc.audit_logs.moved_from is
    'The key of the record before, if an UPDATE changed it: the record with that key ended.';
comment on column svc.audit_logs.actor_id is 'The actor, as the application set it: svc.actor_id.';
comment on column svc.audit_logs.tenant_id is 'The tenant, as the application set it: svc.tenant_id.';
comment on column svc.audit_logs.db_user is 'The role that connected, as PostgreSQL authenticated it (session_user).';
comment on column svc.audit_logs.db_role is 'The role that was set (set role), if any.';
comment on column svc.audit_logs.before_data is 'The row before the change, without its redacted columns.';
comment on column svc.audit_logs.after_data is 'The row after the change, without its redacted columns.';
comment on column svc.audit_logs.changed_fields is
    'The columns that an UPDATE changed; {} if only their texts differ, as 1.0 and 1.00.';
comment on column svc.audit_logs.label is 'The name that a rule gives the change.';
comment on column svc.audit_logs.severity is 'low, medium, high or critical, as a rule says.';
comment on column svc.audit_logs.compliance is 'Tags of compliance, as a rule says.';
comment on column svc.audit_logs.description is 'The change in a sentence, as a rule says.';
comment on column svc.audit_logs.redacted_fields is
    'The columns whose values are not recorded, or are disguised; {*} if all are.';
comment on column svc.audit_logs.context is 'Facts about the request, as the application set them: svc.context.';
comment on column svc.audit_logs.erased_leaf is
    'Of an erased entry, the digest of its fields before that, which its seal knows: svc.audit_leaf.';

comment on table svc.audit_seals is
    'The seals of the audit log: each commits to the entries of a stretch and to the seal before. Append-only.';
comment on column svc.audit_seals.number is 'The seal''s number: 1, 2, 3.';
comment on column svc.audit_seals.epoch is 'The epoch of the entries: each restore of the log begins one.';
comment on column svc.audit_seals.epoch_began_at is 'The time from which entries belong to the epoch.';
comment on column svc.audit_seals.from_xact_id is 'The lowest number of a transaction whose entries it seals.';
comment on column svc.audit_seals.until_xact_id is 'The number before which those of its transactions lie.';
comment on column svc.audit_seals.after_id is 'The id after which its entries lie.';
comment on column svc.audit_seals.until_id is 'The highest id that its entries may have.';
comment on column svc.audit_seals.entries is 'The number of entries.';
comment on column svc.audit_seals.root is 'The root of the hash tree over the entries (RFC 9162).';
comment on column svc.audit_seals.previous is 'The SHA-256 of the signed text of the seal before; zeros in the first.';
comment on column svc.audit_seals.sealed_at is 'When the seal was made.';
comment on column svc.audit_seals.key_id is 'The id of the key that signed.';
comment on column svc.audit_seals.signature is 'The signature (Ed25519) of the seal''s text.';

comment on table svc.audit_seal_leaves is 'Internal: the sealed entries, so that verify can tell which one differs.';
comment on column svc.audit_seal_leaves.seal is 'The seal.';
comment on column svc.audit_seal_leaves.leaves is
    'Of each entry, in the order of ids: its id, its time in microseconds since 2000, and svc.audit_leaf; 48 bytes.';

comment on table svc.audit_removed_leaves is
    'Internal: entries that a purge removed one by one, while their seal stays.';
comment on column svc.audit_removed_leaves.id is 'The entry''s id.';
comment on column svc.audit_removed_leaves."timestamp" is 'When the entry was written.';
comment on column svc.audit_removed_leaves.xact_id is 'The entry''s transaction.';
comment on column svc.audit_removed_leaves.table_name is 'The entry''s table.';
comment on column svc.audit_removed_leaves.leaf is 'The digest of its fields: svc.audit_leaf.';

comment on table svc.audit_removals is
    'Internal: what purges and erasures took away, so that seals tell it from what somebody else did. Append-only.';
comment on column svc.audit_removals.entry_id is 'The entry of the log that says so, while it is there.';
comment on column svc.audit_removals.content is 'The content of this entry, as its seal knows it: svc.audit_content.';

comment on table svc.audit_verifications is
    'The verifications of the log, as the programs that verified told their results. Append-only.';
comment on column svc.audit_verifications.id is 'The verification''s number.';
comment on column svc.audit_verifications.verified_at is 'When it ended.';
comment on column svc.audit_verifications.first_seal is 'The first seal that it compared; null if there was none.';
comment on column svc.audit_verifications.last_seal is 'The last one.';
comment on column svc.audit_verifications.entries is 'The number of entries that were as they were sealed.';
comment on column svc.audit_verifications.unsealed is 'The number of entries without a seal.';
comment on column svc.audit_verifications.findings is 'The number of differences; 0 if all was as it was sealed.';
comment on column svc.audit_verifications.is_complete is 'Whether it compared everything: many findings end it early.';
comment on column svc.audit_verifications.has_copies is 'Whether it also compared copies that were kept outside.';
comment on column svc.audit_verifications.keys is 'The ids of the public keys with which it verified.';
comment on column svc.audit_verifications.verified_by is 'Who verified: the actor, else the role.';

comment on table svc.audit_hash_key is 'Internal: the key of hashed columns. Nobody may read it.';
comment on column svc.audit_hash_key.is_only is 'There is one row.';
comment on column svc.audit_hash_key.inner_pad is 'The key, padded for the inner hash.';
comment on column svc.audit_hash_key.outer_pad is 'The key, padded for the outer hash.';

comment on table svc.audit_epoch is 'Internal: the epoch of the log, which a restore begins anew.';
comment on column svc.audit_epoch.is_only is 'There is one row.';
comment on column svc.audit_epoch.here is 'Its name, and when it began.';

comment on table svc.audit_omissions is
    'Internal: tables whose rules leave changes out of the log, or did so once, so that states may be missing.';
comment on column svc.audit_omissions.table_name is 'The table, as entries name it.';
comment on column svc.audit_omissions.since is 'The time of the first install of such a rule.';
comment on column svc.audit_omissions.ignored is 'The columns whose change alone had no entry at some time.';
comment on column svc.audit_omissions.is_conditional is
    'Whether changes were recorded under a condition only at some time.';
comment on table svc.audit_table_names is
    'Internal: the names under which capture recorded each table, so that an erasure follows renamed tables.';
comment on column svc.audit_table_names.epoch is 'The epoch of the log.';
comment on column svc.audit_table_names.table_name is 'The table, as entries name it.';
comment on column svc.audit_table_names.table_oid is 'Its oid, of a partitioned table not that of a partition.';
comment on table svc.audit_epochs is 'Internal: the epochs of the log that are known, with when each began.';
comment on column svc.audit_epochs.name is 'The epoch''s name, the beginning of a cursor.';
comment on column svc.audit_epochs.began_at is 'Older entries are of an epoch before; -infinity for the first.';
