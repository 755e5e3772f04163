-- The destinations of copies that a writer told of lately, with the number of seals that each lacks behind its last.
-- A worker tells of its own each minute, a command may do so once a week.
select d.kind, d.name, d.last_seal, greatest(l.number - coalesce(d.last_seal, 0), 0) as waiting, d.copied_at,
       d.problem
  from svc.seal_destinations d
  left join lateral (
      select coalesce((select s.number from svc.audit_seals s order by s.number desc limit 1), 0) as number
  ) l on true
 where greatest(d.seen_at + interval '2 hours', d.shown_until) > pg_catalog.clock_timestamp()
 order by d.seen_at desc, d.name limit %s
