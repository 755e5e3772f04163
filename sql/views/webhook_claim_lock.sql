-- A claim of deliveries locks this, so that there is one at a time. Nobody without rights can: an advisory lock is
-- anybody's, and for ever. A view, because VACUUM and ANALYZE take the same lock of tables, and an ANALYZE within a
-- transaction keeps it.
-- access: reader, admin, admin to lock
create or replace view svc.webhook_claim_lock as select false as is_row where false;
comment on view svc.webhook_claim_lock is 'Internal: locked by a claim of deliveries, one at a time.';
comment on column svc.webhook_claim_lock.is_row is 'There is no row.';
