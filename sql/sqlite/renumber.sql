-- Give entries whose ids svc-pg cannot have given the next free ids, in the order of time, and count on from there.
drop trigger if exists main.svc_audit_guard_update;
with found as materialized (
    select id, row_number() over (order by timestamp, id)
           + (select coalesce(max(id), 0) from main.svc_audit_logs where id <= 9007199254740992) as new_id
      from main.svc_audit_logs
     where id > 9007199254740992
)
update main.svc_audit_logs set id = found.new_id from found where found.id = svc_audit_logs.id;
update main.sqlite_sequence set seq = (select coalesce(max(id), 0) from main.svc_audit_logs)
 where name = 'svc_audit_logs';
