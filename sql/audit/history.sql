-- The states of one record in the order of change: one for each entry, and one for an UPDATE that moved it to another
-- key. With times, those that began between them.
-- access: reader, admin
create or replace function svc.history(
    table_name text, record_id text, since timestamptz default null, until timestamptz default null
)
returns table (
    valid_from timestamptz, valid_to timestamptz, operation text, actor_id text, tenant_id text, db_user text,
    entry_id bigint, xact_id bigint, before_data jsonb, after_data jsonb, changed_fields text[],
    redacted_fields text[], moved_from text, moved_to text, is_in_order boolean, place_id bigint
)
language plpgsql stable rows 100
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_is_truncated constant boolean := exists (
        select from svc.audit_logs t
         where t.table_name = history.table_name and t.record_id is null and t.operation = 'TRUNCATE'
    );
    v_omissions svc.audit_omissions;
begin
    select * into v_omissions from svc.audit_omissions o where o.table_name = history.table_name and o.is_conditional;
    return query
    select p.place_timestamp,
           case when l.operation = 'DELETE' or l.record_id is distinct from history.record_id then p.place_timestamp
                else least(coalesce(p.next_timestamp, case when p.number = p.numbers then (
                         select n."timestamp" from svc.audit_next_event(
                             history.table_name, history.record_id, p.place_timestamp, p.place_id
                         ) n
                     ) end), case when v_is_truncated then
                         svc.audit_truncated(history.table_name, p.place_timestamp, p.place_id) end) end,
           l.operation::text, l.actor_id::text, l.tenant_id::text, l.db_user::text, l.id, l.xact_id, l.before_data,
           case when l.record_id = history.record_id then l.after_data end, l.changed_fields, l.redacted_fields,
           case when l.record_id = history.record_id then l.moved_from::text end,
           case when l.moved_from = history.record_id then l.record_id::text end,
           p.is_chained and (
               coalesce(p.place_timestamp < v_omissions.since, true)
               or svc.audit_is_continuous(history.table_name, history.record_id, p.place_timestamp, p.place_id, case
                      when l.operation in ('UPDATE', 'DELETE', 'SNAPSHOT')
                       and (l.moved_from is null or l.moved_from = history.record_id) then l.before_data
                  end)
           ), p.place_id
      from (
        select h.*, lead(h.place_timestamp) over w as next_timestamp, row_number() over w as number,
               count(*) over () as numbers
          from svc.audit_history(history.table_name, history.record_id, since, until) h
        window w as (order by h.place_timestamp, h.place_id)
      ) p
     cross join lateral (
        select * from svc.audit_logs e where e."timestamp" = p.entry_timestamp and e.id = p.entry_id offset 0
     ) l
     where p.place_timestamp >= coalesce(since, '-infinity') and p.place_timestamp <= coalesce(until, 'infinity')
       and (nullif(current_setting('svc.tenant_id', true), '') is null
            or l.tenant_id = current_setting('svc.tenant_id', true))
     order by p.place_timestamp, p.place_id;
end
$svc$;
comment on function svc.history(text, text, timestamptz, timestamptz) is
    'The states of one record, the oldest first, with the time from which and to which each was there: valid_to is '
    'null for the one that is there now, and equal to valid_from for the end of a record, by DELETE or by an UPDATE '
    'that gave it another key (moved_to). If svc.tenant_id is set, only entries of that tenant. For everybody who '
    'reads the log.';
