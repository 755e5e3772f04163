-- Raise the error for a message that cannot be sent, by what is wrong with it.
-- access: admin
create or replace function svc.webhook_refuse(
    p_event text, p_payload text, p_idempotency_key text, p_tenant text, p_delay interval, p_key text
) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $svc$
begin
    if p_delay is null or p_delay < '0' or p_delay > '1 year' then
        raise exception 'a delay is 0 to 1 year' using errcode = 'SV101', hint = 'Send later what is due later.';
    end if;
    if octet_length(p_idempotency_key) > 1024 then
        raise exception 'an idempotency key has at most 1024 bytes'
            using errcode = 'SV101', hint = 'Send a hash of it.';
    end if;
    if octet_length(p_tenant) > 1024 then
        raise exception 'a tenant has at most 1024 bytes'
            using errcode = 'SV101', hint = 'Send its id, not what it is called.';
    end if;
    if octet_length(p_key) not between 1 and 255 then
        raise exception 'a key has 1 to 255 bytes' using errcode = 'SV101', hint = 'Send a hash of it.';
    end if;
    if p_payload is null then
        raise exception 'a webhook payload cannot be null'
            using errcode = 'SV101', hint = 'Send {} for an empty payload.';
    end if;
    if octet_length(p_payload) > 262144 then
        raise exception 'webhook payload is too large' using errcode = 'SV101',
            detail = format('%s bytes, limit 262144', octet_length(p_payload)),
            hint = 'Send a reference to the data instead.';
    end if;
    perform svc.webhook_refuse_event(p_event);
end
$svc$;
revoke all on function svc.webhook_refuse(text, text, text, text, interval, text) from public;
