-- Seals of version 2: a leaf has two parts, of which an erasure opens one alone; see svc.audit_leaf. Seals of version
-- 1 stay in the chain; their entries get new ones, so what explained gaps in the old ones goes.
alter table svc.audit_seals add version integer not null default 1 check (version in (1, 2));
alter table svc.audit_seals alter version drop default;
comment on column svc.audit_seals.version is
    'The version of the seal: 1 stands for leaves of one part, which verify no longer compares.';

-- Entries that were erased before have no seal of version 2, which would need the digest of what they had.
do $$
declare
    v_leaves constant regclass[] := array(
        select i.inhrelid from pg_inherits i join pg_trigger t on t.tgrelid = i.inhrelid
         where i.inhparent = 'svc.audit_logs'::regclass and t.tgname = 'audit_guard_row'
    );
    v_leaf regclass;
begin
    if exists (select from svc.audit_removals r where r.content ~ 'audit log erased') then
        foreach v_leaf in array v_leaves loop
            execute format('alter table %s disable trigger audit_guard_row', v_leaf);
        end loop;
        update svc.audit_logs set erased_leaf = '' where erased_leaf is not null;
        foreach v_leaf in array v_leaves loop
            execute format('alter table %s enable always trigger audit_guard_row', v_leaf);
        end loop;
    end if;
end
$$;
comment on column svc.audit_logs.erased_leaf is
    'Of an erased entry, the digest of its contents before that, which its seal knows; empty if it had no seal.';

-- The tables stay, and with them their guards, which an install has seen before.
do $$
declare
    v_guards constant text[] := array(
        select format('%s %s trigger %I', 'alter table ' || t.tgrelid::regclass, '%s', t.tgname)
          from pg_trigger t
         where t.tgrelid in ('svc.audit_removed_leaves'::regclass, 'svc.audit_removals'::regclass)
    );
    v_guard text;
begin
    foreach v_guard in array v_guards loop
        execute format(v_guard, 'disable');
    end loop;
    truncate svc.audit_removed_leaves, svc.audit_removals;
    foreach v_guard in array v_guards loop
        execute format(v_guard, 'enable always');
    end loop;
end
$$;
alter table svc.audit_removed_leaves
    drop id, drop "timestamp", drop xact_id, drop table_name, drop leaf;
alter table svc.audit_removed_leaves
    add removal bigint not null,
    add id bigint not null,
    add "timestamp" timestamptz not null,
    add digest bytea not null check (length(digest) = 32),
    add primary key (removal, id);
create index audit_removed_leaves_id on svc.audit_removed_leaves (id);
create index audit_removed_leaves_time on svc.audit_removed_leaves using brin ("timestamp")
    with (pages_per_range = 32, autosummarize = on);
comment on table svc.audit_removed_leaves is
    'Internal: the sealed entries that purges removed one by one, and those that were erased. Append-only.';
comment on column svc.audit_removed_leaves.removal is 'The entry of the log that tells of the purge or the erasure.';
comment on column svc.audit_removed_leaves.id is 'The entry''s id.';
comment on column svc.audit_removed_leaves."timestamp" is 'When the entry was written.';
comment on column svc.audit_removed_leaves.digest is
    'The digest of a purged entry: svc.audit_leaf; of an erased one, that of its contents since.';

alter table svc.audit_removals drop content;
alter table svc.audit_removals
    add "timestamp" timestamptz not null,
    add who text not null,
    add content text not null;
comment on table svc.audit_removals is
    'Internal: what purges and erasures took from seals, so that these tell it from what somebody else did.'
    ' Append-only.';
comment on column svc.audit_removals.entry_id is 'The entry of the log that says so, while it is there.';
comment on column svc.audit_removals."timestamp" is 'When this entry was written.';
comment on column svc.audit_removals.who is
    'The first part of this entry, as its seal knows it: svc.audit_first_part.';
comment on column svc.audit_removals.content is 'The second part: svc.audit_content.';
