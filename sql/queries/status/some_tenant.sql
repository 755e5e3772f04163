(select t.id as tenant from svc.tenants t limit 1)
union all
select t.tenant from (select t.tenant from svc.console_tokens t limit 100) t where t.tenant is not null
union all
select s.tenant from (select s.tenant from svc.console_sessions s order by s.created_at desc limit 100) s
 where s.tenant is not null
union all
select l.tenant_id from (select l.tenant_id from svc.audit_logs l order by l."timestamp" desc, l.id desc limit 100) l
 where l.tenant_id is not null
limit 1
