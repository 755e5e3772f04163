{present}
select r.kind, r.identity, case when p.kind is null then 'missing' else 'tampered' end as state,
       r.kind = 'index' and r.of_table = 'audit_logs' as is_of_log,
       coalesce({is_another}, false) as is_another,
       substring(r.sql from ' svc[.]audit_logs (USING .*);$') as method,
       case when r.kind = 'column' and p.kind is null then null
            when r.kind = 'index' and p.kind is not null then format('drop index %s; ', r.identity)
            when r.kind = 'constraint' and p.kind is not null
            then format('alter table svc.%I drop constraint %I; ',
                        r.of_table, left(r.identity, -length(' on svc.' || r.of_table)))
            else '' end
       -- the catalog says ONLY of the index of any partitioned table
       || regexp_replace(r.sql, '^(CREATE (?:UNIQUE )?INDEX .*?) ON ONLY ', E'\\1 ON ') as sql
  from svc.installed_inventory r
  left join present p on p.kind = r.kind and p.identity = r.identity
 where (p.kind is null or not p.is_whole
        or {is_another} and (to_jsonb(r) ->> 'postgres_major')::integer = {major})
   and (r.kind = 'table' or exists (select from own o where o.relname = r.of_table))
 order by r.kind = 'constraint', r.sql !~ ' PRIMARY KEY ', r.identity
