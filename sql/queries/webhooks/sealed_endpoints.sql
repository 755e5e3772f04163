-- An expired secret is useless, and its key may be lost
select id, array[
           secret, case when previous_secret_expires_at > now() then previous_secret end, headers, tls,
           signing_key, case when previous_secret_expires_at > now() then previous_signing_key end
       ] as sealed
  from svc.webhook_endpoints
 where id > %(after)s
   and exists (
       select from pg_catalog.unnest(
           array[secret, previous_secret, headers, tls, signing_key, previous_signing_key]
       ) sealed
        where substring(sealed for length(%(mark)s)) <> %(mark)s
   )
 order by id limit %(batch)s for no key update
