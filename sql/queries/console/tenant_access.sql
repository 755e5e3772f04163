select (select count(*) from svc.console_portal_links l
         where l.tenant = %(tenant)s and l.opened_at is null and l.revoked_at is null
           and l.expires_at > now()) as links,
       (select count(*) from svc.console_sessions s
         where s.tenant = %(tenant)s and s.revoked_at is null and s.expires_at > now()) as sessions,
       (select count(*) from svc.console_tokens t where t.tenant = %(tenant)s and t.revoked_at is null) as tokens
