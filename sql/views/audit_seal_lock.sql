-- Locked by whatever adds a seal, or removes or erases entries that a seal may have: one at a time. A view for the
-- reasons of svc.webhook_claim_lock.
-- access: reader, admin
create or replace view svc.audit_seal_lock as select false as is_row where false;
comment on view svc.audit_seal_lock is 'Internal: locked by what adds a seal or removes entries, one at a time.';
comment on column svc.audit_seal_lock.is_row is 'There is no row.';
