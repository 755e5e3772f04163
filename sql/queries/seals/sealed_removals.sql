-- %b, because psycopg writes bytes in a list as a text that depends on standard_conforming_strings
select r.id, s.number as seal
  from rows from (pg_catalog.unnest(%s::bigint[]), pg_catalog.unnest(%s::bigint[]), pg_catalog.unnest(%b::bytea[]))
       r(id, xact_id, leaf)
  join svc.audit_seals s on s.version = 2 and s.from_xact_id <= r.xact_id and s.until_xact_id > r.xact_id
       and s.after_id < r.id and s.until_id >= r.id
  join svc.audit_seal_leaves k on k.seal = s.number
 where position(r.leaf in k.leaves) %% 48 = 1
