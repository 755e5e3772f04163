-- False if the catalog has a part of a table as another transaction left it, so that no statement of this one changed
-- it. What the catalog does not have any more may be of this one.
-- access: trigger
create or replace function svc.audit_is_change_of_now(p_relation oid, p_columns jsonb, p_part text) returns boolean
language sql stable
set search_path = pg_catalog, pg_temp
as $svc$
    with found(writer) as (
        select c.xmin from pg_class c
         where c.oid = p_relation and not p_part ^@ 'column ' and not p_part ^@ 'trigger '
        union all
        select n.xmin from pg_class c join pg_namespace n on n.oid = c.relnamespace
         where c.oid = p_relation and p_part = 'table name'
        union all
        select unnest(array[a.xmin, t.xmin, e.xmin, n.xmin])
          from pg_attribute a
          left join pg_type t on t.oid = a.atttypid
          left join pg_type e on e.oid = t.typelem
          left join pg_namespace n on n.oid = t.typnamespace
         where a.attrelid = p_relation and p_part ^@ 'column ' and (
                   a.attname = substr(p_part, 8) or p_columns ->> a.attnum::text = substr(p_part, 8))
        union all
        select a.xmin from pg_attribute a where a.attrelid = p_relation and p_part ^@ 'rights of '
        union all
        select t.xmin from pg_trigger t where t.tgrelid = p_relation and p_part = 'trigger ' || t.tgname
    ),
    -- xmin has 32 bits, and is that of a savepoint, which is later than its transaction
    later(writer, distance) as (
        select f.writer, (f.writer::text::bigint - pg_current_xact_id()::text::bigint) & 4294967295
          from found f where f.writer is not null
    )
    select p_part ^@ 'partition ' or p_part = 'capture' or count(*) = 0 or bool_or(
               case when l.distance < 1000000
                    then pg_xact_status((pg_current_xact_id()::text::bigint + l.distance)::text::xid8) = 'in progress'
                    else false end)
      from later l
$svc$;
revoke all on function svc.audit_is_change_of_now(oid, jsonb, text) from public;
