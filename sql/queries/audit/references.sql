-- The foreign keys that refer to a table, and those that refer to the tables of these; a partition stands for its root
with recursive root as (
    select c.oid, coalesce(pg_partition_root(c.oid)::oid, c.oid) as root
      from pg_class c where c.relkind in ('r', 'p')
),
reference as materialized (
    select k.oid, f.root as referred, r.root as referring, k.conkey, k.conrelid, k.confkey, k.confrelid
      from pg_constraint k join root r on r.oid = k.conrelid join root f on f.oid = k.confrelid
     where k.contype = 'f' and k.conparentid = 0
),
asked as (
    select r.root as oid from pg_class c join pg_namespace n on n.oid = c.relnamespace join root r on r.oid = c.oid
     where n.nspname = %(schema)s and c.relname = %(table)s
),
step as (
    select 1 as step, x.* from asked a join reference x on x.referred = a.oid
    union all
    select 2, y.*
      from (select distinct x.referring from asked a join reference x on x.referred = a.oid
             where x.referring <> a.oid) s
      join reference y on y.referred = s.referring
)
select s.step, {referred_name} as referred, {referring_name} as referring,
       array(select a.attname::text from pg_catalog.unnest(s.conkey) with ordinality u(number, n)
               join pg_attribute a on a.attrelid = s.conrelid and a.attnum = u.number order by u.n) as columns,
       array(select a.attname::text from pg_catalog.unnest(s.confkey) with ordinality u(number, n)
               join pg_attribute a on a.attrelid = s.confrelid and a.attnum = u.number order by u.n
       ) as referred_columns,
       array(select a.attname::text
               from pg_index i cross join pg_catalog.unnest(i.indkey::smallint[]) with ordinality u(number, n)
               join pg_attribute a on a.attrelid = i.indrelid and a.attnum = u.number
              where i.indrelid = s.referred and i.indisprimary and u.n <= i.indnkeyatts order by u.n) as key_columns,
       s.referring in (select t.tgrelid from pg_trigger t where t.tgname::text ^@ '00_svc_audit_') as is_audited
  from step s
  join pg_class rc on rc.oid = s.referring join pg_namespace rn on rn.oid = rc.relnamespace
  join pg_class fc on fc.oid = s.referred join pg_namespace fn on fn.oid = fc.relnamespace
 where rn.nspname <> 'svc'
 order by is_audited desc, s.step, referring, s.oid
 limit %(most)s
