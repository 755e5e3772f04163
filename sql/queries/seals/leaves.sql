-- The digests are made before the sort, which so moves 48 bytes an entry and no snapshots
select x.position, string_agg(x.leaf, ''::bytea order by x.id) as leaves,
       pg_catalog.array_agg(x.erased order by x.id) filter (where x.erased is not null) as erased
  from (
    select pg_catalog.width_bucket(l.xact_id, %(from_xact_ids)s::bigint[]) as position, l.id,
           case when l.erased_leaf is not null then array[l.id::text, pg_catalog.left({content}, {longest})] end
               as erased,
           {leaf} as leaf
      from svc.audit_logs l
     where {in_stretch}
    offset 0
  ) x
 group by x.position
