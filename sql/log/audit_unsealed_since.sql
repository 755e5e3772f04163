-- The time of the oldest entry that no seal has, null if there is none; infinity if nothing was ever sealed, so that
-- nobody waits for seals. The last seal may be one of several parts of a stretch, or of the server before a restore.
-- The planner switches leave only the BRIN indexes.
-- access: writer, admin
create or replace function svc.audit_unsealed_since() returns timestamptz
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_indexscan = off
set enable_indexonlyscan = off
set enable_bitmapscan = on
set jit = off
as $svc$
declare
    v_last record;
    v_next timestamptz; -- when the epoch after that of the last seal began
begin
    select s.epoch_began_at, s.from_xact_id, s.until_xact_id, s.until_id into v_last
      from svc.audit_last_seal() s;
    if not found and exists (select from svc.audit_seals) then  -- of version 1 alone
        return (select min(l."timestamp") from svc.audit_logs l);
    elsif not found then
        return timestamptz 'infinity';
    end if;
    select min(e.began_at) into v_next
      from (
        select began_at from svc.audit_epochs
        union all
        select (here ->> 'at')::timestamptz from svc.audit_epoch
         where here ->> 'epoch' not in (select name from svc.audit_epochs)
      ) e
     where e.began_at > v_last.epoch_began_at;
    return (
        select min(l."timestamp") from svc.audit_logs l
         where l."timestamp" >= v_last.epoch_began_at
           and (l.xact_id >= v_last.until_xact_id or l.xact_id >= v_last.from_xact_id and l.id > v_last.until_id
                or l."timestamp" >= v_next)
    );
end
$svc$;
revoke all on function svc.audit_unsealed_since() from public;
