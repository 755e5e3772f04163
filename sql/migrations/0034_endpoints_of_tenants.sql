-- So that what a tenant's session asks for follows from that tenant's endpoints alone. Endpoints are thousands at
-- most, so the index is built in a moment.
-- squawk-ignore require-concurrent-index-creation
create index if not exists webhook_endpoints_tenant on svc.webhook_endpoints (tenant, id) where tenant is not null;
