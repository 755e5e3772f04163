-- A function of somebody else who is no superuser, that a definition (class, oid) calls, by itself or as an operator
p.oid::regprocedure::text as function, o.rolname::text as owner
  from definition f
  join pg_depend d on d.classid = f.class and d.objid = f.oid
  left join pg_operator w on d.refclassid = 'pg_operator'::regclass and w.oid = d.refobjid
  join pg_proc p on p.oid = case d.refclassid when 'pg_proc'::regclass then d.refobjid else w.oprcode end
  join pg_roles o on o.oid = p.proowner and not o.rolsuper and o.rolname <> current_user
 order by 1, 2
 limit 1
