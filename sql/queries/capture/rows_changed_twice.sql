-- The actions of foreign keys belong to the statement that causes them and share its transition tables, in which a
-- row that was changed twice has two images before and two after, and nothing that pairs them. From each table above,
-- a deletion (d) or an update (u) is followed down. A row is deleted once, whatever the way there, so only updates
-- are told apart by the keys (via, before) through which they come; an update goes on through the columns that it
-- changes.
with recursive cascade as (
    select c.oid, c.conname, c.conrelid, c.confrelid, c.conkey, c.confkey, c.confupdtype, c.confdeltype
      from pg_constraint c
     where c.contype = 'f' and c.conparentid = 0
       and to_jsonb(c) ->> 'conenforced' is distinct from 'false'  -- which PostgreSQL has since 18
       and (c.confupdtype in ('c', 'n', 'd') or c.confdeltype in ('c', 'n', 'd'))
),
wanted as (
    select c.oid, w.schema, w."table"
      from unnest(%s::text[], %s::text[]) w(schema, "table")
      join pg_namespace n on n.nspname = w.schema
      join pg_class c on c.relnamespace = n.oid and c.relname = w."table"
),
above as (
    select oid as relation from wanted
    union
    select c.confrelid from above a join cascade c on c.conrelid = a.relation
),
reached (root, cause, relation, event, via, before, columns) as (
    select a.relation, e.event, a.relation, e.event, 0::oid, 0::oid, null::smallint[]
      from above a cross join unnest(array['d', 'u']) e(event)
    union
    select r.root, r.cause, c.conrelid, e.event, case when e.event = 'u' then c.oid else 0 end,
           case when e.event = 'u' then r.via else 0 end, case when e.event = 'u' then c.conkey end
      from reached r
      join cascade c on c.confrelid = r.relation
     cross join lateral (
        select case when r.event = 'd' and c.confdeltype = 'c' then 'd' else 'u' end as event
     ) e
     where case r.event when 'd' then c.confdeltype else c.confupdtype end in ('c', 'n', 'd')
       and (r.event = 'd' or r.columns is null or r.columns && c.confkey)
)
select w.schema, w."table", array_agg(distinct t.name order by t.name) as keys
  from wanted w
 cross join lateral (
    select k.conname::text as name, count(*) over (partition by r.root, r.cause) as ways
      from reached r left join cascade k on k.oid = r.via
     where r.relation = w.oid and r.event = 'u'
 ) t
 where t.ways > 1 and t.name is not null
 group by w.schema, w."table"
 order by 1, 2
