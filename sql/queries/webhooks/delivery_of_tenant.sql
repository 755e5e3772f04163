-- What went to an endpoint without a tenant is the operator's, even if the message was the tenant's; and what went to
-- an endpoint of the tenant is not the tenant's if the endpoint was another's then
select d.id::text
  from svc.webhook_deliveries d
  join svc.webhook_endpoints e on e.id = d.endpoint_id
  join svc.webhook_messages m on m.id = d.message_id and m.tenant = e.tenant
 where d.id = %s and e.tenant = %s
