-- The record_id in a snapshot of a row by the primary key that its table has now, if the key was renamed after an
-- install. Null without a primary key.
-- access: owner, writer, admin
create or replace function svc.audit_record_id(p_table oid, p_row jsonb) returns text
language sql stable strict parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select svc.audit_bounded(case when count(*) = 1 then min(case when 'jsonb'::regtype in (t.oid, t.typbasetype)
                                                then (p_row -> a.attname)::text else p_row ->> a.attname end)
                else jsonb_agg(p_row -> a.attname order by k.position)::text end)
      from pg_index i
     cross join lateral unnest(i.indkey::smallint[]) with ordinality k(attnum, position)
      join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
      join pg_type t on t.oid = a.atttypid
     where i.indrelid = p_table and i.indisprimary and k.position <= i.indnkeyatts
    having count(*) > 0
$svc$;
