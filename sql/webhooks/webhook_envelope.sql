-- The body that is signed and sent. Every attempt has the same bytes: the payload is copied as it was stored.
-- Has no SET, so that it can be inlined; hence the qualified names.
-- access: admin
create or replace function svc.webhook_envelope(p_message svc.webhook_messages) returns text
language sql stable parallel safe
as $svc$
    select pg_catalog.format(
        '{"id":"%s","type":%s,"timestamp":"%s",%s"data":%s}',
        p_message.id,
        pg_catalog.to_json(p_message.event_name),
        pg_catalog.to_char(p_message.created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
        case when p_message.key is not null then
            pg_catalog.format('"key":%s,"sequence":%s,', pg_catalog.to_json(p_message.key), p_message.sequence)
        end,
        p_message.payload
    )
$svc$;
