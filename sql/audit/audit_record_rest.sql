-- Record the number of those of the tables whose form is known: they have no entry of their own.
-- access: trigger
create or replace function svc.audit_record_rest(p_relations oid[], p_tag text) returns void
language sql
set search_path = pg_catalog, pg_temp
as $svc$
    select svc.audit_add_ddl(
               r.table_name, r.relation, null, p_tag, null, jsonb_build_object('more tables', r.total),
               'this table is the first of those that have no entry of their own')
      from (
        select s.table_name, s.relation, count(*) over () as total
          from unnest(p_relations) with ordinality u(relation, number)
          join svc.audit_shapes s on s.relation = u.relation
         order by u.number limit 1
      ) r
$svc$;
revoke all on function svc.audit_record_rest(oid[], text) from public;
