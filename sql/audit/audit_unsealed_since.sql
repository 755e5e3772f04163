-- The time of the oldest entry that no seal has, null if there is none; infinity if nothing was ever sealed, so that
-- nobody waits for seals. The planner switches leave only the BRIN index.
create or replace function svc.audit_unsealed_since() returns timestamptz
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_indexscan = off
set enable_indexonlyscan = off
as $svc$
declare
    v_last record;
begin
    select s.epoch_began_at, s.until_xact_id into v_last from svc.audit_seals s order by s.number desc limit 1;
    if not found then
        return timestamptz 'infinity';
    end if;
    return (
        select min(l."timestamp") from svc.audit_logs l
         where l.xact_id >= v_last.until_xact_id and l."timestamp" >= v_last.epoch_began_at
    );
end
$svc$;
revoke all on function svc.audit_unsealed_since() from public;
