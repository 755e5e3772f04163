-- The cause of an attempt: auto, manual if somebody asked for it, test for a ping. Has no SET, so that it is inlined.
-- access: admin
create or replace function svc.webhook_cause(p_event text, p_is_manual boolean) returns text
language sql immutable parallel safe
as $svc$
    select case when p_event operator(pg_catalog.=) 'webhook.ping' then 'test'
                when p_is_manual then 'manual'
                else 'auto' end
$svc$;
