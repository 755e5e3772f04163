-- Remove up to p_limit entries from before a moment from one partition of the log, the oldest first, and record how
-- many. reached is the time of the last one: the next call starts there, or it would walk over all that are dead.
create or replace function svc.audit_purge_entries(
    p_partition oid, p_from timestamptz, p_before timestamptz, p_limit integer,
    out entries bigint, out reached timestamptz
)
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
    entries := 0;
    if not exists (
        select from pg_inherits i where i.inhrelid = p_partition and i.inhparent = 'svc.audit_logs'::regclass
    ) then
        return;
    end if;
    -- only the owner may, only in this transaction, and writers of this partition wait for its end
    execute format('alter table %s disable trigger audit_guard_row', p_partition::regclass);
    execute format(
        'with gone as (delete from only %1$s where ctid = any(array('
        ' select ctid from only %1$s where "timestamp" >= $1 and "timestamp" < $2 order by "timestamp" limit $3'
        ')) returning "timestamp") select count(*), max("timestamp") from gone',
        p_partition::regclass
    ) into entries, reached using p_from, p_before, p_limit;
    execute format('alter table %s enable always trigger audit_guard_row', p_partition::regclass);
    if entries > 0 then
        perform svc.capture_log(
            'svc.audit_logs', 'DELETE', label => 'audit log purged', severity => 'medium',
            before_data => jsonb_build_object('partition', v_name, 'before', p_before, 'entries', entries),
            description => format('Removed %s entries from before %s from %s', entries, p_before, v_name)
        );
    end if;
end
$svc$;
revoke all on function svc.audit_purge_entries(oid, timestamptz, timestamptz, integer) from public;
