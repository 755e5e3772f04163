select f.attname::text as name
  from pg_index i
  join pg_class c on c.oid = i.indexrelid
  join pg_am m on m.oid = c.relam
  join pg_attribute f on f.attrelid = i.indrelid and f.attnum = i.indkey[0]
  join pg_attribute s on s.attrelid = i.indrelid and s.attnum = i.indkey[1]
 where i.indrelid = 'svc.audit_logs'::regclass::oid and i.indisvalid and m.amname = 'btree'
   and f.attname = any (%s::name[]) and s.attname = 'timestamp'
