select string_agg(distinct v.oid::regclass::text, ', ')
  from pg_depend d
  join pg_rewrite w on d.classid = 'pg_rewrite'::regclass and w.oid = d.objid
  join pg_class v on v.oid = w.ev_class
  join pg_class t on d.refclassid = 'pg_class'::regclass and t.oid = d.refobjid
 where t.relnamespace = to_regnamespace('svc') and v.relnamespace <> t.relnamespace
