-- The planner calls immutable functions whose arguments are constant, and looks into those in SQL
with audited as (
    select c.oid from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = %s and c.relname = %s
),
relation as (
    select oid from audited
    union
    select t.relid from audited cross join lateral pg_partition_tree(audited.oid) t
),
definition (class, oid) as (
    select 'pg_class'::regclass, oid from relation
    union all
    select 'pg_class'::regclass, i.indexrelid from pg_index i join relation r on r.oid = i.indrelid
    union all
    select 'pg_constraint'::regclass, k.oid from pg_constraint k join relation r on r.oid = k.conrelid
    union all
    select 'pg_statistic_ext'::regclass, s.oid from pg_statistic_ext s join relation r on r.oid = s.stxrelid
)
select pg_describe_object(f.class, f.oid, 0) as "user", {called}
