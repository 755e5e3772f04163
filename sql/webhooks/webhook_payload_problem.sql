-- svc.webhook_filter_problem of the payload of one message and the filter of one endpoint alone.
-- access: admin
create or replace function svc.webhook_payload_problem(p_filter text, p_payload json) returns text
language sql
set search_path = pg_catalog, pg_temp
as $svc$
    select svc.webhook_filter_problem(
               p_filter, svc.webhook_filter_steps(p_filter), d.document, d.most_values, d.problem, null
           )
      from svc.webhook_document(p_payload) d
$svc$;
revoke all on function svc.webhook_payload_problem(text, json) from public;
