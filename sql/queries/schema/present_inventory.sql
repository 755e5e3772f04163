-- Additions by others are theirs. sql restores an object, or a column's type and defaults; tables and columns that
-- are gone need a backup. Of the log's columns, svc_pg.schema.postgres.foreign compares the defaults,
-- and of its indexes the configuration decides.
with own as (
    select c.oid, c.relname, c.oid = 'svc.audit_logs'::regclass as is_log from pg_class c
     where c.relnamespace = to_regnamespace('svc') and c.relkind in ('r', 'p') and not c.relispartition
),
own_column as (
    select o.oid, o.relname, a.attname,
           concat_ws(' collate ', format_type(a.atttypid, a.atttypmod),
                     case when a.attcollation <> t.typcollation then a.attcollation::regcollation end) as type,
           a.attnotnull and not o.is_log as is_not_null, a.attgenerated <> '' as is_generated,
           case when o.is_log then '' else a.attidentity end as identity,
           case when not o.is_log then pg_get_expr(d.adbin, d.adrelid) end as expression
      from own o
      join pg_attribute a on a.attrelid = o.oid and a.attnum > 0 and not a.attisdropped
      join pg_type t on t.oid = a.atttypid
      left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
),
own_constraint as (
    select o.relname, k.oid, k.conname, pg_get_constraintdef(k.oid) as definition,
           k.convalidated and coalesce(i.indisvalid, true)
               and coalesce((to_jsonb(k) ->> 'conenforced')::boolean, true)
               and not exists (select from pg_trigger t where t.tgconstraint = k.oid and t.tgenabled in ('D', 'R'))
               as is_whole
      from own o join pg_constraint k on k.conrelid = o.oid and k.contype in ('p', 'u', 'c', 'f')
      left join pg_index i on i.indexrelid = k.conindid and k.contype in ('p', 'u')
),
present (kind, identity, of_table, sql, definition, is_whole) as (
    select 'table', 'svc.' || o.relname, o.relname, null, null, true from own o
    union all
    select 'column', format('%s of svc.%s', a.attname, a.relname), a.relname,
           case when not a.is_generated then format(
               'alter table svc.%1$I alter %2$I type %3$s, alter %2$I %4$s not null%5$s;', a.relname, a.attname,
               a.type, case when a.is_not_null then 'set' else 'drop' end,
               case when a.identity = '' and a.expression is null then format(', alter %I drop default', a.attname)
                    when a.identity = '' then format(', alter %I set default %s', a.attname, a.expression)
                    else '' end) end,
           concat_ws(' ', a.type, case when a.is_not_null then 'not null' end, nullif(a.identity, ''),
                     case when a.is_generated then 'generated' end, a.expression), true
      from own_column a
    union all
    select 'index', i.indexrelid::regclass::text, o.relname, pg_get_indexdef(i.indexrelid) || ';',
           pg_get_indexdef(i.indexrelid),
           i.indisvalid and i.indisready and i.indislive
      from own o join pg_index i on i.indrelid = o.oid and not o.is_log
     where not exists (select from pg_constraint k where k.conindid = i.indexrelid and k.conrelid = o.oid)
    union all
    select 'constraint', format('%s on svc.%s', k.conname, k.relname), k.relname,
           format('alter table svc.%I add constraint %I %s;', k.relname, k.conname, k.definition),
           k.definition, k.is_whole
      from own_constraint k
)
