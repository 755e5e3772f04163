-- The columns of a table, for a copy with rows made up: what statistics say of their width and their nulls, if the
-- session may read the table, and the type itself if nobody but a superuser wrote its code: an enum or a base type.
-- No lock is taken on the table, and no row of it is read.
with relation as (
    select c.oid, c.relowner, has_table_privilege(c.oid, 'SELECT') and not row_security_active(c.oid) as is_readable
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = %(schema)s and c.relname = %(table)s
),
part as (
    select r.oid from relation r
    union
    select t.relid from relation r cross join lateral pg_partition_tree(r.oid) t
),
size as (  -- the bytes a row that are stored outside of it
    select sum(pg_relation_size(nullif(c.reltoastrelid, 0))) / nullif(sum(greatest(c.reltuples, 0)), 0) as outside
      from part join pg_class c on c.oid = part.oid
)
select a.attname::text as name,
       case when t.oid >= 16384 and (t.typtype = 'e' or t.typtype = 'b' and t.typelem = 0) then
           format_type(a.atttypid, a.atttypmod)
       end as type,
       array(select e.enumlabel::text from pg_enum e where e.enumtypid = t.oid order by e.enumsortorder) as labels,
       s.width, s.nulls, size.outside::float8 as outside, r.is_readable, r.relowner::regrole::text as owner
  from relation r
  join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
  join pg_type t on t.oid = a.atttypid
 cross join size
 cross join lateral (
    select avg(s.avg_width)::float8 as width, avg(s.null_frac)::float8 as nulls
      from part
      join pg_class c on c.oid = part.oid
      join pg_namespace n on n.oid = c.relnamespace
      join pg_stats s on s.schemaname = n.nspname and s.tablename = c.relname and s.attname = a.attname
     where r.is_readable
 ) s
 order by a.attnum
