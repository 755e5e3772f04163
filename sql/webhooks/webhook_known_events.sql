-- The given subscriptions, each once; an error if one is no name or pattern, or matches no event that is defined.
-- access: admin
create or replace function svc.webhook_known_events(p_events text[]) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_event text;
    v_defined text;
begin
    if p_events is null then
        return null;
    end if;
    if cardinality(p_events) = 0 then
        raise exception 'an endpoint needs at least one event'
            using errcode = 'SV103', column = 'events', hint = 'Name events, or "*" for all.';
    end if;
    foreach v_event in array p_events loop
        if v_event is null or v_event !~ E'^(\\*|[a-z0-9_-]+(\\.[a-z0-9_-]+)*(\\.\\*)?)$' then
            raise exception '"%" is not an event', v_event
                using errcode = 'SV103', column = 'events', hint = 'Write a name, "order.*" or "*".';
        end if;
        if v_event <> '*' and not exists (select from svc.webhook_event_types t where v_event = any (t.patterns)) then
            select string_agg(t.name, ', ' order by t.name) into v_defined from svc.webhook_event_types t;
            raise exception '%', format(case when v_event like '%*' then 'no event matches "%s"'
                                             else 'event "%s" is not defined' end, v_event)
                using errcode = 'SV103', column = 'events', hint = format('Known: %s.', v_defined);
        end if;
    end loop;
    return array(select e from unnest(p_events) with ordinality u(e, ordinality) group by e order by min(ordinality));
end
$svc$;
revoke all on function svc.webhook_known_events(text[]) from public;
