-- The times of the first and the last entry of the transactions from one number on and before another, found by the
-- BRIN index, whatever the statistics say.
-- access: writer, reader, admin
create or replace function svc.audit_transaction_times(
    p_from bigint, p_before bigint, out first timestamptz, out last timestamptz
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_indexscan = off
set enable_indexonlyscan = off
set jit = off
set plan_cache_mode = force_generic_plan
as $svc$
begin
    select min(l."timestamp"), max(l."timestamp") into audit_transaction_times.first, audit_transaction_times.last
      from svc.audit_logs l
     where l.xact_id >= p_from and l.xact_id < p_before;
end
$svc$;
