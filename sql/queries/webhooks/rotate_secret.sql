update svc.webhook_endpoints
   set previous_secret = secret, previous_signing_key = signing_key, previous_secret_expires_at = now() + %s,
       secret = %s, signing_key = case when signing_key is not null then %s::bytea end,
       public_key = case when signing_key is not null then %s end,
       version = version + 1, updated_at = now()
 where id = %s
returning {columns}
