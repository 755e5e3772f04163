-- The destinations of copies that a writer told of lately, with the number of seals that each lacks behind its last.
select d.kind, d.name, d.last_seal, greatest(l.number - coalesce(d.last_seal, 0), 0) as waiting, d.copied_at,
       d.problem
  from svc.seal_destinations d
  left join lateral (
      select coalesce((select s.number from svc.audit_seals s order by s.number desc limit 1), 0) as number
  ) l on true
 where d.seen_at > pg_catalog.clock_timestamp() - interval '2 hours'
 order by d.seen_at desc, d.name limit %s
