-- True if the log has entries that neither this server wrote nor a dump brought: of a transaction that is still to
-- come, or with an id that the sequence has not given. The planner switches leave only the BRIN indexes, which find
-- nothing at once; an estimate from old statistics would read all of the log.
-- access: writer, admin
create or replace function svc.audit_is_mixed() returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_indexscan = off
set enable_indexonlyscan = off
set jit = off
as $svc$
declare
    v_began_at timestamptz;
begin
    select case when k.name is null then (e.here ->> 'at')::timestamptz else k.began_at end into v_began_at
      from svc.audit_epoch e left join svc.audit_epochs k on k.name = e.here ->> 'epoch';
    return not found
        or exists (
            select from svc.audit_logs l
             where l.id > (select s.last_value - case when s.is_called then 0 else 1 end from svc.audit_logs_id_seq s)
        )
        or exists (
            -- the own transaction may be beyond its own snapshot
            select from svc.audit_logs l
             where l.xact_id >= txid_snapshot_xmax(txid_current_snapshot()) and l."timestamp" >= v_began_at
               and l.xact_id is distinct from txid_current_if_assigned()
        );
end
$svc$;
revoke all on function svc.audit_is_mixed() from public;
