-- Of some tables: the configured columns that they have, their partitions, rows and key, and their last comparison
select t.name, r.oid is not null as is_there,
       array(select a.attname::text from pg_attribute a
              where a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped and a.attname::text = any (%(columns)s)
              order by a.attnum) as columns,
       exists (select from pg_index i where i.indrelid = r.oid and i.indisprimary) as has_key,
       case when r.relkind = 'p' then s.partitions end as partitions, s.rows as estimated_rows,
       l."timestamp" as reconciled_at, coalesce(l.rows, 0) as compared_rows, coalesce(l.missing, 0) as missing,
       coalesce(l.differing, 0) as differing, coalesce(l.gone, 0) as gone, coalesce(l.unrepaired, 0) as unrepaired
  from rows from (
           pg_catalog.unnest(%(names)s::text[]), pg_catalog.unnest(%(schemas)s::text[]),
           pg_catalog.unnest(%(tables)s::text[])
       ) t(name, schema, "table")
  left join pg_namespace n on n.nspname = t.schema::name
  left join pg_class r on r.relnamespace = n.oid and r.relname = t."table"::name
 cross join lateral (
    with recursive tree (oid, relkind, reltuples) as (
        select r.oid, r.relkind, r.reltuples
        union all
        select p.oid, p.relkind, p.reltuples
          from tree
         cross join lateral (select i.inhrelid from pg_inherits i where i.inhparent = tree.oid offset 0) i
         cross join lateral (
            select c.oid, c.relkind, c.reltuples from pg_class c where c.oid = i.inhrelid and c.relispartition offset 0
         ) p
    )
    select count(*) filter (where tree.oid <> r.oid and tree.relkind <> 'p')::integer as partitions,
           sum(tree.reltuples) filter (where tree.relkind = 'r' and tree.reltuples >= 0)::bigint as rows
      from tree
 ) s
  left join ({last}) l on l.name = t.name
