-- The last seal of the log, and how old the oldest entry without one is; no row if there is no seal. The planner may
-- only use the BRIN indexes, or it would look for the oldest entry among all.
create or replace function svc.audit_seal_lag()
returns table (number bigint, sealed_at timestamptz, lag interval)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_indexscan = off
set enable_indexonlyscan = off
set enable_bitmapscan = on
set enable_sort = on
as $svc$
    select s.number, s.sealed_at, greatest(clock_timestamp() - (
               select min(l."timestamp")
                 from svc.audit_logs l
                where (l.xact_id >= s.until_xact_id or l.xact_id >= s.from_xact_id and l.id > s.until_id)
                  and l."timestamp" >= s.epoch_began_at and isfinite(l."timestamp")
           ), interval '0')
      from (select * from svc.audit_seals order by number desc limit 1) s
$svc$;
revoke all on function svc.audit_seal_lag() from public;
