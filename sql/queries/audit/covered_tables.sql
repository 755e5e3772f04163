-- The tables, foreign tables and views of users, and the names that are audited, or should be, and are not there.
-- A name is spelled as svc_pg.database.table_names does. A partition is there only if it is audited by its own name.
-- A backend keeps few compiled patterns: "offset 0" compares each pattern with all names before the next one.
with wanted (names, patterns) as materialized (values (%s::text[], %s::jsonb)),
relation as materialized (
    select n.nspname::text collate "C" as schema, c.relkind, c.relispartition, {name} collate "C" as name
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p', 'f', 'v', 'm') and n.nspname not in ('svc', 'information_schema')
       and n.nspname !~ '^pg_'
),
rule as materialized (
    select p.ordinality as number, p.value ->> 'covers' as covers, p.value -> 'excludes' as excludes
      from wanted w cross join lateral jsonb_array_elements(w.patterns) with ordinality p
),
covered as materialized (
    select u.number, r.name
      from rule u cross join lateral (
        select r.name from relation r
         where r.relkind in ('r', 'p') and not r.relispartition and r.name ~ u.covers offset 0
      ) r
),
excluded as materialized (
    select u.number, c.name
      from rule u cross join lateral jsonb_array_elements_text(u.excludes) x(pattern) cross join lateral (
        select c.name from covered c where c.number = u.number and c.name ~ x.pattern offset 0
      ) c
),
matched as materialized (
    select m.name, bool_or(m.is_wanted) as is_wanted
      from (
        select e.name, bool_and(e.is_covered) as is_wanted
          from (select *, true as is_covered from covered union all select *, false from excluded) e
         group by e.number, e.name
      ) m group by m.name
)
select c.schema, c.name, c.kind, c.state, c.reason
  from (
    select f.schema, f.name, f.kind,
           case when f.is_right then 'audited' when f.capture is null and not f.is_wanted then 'not_audited'
                else 'drifting' end as state,
           case when f.is_right then null
                when f.kind is null then 'no_such_table'
                when f.capture is null and f.kind not in ('table', 'partitioned_table') then f.kind
                when f.capture is null and not f.is_wanted and f.is_matched then 'excluded'
                when not f.is_wanted then 'not_in_configuration'
                when f.capture = 'disabled' then 'trigger_disabled' else 'trigger_missing' end as reason
      from (
        select e.*, coalesce(e.is_wanted and e.capture = 'recording' and e.kind is not null, false) as is_right
          from (
            select coalesce(r.schema, case when a.name ^@ '"'
                        then replace(substring(a.name, '^"((?:[^"]|"")+)"'), '""', '"')
                        else split_part(a.name, '.', 1) end collate "C") as schema,
                   coalesce(r.name, a.name collate "C") as name, a.capture,
                   case r.relkind when 'r' then 'table' when 'p' then 'partitioned_table' when 'f' then 'foreign_table'
                        when 'v' then 'view' when 'm' then 'materialized_view' end as kind,
                   coalesce(r.name, a.name) = any (w.names) or coalesce(m.is_wanted, false) as is_wanted,
                   m.name is not null as is_matched
              from relation r
              full join ({captured}) a on a.name = r.name
              left join matched m on m.name = r.name
             cross join wanted w
             where (a.name is not null or not r.relispartition) and not coalesce(a.name ^@ 'svc.', false)
          ) e
      ) f
  ) c
