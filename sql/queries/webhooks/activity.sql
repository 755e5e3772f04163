{samples}
select b.endpoint_id::text, {columns}
  from bucket b join svc.webhook_endpoints e on e.id = b.endpoint_id
 group by b.endpoint_id order by b.endpoint_id desc
