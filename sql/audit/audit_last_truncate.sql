-- The last TRUNCATE of a table up to a time, null if there was none, and the time since when changes may be missing
-- because of a condition. An error if the log does not know the table, or only since later.
-- access: writer, reader, admin
create or replace function svc.audit_last_truncate(
    p_table text, p_time timestamptz, out truncated_at timestamptz, out incomplete_since timestamptz
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_first timestamptz;
    v_others text;
begin
    if p_time is null then
        raise exception 'no time is given' using errcode = 'SV003';
    end if;
    select min(l."timestamp") into v_first from svc.audit_logs l where l.table_name = p_table;
    if v_first is null or v_first > p_time then
        v_others := ' Under another name, the log has it as '
            || nullif(array_to_string(svc.audit_other_names(p_table), ', '), '') || '.';
    end if;
    if v_first is null then
        raise exception 'the log has no entry of "%"', p_table
            using errcode = 'SV003',
                  hint = concat('svc-pg install --backfill records the rows that are there now.', v_others);
    elsif v_first > p_time then
        raise exception '"%" is not known before %', p_table,
            to_char(v_first at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
            using errcode = 'SV003', hint = concat('Its first entry in the log is from then.', v_others);
    end if;
    select max(t."timestamp") into audit_last_truncate.truncated_at
      from (
        select l."timestamp" from svc.audit_logs l
         where l.table_name = p_table and l.record_id is null and l.operation = 'TRUNCATE' and l."timestamp" <= p_time
        offset 0
      ) t;
    select o.since into audit_last_truncate.incomplete_since
      from svc.audit_omissions o where o.table_name = p_table and o.is_conditional;
end
$svc$;
