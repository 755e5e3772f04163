-- The digest of a value that messages are asked for; an error if no event is searched by the key, or not that event.
-- access: reader, admin
create or replace function svc.webhook_searched(p_key text, p_value text, p_event text) returns bytea
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_events text;
begin
    select string_agg(t.name, ', ' order by t.name) into v_events
      from (select name from svc.webhook_event_types where p_key = any (search) order by name limit 20) t;
    if v_events is null then
        raise exception 'no event is searched by the key %', p_key using errcode = 'SV003',
            hint = coalesce(
                (select 'Its keys are ' || string_agg(k.key, ', ' order by k.key) || '.'
                   from (select distinct unnest(t.search) from svc.webhook_event_types t order by 1 limit 20) k(key)),
                'Name keys in the configuration, search = ["number"] of an event, and run: svc-pg install'
            );
    end if;
    if p_event is not null
       and not exists (select from svc.webhook_event_types t where t.name = p_event and p_key = any (t.search)) then
        if exists (select from svc.webhook_event_types t where t.name = p_event) then
            raise exception 'the event % is not searched by the key %', p_event, p_key using errcode = 'SV003',
                hint = 'Events that are searched by it: ' || v_events || '.';
        end if;
        raise exception 'there is no event %', p_event using errcode = 'SV003',
            hint = 'Events that are searched by the key ' || p_key || ': ' || v_events || '.';
    end if;
    return svc.webhook_search_digest(p_key, p_value);
end
$svc$;
revoke all on function svc.webhook_searched(text, text, text) from public;
