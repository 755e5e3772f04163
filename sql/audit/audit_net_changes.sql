-- The net change of each record by a transaction, or by one entry: the record's image before and after. If the record
-- differs now, also the first later entry that changed the same fields, or made or ended the row: the change cannot be
-- taken back. Nor can a change of a table that was renamed, if another one has its name now. The fields in p_leave are
-- neither told nor compared.
-- access: writer, reader, admin
create or replace function svc.audit_net_changes(
    p_xact_id bigint, p_entry_id bigint default null, p_leave text[] default '{}'
)
returns table (
    table_name text, record_id text, before_data jsonb, after_data jsonb, changed_fields text[],
    redacted_fields text[], moved_from text, moved_to text, is_in_order boolean, is_of_another_table boolean,
    later_entry bigint, later_operation text, later_fields text[]
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_found record;
    v_record record;
    v_place record;
    v_now jsonb;
    v_of_others bigint[]; -- entries of tables whose name another one has now
begin
    select * into v_found from svc.audit_change_extent(p_xact_id, p_entry_id);
    if v_found.entries = 0 then
        raise exception 'the log has no %', case when p_entry_id is null then 'transaction ' || p_xact_id
            else 'entry ' || p_entry_id end using errcode = 'SV104';
    elsif v_found.epochs > 1 then
        raise exception 'two transactions have the number %, one from before the database was restored', p_xact_id
            using errcode = 'SV105', hint = 'Name the entries one by one.';
    end if;
    v_of_others := array(
        select e.id
          from unnest(v_found.tables) t(name)
         cross join lateral svc.audit_names_of(t.name) a
          join svc.audit_logs e on e.table_name = t.name and e.table_oid = any (a.others)
         where a.name = t.name and e.xact_id = v_found.xact_id
           and e."timestamp" between v_found.first and v_found.last
           and (a.since is null or e."timestamp" >= a.since)
    );
    for v_record in
        select e.table_name as in_table, side.record, count(*) as entries, min(e.id) as id, min(e."timestamp") as at,
               bool_or(e.id = any (v_of_others)) as is_of_another_table
          from svc.audit_logs e
         cross join lateral (values (e.record_id), (e.moved_from)) side(record)
         where e.xact_id = v_found.xact_id and e."timestamp" between v_found.first and v_found.last
           and e.table_oid <> 0 and e.operation not in ('SNAPSHOT', 'GONE', 'DDL')
           and (p_entry_id is null or e.id = p_entry_id)
           and (side.record is not null or e.record_id is null and e.moved_from is null)
         group by e.table_name, side.record
    loop
        table_name := v_record.in_table;
        record_id := v_record.record;
        is_of_another_table := v_record.is_of_another_table;
        if record_id is null then
            select null::jsonb, null::jsonb, null::text[], null::text[], null::text, null::text, true, e.id,
                   e.operation::text, null::text[]
              into before_data, after_data, changed_fields, redacted_fields, moved_from, moved_to, is_in_order,
                   later_entry, later_operation, later_fields
              from svc.audit_logs e
             where e.table_name = v_record.in_table and e.record_id is null and e.xact_id = v_found.xact_id
               and e.operation <> 'DDL'
               and e."timestamp" between v_found.first and v_found.last
               and (p_entry_id is null or e.id = p_entry_id)
             order by e.operation <> 'TRUNCATE', e.id limit 1;
            return next;
            continue;
        end if;
        select bool_and(c.is_chained) as is_in_order, max(c.place_timestamp) as "timestamp",
               (array_agg(c.place_id order by c.n desc))[1] as id,
               (array_agg(c.before order by c.n))[1] as before_data,
               (array_agg(c.after order by c.n desc))[1] as after_data,
               (array_agg(c.moved_from order by c.n))[1] as moved_from,
               (array_agg(c.moved_to order by c.n desc))[1] as moved_to,
               (select array_agg(distinct f.field)
                  from unnest(array_agg(c.entry_id), array_agg(c.entry_timestamp)) e(id, at)
                  join svc.audit_logs x on x."timestamp" = e.at and x.id = e.id
                 cross join lateral unnest(x.changed_fields) f(field)
                 where f.field <> all (p_leave)) as changed_fields,
               (select array_agg(distinct f.field)
                  from unnest(array_agg(c.entry_id), array_agg(c.entry_timestamp)) e(id, at)
                  join svc.audit_logs x on x."timestamp" = e.at and x.id = e.id
                 cross join lateral unnest(x.redacted_fields) f(field)) as redacted_fields
          into v_place
          from (
            select h.*, row_number() over (order by h.place_timestamp, h.place_id) as n,
                   case when l.operation in ('UPDATE', 'DELETE')
                         and (l.moved_from is null or l.moved_from = v_record.record) then l.before_data end as before,
                   case when l.operation <> 'DELETE' and l.record_id = v_record.record then l.after_data end as after,
                   case when l.record_id = v_record.record then l.moved_from end as moved_from,
                   case when l.moved_from = v_record.record then l.record_id end as moved_to
              from (
                select v_record.id as entry_id, v_record.at as entry_timestamp, v_record.id as place_id,
                       v_record.at as place_timestamp, true as is_chained
                 where v_record.entries = 1 and p_entry_id is null
                union all
                select * from svc.audit_history(v_record.in_table, v_record.record, v_found.first, v_found.last) h
                 where v_record.entries > 1 or p_entry_id is not null
              ) h
             -- one after the other: the planner expects fewer entries of a transaction than there may be
             cross join lateral (
                select * from svc.audit_logs x where x."timestamp" = h.entry_timestamp and x.id = h.entry_id offset 0
              ) l
             where l.xact_id = v_found.xact_id and l.operation not in ('SNAPSHOT', 'GONE', 'DDL')
               and (p_entry_id is null or l.id = p_entry_id)
          ) c;
        before_data := v_place.before_data;
        after_data := v_place.after_data;
        changed_fields := v_place.changed_fields;
        redacted_fields := v_place.redacted_fields;
        moved_from := v_place.moved_from;
        moved_to := v_place.moved_to;
        is_in_order := v_place.is_in_order;
        later_entry := null;
        later_operation := null;
        later_fields := null;
        -- what came later does not matter if it left the row as it was
        if (svc.audit_next_event(v_record.in_table, v_record.record, v_place."timestamp", v_place.id)).id is null
           and svc.audit_truncated(v_record.in_table, v_place."timestamp", v_place.id) is null then
            return next;
            continue;
        end if;
        select case when svc.audit_truncated(v_record.in_table, h.place_timestamp, h.place_id) is null
                     and l.operation <> 'DELETE' and l.record_id = v_record.record then l.after_data end
          into v_now
          from svc.audit_history(v_record.in_table, v_record.record, v_place."timestamp") h
          join svc.audit_logs l on l."timestamp" = h.entry_timestamp and l.id = h.entry_id
         order by h.place_timestamp desc, h.place_id desc limit 1;
        if (v_now is null) = (after_data is null) and v_now is distinct from jsonb '{"erased": true}' and not exists (
            select from jsonb_each(after_data) a
             where v_now ? a.key and v_now -> a.key <> a.value and a.key <> all (p_leave)
               and (before_data is null or a.key = any (changed_fields))
        ) then
            return next;
            continue;
        end if;
        select l.id, l.operation::text, l.changed_fields into later_entry, later_operation, later_fields
          from svc.audit_history(v_record.in_table, v_record.record, v_place."timestamp") h
          join svc.audit_logs l on l."timestamp" = h.entry_timestamp and l.id = h.entry_id
         where (h.place_timestamp, h.place_id) > (v_place."timestamp", v_place.id)
           and (l.operation <> 'UPDATE' or l.moved_from is not null
                or case when v_place.before_data is null or v_place.after_data is null
                        then cardinality(p_leave) = 0 or not coalesce(l.changed_fields <@ p_leave, false)
                        else l.changed_fields && v_place.changed_fields end)
         order by h.place_timestamp, h.place_id limit 1;
        if later_entry is null then
            select l.id, l.operation::text into later_entry, later_operation
              from svc.audit_logs l
             where l.table_name = v_record.in_table and l.record_id is null and l.operation = 'TRUNCATE'
               and l."timestamp" = svc.audit_truncated(v_record.in_table, v_place."timestamp", v_place.id)
             limit 1;
        end if;
        return next;
    end loop;
end
$svc$;
