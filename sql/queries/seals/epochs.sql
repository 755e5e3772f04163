-- With a restore that no install has recorded yet
select name, began_at from svc.audit_epochs
union
select epoch, epoch_began_at from svc.audit_seals
union
select e.here ->> 'epoch', (e.here ->> 'at')::timestamptz from svc.audit_epoch e
 where not exists (select from svc.audit_epochs k where k.name = e.here ->> 'epoch')
