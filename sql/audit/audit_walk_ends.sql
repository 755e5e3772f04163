-- The images with which more entries end than begin. A walk over the entries ends at the only one; if there is none,
-- it ends where it began.
-- access: writer, reader, admin
create or replace function svc.audit_walk_ends(p_before text[], p_after text[]) returns text[]
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select array(
        select image from (select unnest(p_after) as image, 1 as n union all select unnest(p_before), -1) half
         group by image having sum(n) > 0
    )
$svc$;
