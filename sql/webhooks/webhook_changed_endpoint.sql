-- The endpoint with the given columns, by name; the others stay. Events and filter are checked. A URL of another
-- origin loses headers and TLS material unless they are given too: they may be credentials for the old one. With v1a
-- it keeps its key pair, and takes the given one only if it has none; without v1a it has none. A new URL is the
-- operator's unless url_by says that a customer gave it. The next claim looks at the endpoint, and lets keys go on
-- that failed deliveries block if its ordering is no longer strict.
-- access: admin
create or replace function svc.webhook_changed_endpoint(p_endpoint svc.webhook_endpoints, p_columns json)
returns svc.webhook_endpoints
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_origin constant text := '^[a-z]+://[^/?#]+';
    v_changed svc.webhook_endpoints;
begin
    v_changed := json_populate_record(p_endpoint, p_columns);
    if p_columns -> 'events' is not null then
        v_changed.events := svc.webhook_known_events(v_changed.events);
    end if;
    if p_columns -> 'filter' is not null then
        v_changed.filter := svc.webhook_checked_filter(v_changed.filter);
    end if;
    if p_columns -> 'url_by' is null and v_changed.url is distinct from p_endpoint.url then
        v_changed.url_by := 'operator';
    end if;
    if substring(v_changed.url from v_origin) <> substring(p_endpoint.url from v_origin) then
        if p_columns -> 'headers' is null then
            v_changed.headers := null;
        end if;
        if p_columns -> 'tls' is null then
            v_changed.tls := null;
            v_changed.client_certificate_expires_at := null;
        end if;
    end if;
    if 'v1a' <> all (v_changed.signatures) then
        v_changed.signing_key := null;
        v_changed.previous_signing_key := null;
        v_changed.public_key := null;
    elsif p_endpoint.signing_key is not null then
        v_changed.signing_key := p_endpoint.signing_key;
        v_changed.public_key := p_endpoint.public_key;
    end if;
    if p_endpoint.id is not null then
        insert into svc.webhook_freed (endpoint_id) values (p_endpoint.id);
        perform svc.webhook_notify();
    end if;
    return v_changed;
end
$svc$;
revoke all on function svc.webhook_changed_endpoint(svc.webhook_endpoints, json) from public;
