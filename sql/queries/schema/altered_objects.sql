{present}
select r.kind, r.identity, r.of_table, case when p.kind is null then 'missing' else 'tampered' end as state,
       case when r.kind = 'column' and p.kind is null then null
            when r.kind = 'index' and p.kind is not null then format('drop index %s; ', r.identity)
            when r.kind = 'constraint' and p.kind is not null
            then format('alter table svc.%I drop constraint %I; ',
                        r.of_table, left(r.identity, -length(' on svc.' || r.of_table)))
            else '' end
       || r.sql as sql
  from svc.installed_inventory r
  left join present p on p.kind = r.kind and p.identity = r.identity
 where (p.kind is null or not p.is_whole
        or {is_another} and (to_jsonb(r) ->> 'postgres_major')::integer = {major})
   and (r.kind = 'table' or exists (select from own o where o.relname = r.of_table))
   and not (r.kind = 'index' and r.of_table = 'audit_logs')  -- of an older record
 order by r.kind = 'constraint', r.sql !~ ' PRIMARY KEY ', r.identity
