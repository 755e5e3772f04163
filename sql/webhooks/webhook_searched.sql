-- The digest of a value that messages are asked for; an error if no event is searched by the key.
-- access: reader, admin
create or replace function svc.webhook_searched(p_key text, p_value text) returns bytea
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if not exists (select from svc.webhook_event_types t where p_key = any (t.search)) then
        raise exception 'no event is searched by the key %', p_key using errcode = 'SV003',
            hint = coalesce(
                (select 'Its keys are ' || string_agg(k.key, ', ' order by k.key) || '.'
                   from (select distinct unnest(t.search) from svc.webhook_event_types t order by 1 limit 20) k(key)),
                'Name keys in the configuration, search = ["number"] of an event, and run: svc-pg install'
            );
    end if;
    return svc.webhook_search_digest(p_key, p_value);
end
$svc$;
revoke all on function svc.webhook_searched(text, text) from public;
