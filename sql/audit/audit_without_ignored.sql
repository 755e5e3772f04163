-- An image, as text, without the columns that a table's rules ignore; '' stands for absence.
-- access: writer, reader, admin
create or replace function svc.audit_without_ignored(p_image text, p_ignored text[]) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select case when left(p_image, 1) = '{' and p_ignored <> '{}' then (p_image::jsonb - p_ignored)::text
                else p_image end
$svc$;
