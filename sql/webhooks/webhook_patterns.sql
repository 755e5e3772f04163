-- The subscriptions that match an event: a.b.c -> {a.b.c, *, a.*, a.b.*}.
-- access: admin
create or replace function svc.webhook_patterns(p_event text) returns text[]
language sql immutable parallel safe
set search_path = pg_catalog, pg_temp
as $svc$
    select array[p_event, '*'] || array(
        select array_to_string(part[1:n], '.') || '.*'
          from string_to_array(p_event, '.') part, generate_series(1, cardinality(part) - 1) n
    )
$svc$;
