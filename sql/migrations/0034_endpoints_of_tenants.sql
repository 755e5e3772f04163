-- so that what a tenant's session asks for follows from that tenant's endpoints alone
create index if not exists webhook_endpoints_tenant on svc.webhook_endpoints (tenant, id) where tenant is not null;
