-- If a valid index of the log begins with a column, and the number of its partitions, each of which a step looks at.
select (select count(*) from pg_inherits where inhparent = 'svc.audit_logs'::regclass::oid)::int as partitions,
       exists (
           select from pg_index i
             join pg_class c on c.oid = i.indexrelid
             join pg_am m on m.oid = c.relam
             join pg_attribute f on f.attrelid = i.indrelid and f.attnum = i.indkey[0]
            where i.indrelid = 'svc.audit_logs'::regclass::oid and i.indisvalid and m.amname = 'btree'
              and f.attname = %s::name
              and (i.indpred is null
                   or pg_get_expr(i.indpred, i.indrelid) operator(pg_catalog.=)
                      pg_catalog.format('(%%I IS NOT NULL)', f.attname))
       ) as is_served
