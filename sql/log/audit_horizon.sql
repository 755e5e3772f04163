-- The end of what is settled: entries from before the epoch began, and those of transactions before the oldest running
-- one, because no more entries of these can appear. p_after is the end of an earlier reading, epoch.number. The
-- entries since then are those of its epoch, from after_from to after_until, with that number or a later one, and all
-- from after_until on. Refuses the end of a reading in another database, and a log that svc.audit_is_mixed.
-- access: writer, reader, admin
create or replace function svc.audit_horizon(
    p_after text default null,
    out epoch text, out began_at timestamptz, out oldest_running bigint, out first_unassigned bigint,
    out after_xact_id bigint, out after_from timestamptz, out after_until timestamptz
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_since constant text := 'Read by time instead: --since, or since() in Python. Entries may come twice.';
    v_after text[] := regexp_match(p_after, '^([0-9a-f]{12})[.]([0-9]{1,18})$');
begin
    if svc.audit_is_mixed() then
        perform svc.audit_refuse_copy();
        raise exception 'the log has entries that another database wrote, so nothing tells which are complete'
            using errcode = 'SV004', hint = 'Run svc-pg install, which begins a new epoch of the log.';
    end if;
    oldest_running := txid_snapshot_xmin(txid_current_snapshot());
    first_unassigned := txid_snapshot_xmax(txid_current_snapshot());
    -- a restore that no install has recorded yet
    select e.here ->> 'epoch', case when k.name is null then (e.here ->> 'at')::timestamptz else k.began_at end
      into epoch, began_at
      from svc.audit_epoch e left join svc.audit_epochs k on k.name = e.here ->> 'epoch';
    if p_after is not null then
        if v_after is null then
            raise exception '"%" does not say how far the log was read', p_after
                using errcode = 'SV003', hint = 'Pass what the last export reported, unchanged.';
        end if;
        after_xact_id := v_after[2]::bigint;
        if v_after[1] = epoch then
            after_from := began_at;
        else
            select k.began_at, least(audit_horizon.began_at, min(n.began_at)) into after_from, after_until
              from svc.audit_epochs k left join svc.audit_epochs n on n.began_at > k.began_at
             where k.name = v_after[1] group by k.name;
            if not found then
                raise exception '"%" says how far the log of another database was read', p_after
                    using errcode = 'SV003', hint = v_since;
            end if;
        end if;
        if after_until is null and after_xact_id > first_unassigned then
            raise exception '"%" is ahead of the log: the database was recovered to an earlier time', p_after
                using errcode = 'SV003', hint = v_since;
        end if;
    end if;
    began_at := nullif(began_at, '-infinity');
    after_from := nullif(after_from, '-infinity');
end
$svc$;
revoke all on function svc.audit_horizon(text) from public;
