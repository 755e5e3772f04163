-- Drop a partition of the log that ends before a moment, and record that. Returns whether it was there to be dropped.
-- It waits for readers of the whole log, and captures wait behind it, so it gives up soon: the caller tries again.
create or replace function svc.audit_purge_partition(p_partition oid, p_before timestamptz) returns boolean
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set "TimeZone" = 'UTC'
set "DateStyle" = 'ISO, YMD'
set lock_timeout = '300ms'
as $svc$
declare
    v_name text := p_partition::regclass;
begin
    perform pg_advisory_xact_lock(1937138032, 3);
    if svc.audit_partition_end(p_partition) <= p_before then
        execute format('drop table %s', p_partition::regclass);
        perform svc.capture_log(
            'svc.audit_logs', 'DELETE', label => 'audit log purged', severity => 'medium',
            before_data => jsonb_build_object('partition', v_name, 'before', p_before),
            description => format('Dropped %s: all of its entries are from before %s', v_name, p_before)
        );
        return true;
    end if;
    return false;
end
$svc$;
revoke all on function svc.audit_purge_partition(oid, timestamptz) from public;
