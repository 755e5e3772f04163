-- what this role may read of each table of users, and its size
select n.nspname as schema, c.relname as "table", c.relkind = 'r' as is_ordinary, c.relpages as pages,
       pg_catalog.row_security_active(c.oid) as is_secured,
       array(select a.attname::text from pg_catalog.pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
                and pg_catalog.has_column_privilege(c.oid, a.attnum, 'select')) as readable,
       array(select a.attname::text
               from (select i.indrelid, i.indkey[0 : i.indnkeyatts - 1] as columns from pg_catalog.pg_index i
                      where i.indrelid = c.oid and i.indisunique and i.indisvalid and i.indpred is null
                        and i.indexprs is null
                      order by i.indnkeyatts, i.indexrelid limit 1) i
               cross join lateral pg_catalog.unnest(i.columns) with ordinality k (attnum, place)
               join pg_catalog.pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
              order by k.place) as nearly_key,
       (select e.extname from pg_catalog.pg_depend d join pg_catalog.pg_extension e on e.oid = d.refobjid
         where d.classid = 'pg_catalog.pg_class'::pg_catalog.regclass and d.objid = c.oid and d.deptype = 'e'
           and d.refclassid = 'pg_catalog.pg_extension'::pg_catalog.regclass) as extension
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
 where c.relkind in ('r', 'p') and not c.relispartition and n.nspname !~ '^(pg_|information_schema$|svc$)'
 order by 1, 2
