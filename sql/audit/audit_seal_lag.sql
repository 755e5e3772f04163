-- The last seal of the log, and the age of the oldest entry without a seal, which counts from 1970 at the earliest. No
-- row if there is no seal.
-- access: writer, reader, admin
create or replace function svc.audit_seal_lag()
returns table (number bigint, sealed_at timestamptz, lag interval)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_now constant timestamptz := clock_timestamp();
    v_since constant timestamptz := coalesce(svc.audit_unsealed_since(), 'infinity');
begin
    return query
        select s.number, s.sealed_at, v_now - least(greatest(v_since, timestamptz 'epoch'), v_now)
          from svc.audit_seals s order by s.number desc limit 1;
end
$svc$;
revoke all on function svc.audit_seal_lag() from public;
