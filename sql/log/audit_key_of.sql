-- The key that columns of an image have, as a record_id: the text of one, or a JSON array of several. Null if it lacks
-- one of them.
-- access: writer, admin
create or replace function svc.audit_key_of(p_image jsonb, p_columns text[]) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select case when jsonb_typeof(p_image) <> 'object' or not p_image ?& p_columns then null
                when cardinality(p_columns) = 1 then svc.audit_bounded(p_image ->> p_columns[1])
                else (select svc.audit_bounded(jsonb_agg(p_image -> c.name order by c.position)::text)
                        from unnest(p_columns) with ordinality c(name, position)) end
$svc$;
revoke all on function svc.audit_key_of(jsonb, text[]) from public;
