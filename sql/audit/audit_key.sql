-- The record_id of a snapshot: the text of one key column, or a JSON array of several.
create or replace function svc.audit_key(p_snapshot jsonb, p_columns text[]) returns text
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select case cardinality(p_columns) when 1 then p_snapshot ->> p_columns[1] else (
        select jsonb_agg(p_snapshot -> c.name order by c.position)::text
          from unnest(p_columns) with ordinality c(name, position)
    ) end
$svc$;
