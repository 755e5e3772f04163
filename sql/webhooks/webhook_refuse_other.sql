-- Raise an error if a message that has an idempotency key is another one than what was sent with that key now. Equal
-- JSON may be written differently; key and delay do not count.
-- access: admin
create or replace function svc.webhook_refuse_other(p_message uuid, p_event text, p_payload json) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $svc$
declare
    v_first svc.webhook_messages;
    v_is_equal boolean;
begin
    select * into v_first from svc.webhook_messages m where m.id = p_message;
    if not found then -- retention has deleted it since
        return;
    end if;
    v_is_equal := v_first.payload::text = p_payload::text;
    if not v_is_equal then
        begin
            v_is_equal := v_first.payload::jsonb = p_payload::jsonb;
        exception when others then -- jsonb cannot hold one of them; canceled queries are not among these
            v_is_equal := false;
        end;
    end if;
    if v_first.event_name <> p_event or not v_is_equal then
        raise exception 'the idempotency key % was used for another message', quote_literal(v_first.idempotency_key)
            using errcode = 'SV101',
            detail = format('message %s has another %s', p_message,
                            case when v_is_equal then 'event' else 'payload' end),
            hint = 'Send each message with an idempotency key of its own, and repeat it unchanged.';
    end if;
end
$svc$;
revoke all on function svc.webhook_refuse_other(uuid, text, json) from public;
