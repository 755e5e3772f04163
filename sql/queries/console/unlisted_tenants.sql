select used.id
  from (
    select e.tenant as id from svc.webhook_endpoints e
    union select k.tenant from svc.console_tokens k where k.revoked_at is null and k.expires_at > now()
    union select s.tenant from svc.console_sessions s where s.revoked_at is null and s.expires_at > now()
    union select l.tenant from svc.console_portal_links l
           where l.opened_at is null and l.revoked_at is null and l.expires_at > now()
    union select m.tenant from (select n.tenant from svc.webhook_messages n order by n.id desc limit %s) m
  ) used
 where used.id is not null and not exists (select from {table} t where t.{id}::text = used.id)
 order by used.id limit %s
