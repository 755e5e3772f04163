-- PostgreSQL computes what is constant in a partition key when it makes or drops a trigger
with wanted as (
    select c.oid
      from unnest(%s::text[], %s::text[]) w(schema, "table")
      join pg_namespace n on n.nspname = w.schema
      join pg_class c on c.relnamespace = n.oid and c.relname = w."table"
),
tree as (
    select t.relid from wanted cross join lateral pg_partition_tree(wanted.oid) t
    union
    select a.relid from wanted cross join lateral pg_partition_ancestors(wanted.oid) a
),
definition (class, oid) as (
    select 'pg_class'::regclass, k.partrelid from tree join pg_partitioned_table k on k.partrelid = tree.relid
)
select f.oid::regclass::text as "user", {called}
