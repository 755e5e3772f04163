select d.id::text, e.id::text as endpoint_id, e.url,
       case when m.id is not null then svc.webhook_envelope(m) end as body,
       m.trace_context, extract(epoch from now())::bigint as timestamp, e.signatures, e.headers,
       case when 'v1' = any (e.signatures) then e.secret end as secret, e.signing_key,
       case when e.previous_secret_expires_at > now() and 'v1' = any (e.signatures)
            then e.previous_secret end as previous_secret,
       case when e.previous_secret_expires_at > now() then e.previous_signing_key end as previous_signing_key
  from svc.webhook_deliveries d
  left join svc.webhook_messages m on m.id = d.message_id
  left join svc.webhook_endpoints e on e.id = d.endpoint_id
 where d.id = %s
