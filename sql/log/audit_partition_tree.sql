-- A table and all partitions below it, by the catalog: pg_partition_tree locks each until the end of the transaction.
-- access: trigger
create or replace function svc.audit_partition_tree(p_root oid) returns setof oid
language sql stable
set search_path = pg_catalog, pg_temp
as $svc$
    with recursive tree(relation) as (
        select p_root
        union
        select i.inhrelid
          from tree t join pg_inherits i on i.inhparent = t.relation
          join pg_class c on c.oid = i.inhrelid and c.relispartition
    )
    select t.relation from tree t
$svc$;
revoke all on function svc.audit_partition_tree(oid) from public;
