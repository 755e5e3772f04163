select s.email, s.permission, s.token_hash, s.created_at, s.expires_at, now() as asked_at
  from svc.console_magic_links l join svc.console_sessions s on s.id = l.session_id
 where l.session_id = %s and l.device_hash = %s and l.claimed_at > now() - interval '120 s'
   and s.revoked_at is null and s.expires_at > now()
   and l.made_by is null -- the link of the shell is good once: its token is in an address
